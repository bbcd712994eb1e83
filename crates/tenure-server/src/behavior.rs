//! The differences between Tenure and Kubernetes that a client can observe, each a named value. A profile chooses them all
//! together; the code that a difference is about takes its value and nothing else.

/// Which documented differences are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Behavior {
    /// The differences in deciding ownership.
    pub ownership: tenure_apply::Behavior,
    /// The differences in strategic merge patches.
    pub strategic_merge: tenure_patch::strategic::Behavior,
    /// An apply that leaves a duplicate value in a list, because another manager owns the other entry, is refused with a
    /// conflict that names that manager. In Kubernetes it is a validation error.
    pub duplicate_values_are_conflicts: bool,
}

impl Behavior {
    /// Returns the behaviour of Kubernetes.
    pub const fn kubernetes() -> Behavior {
        Behavior {
            ownership: tenure_apply::Behavior::kubernetes(),
            strategic_merge: tenure_patch::strategic::Behavior::kubernetes(),
            duplicate_values_are_conflicts: false,
        }
    }

    /// Returns the behaviour with every documented improvement.
    pub const fn tenure() -> Behavior {
        let mut strategic_merge = tenure_patch::strategic::Behavior::tenure();
        // Clients of a kube-apiserver must work here, however they spell `$patch`.
        strategic_merge.reject_unknown_patch_values = false;
        Behavior {
            ownership: tenure_apply::Behavior::tenure(),
            strategic_merge,
            duplicate_values_are_conflicts: true,
        }
    }
}

/// The same as [`Behavior::tenure`].
impl Default for Behavior {
    fn default() -> Behavior {
        Behavior::tenure()
    }
}
