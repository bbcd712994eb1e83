//! The differences from Kubernetes that this crate can make, one named value each.

/// Where definitions and their objects follow Kubernetes to the letter, and where they improve on it. `true` is the
/// improvement.
///
/// ```
/// use tenure_crd::Behavior;
///
/// assert!(Behavior::kubernetes().differences().iter().all(|(_, differs)| !differs));
/// assert_eq!(Behavior::default(), Behavior::tenure());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Behavior {
    /// A definition with a list that no apply could write is refused. Kubernetes accepts it, and every apply fails.
    pub reject_unappliable_lists: bool,
    /// An update of a definition after which something merges in another way is answered with warnings.
    pub announce_merge_changes: bool,
    /// A number with a fraction in an integer field is one error. Kubernetes reports a second one without a field.
    pub report_wrong_types_once: bool,
    /// A nullable field whose `enum` lists `null` accepts it. Kubernetes refuses every `null` in a field with an `enum`.
    pub allow_listed_nulls: bool,
    /// Whole numbers are compared with fractional bounds as they are. Kubernetes cuts the fraction off the bound.
    pub exact_bounds: bool,
}

impl Behavior {
    /// Returns the behaviour of Kubernetes, as recorded.
    pub const fn kubernetes() -> Behavior {
        Behavior::all(false)
    }

    /// Returns the behaviour with every documented improvement.
    pub const fn tenure() -> Behavior {
        Behavior::all(true)
    }

    const fn all(improved: bool) -> Behavior {
        Behavior {
            reject_unappliable_lists: improved,
            announce_merge_changes: improved,
            report_wrong_types_once: improved,
            allow_listed_nulls: improved,
            exact_bounds: improved,
        }
    }

    /// Returns each difference by its heading in the documentation, and whether it is on.
    pub const fn differences(&self) -> [(&'static str, bool); 5] {
        [
            ("Lists that cannot be applied are refused", self.reject_unappliable_lists),
            ("Changed list merging is announced", self.announce_merge_changes),
            ("A wrong type is reported once", self.report_wrong_types_once),
            ("Null is allowed where the enum lists it", self.allow_listed_nulls),
            ("Fractional bounds apply to whole numbers", self.exact_bounds),
        ]
    }
}

/// The same as [`Behavior::tenure`].
impl Default for Behavior {
    fn default() -> Behavior {
        Behavior::tenure()
    }
}
