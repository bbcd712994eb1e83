//! The differences between Tenure and Kubernetes that a client can observe, each a named value. A profile chooses them all
//! together; the code that a difference is about takes its value and nothing else.

/// Which documented differences are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Behavior {
    /// The differences in deciding ownership.
    pub ownership: tenure_apply::Behavior,
    /// An apply that leaves a duplicate value in a list, because another manager owns the other entry, is refused with a
    /// conflict that names that manager. In Kubernetes it is a validation error.
    pub duplicate_values_are_conflicts: bool,
}

impl Behavior {
    /// Returns the behaviour of Kubernetes.
    pub const fn kubernetes() -> Behavior {
        Behavior { ownership: tenure_apply::Behavior::kubernetes(), duplicate_values_are_conflicts: false }
    }

    /// Returns the behaviour with every documented improvement.
    pub const fn tenure() -> Behavior {
        Behavior { ownership: tenure_apply::Behavior::tenure(), duplicate_values_are_conflicts: true }
    }
}

/// The same as [`Behavior::tenure`].
impl Default for Behavior {
    fn default() -> Behavior {
        Behavior::tenure()
    }
}
