//! The differences from Kubernetes that this crate can make, one named value each. A caller picks a profile, or
//! changes single values; nothing else in the crate decides between the two.

/// Where apply and update follow Kubernetes to the letter, and where they improve on it. `true` is the improvement.
///
/// ```
/// use tenure_apply::Behavior;
///
/// let mut behavior = Behavior::kubernetes();
/// assert!(behavior.differences().iter().all(|(_, differs)| !differs));
/// behavior.shared_zeros = true;
/// assert_ne!(behavior, Behavior::kubernetes());
/// assert_eq!(Behavior::default(), Behavior::tenure());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Behavior {
    /// Managers that apply the same zero (`""`, `0`, `false`, `[]`, `{}`, `null`) share the field. In Kubernetes they
    /// conflict, because the zero is left out of the stored object.
    pub shared_zeros: bool,
    /// A part that lost all its contents stays as `{}` or `[]` if it has an owner or its type requires it. In
    /// Kubernetes it becomes `null`, which the schema of a custom resource then refuses.
    pub emptied_parts_stay: bool,
    /// Managers at a version that a custom resource no longer has are dropped at the next write. In Kubernetes every
    /// apply fails, and an update loses all managers.
    pub removed_versions_dropped: bool,
    /// The owner of an atomic part owns everything in it once its type becomes granular. In Kubernetes the owner keeps
    /// the part itself and nothing in it.
    pub atomic_to_granular: bool,
    /// A list item that its applier gives up goes entirely if the rest would lack a field that its type requires. In
    /// Kubernetes the rest stays, and the apply fails validation.
    pub incomplete_items_removed: bool,
    /// A merge key that is `null` in a configuration stands for its default. In Kubernetes the item is another one.
    pub null_keys_are_defaults: bool,
    /// Fields that an endpoint does not write keep their managers at every version, and a field that a version does not declare is
    /// not part of the object there. In Kubernetes the endpoint's reset fields count only at the version of the write, and
    /// with such a field an apply fails and any other write loses all managers.
    pub managers_survive_versions: bool,
    /// An apply that changes a union's discriminator clears the member that the former one named, if it has no owner. In
    /// Kubernetes the member stays, and the result is invalid.
    pub former_members_cleared: bool,
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
            shared_zeros: improved,
            emptied_parts_stay: improved,
            removed_versions_dropped: improved,
            atomic_to_granular: improved,
            incomplete_items_removed: improved,
            null_keys_are_defaults: improved,
            managers_survive_versions: improved,
            former_members_cleared: improved,
        }
    }

    /// Returns each difference by its heading in the documentation, and whether it is on.
    pub const fn differences(&self) -> [(&'static str, bool); 8] {
        [
            ("Equal zero values are shared", self.shared_zeros),
            ("Emptied fields are empty, not null", self.emptied_parts_stay),
            ("Entries at removed versions are dropped", self.removed_versions_dropped),
            ("Owners of atomic values own the parts when the type becomes granular", self.atomic_to_granular),
            ("Incomplete remains of an item are removed", self.incomplete_items_removed),
            ("Null list keys match their default", self.null_keys_are_defaults),
            ("Managers survive writes at another version", self.managers_survive_versions),
            ("A changed discriminator clears the previous member", self.former_members_cleared),
        ]
    }
}

/// The same as [`Behavior::tenure`].
impl Default for Behavior {
    fn default() -> Behavior {
        Behavior::tenure()
    }
}
