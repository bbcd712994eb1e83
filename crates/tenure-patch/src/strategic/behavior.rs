//! The places where Tenure deliberately differs from the recorded behaviour of Kubernetes.
//!
//! Each difference is one flag of [`Behavior`]. `docs/differences.md` describes every flag, and a test compares the two.

macro_rules! behavior {
    ($($(#[doc = $text:literal])+ $name:ident,)+) => {
        /// Which of the documented differences from Kubernetes are in force.
        ///
        /// [`Behavior::kubernetes`] reproduces what a kube-apiserver and its client libraries do, defects included;
        /// [`Behavior::tenure`] fixes what loses data or surprises people.
        ///
        /// ```
        /// use tenure_patch::strategic::Behavior;
        ///
        /// let mut behavior = Behavior::kubernetes();
        /// assert!(!behavior.remove_deleted_maps);
        /// behavior.remove_deleted_maps = true;
        /// assert_eq!(Behavior::default(), Behavior::tenure());
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Behavior {
            $($(#[doc = $text])+ pub $name: bool,)+
        }

        impl Behavior {
            /// The names of all differences.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];

            /// Returns the recorded behaviour of Kubernetes: every difference is off.
            pub const fn kubernetes() -> Behavior {
                Behavior { $($name: false),+ }
            }

            /// Returns the behaviour of Tenure: every difference is on.
            pub const fn tenure() -> Behavior {
                Behavior { $($name: true),+ }
            }
        }
    };
}

behavior! {
    /// Directives of a patch, and the `null` fields of entries that join a list, are never stored.
    drop_directives,
    /// A `$patch` value other than `replace` and `delete` is an error even where no map is live.
    reject_unknown_patch_values,
    /// `$patch: delete` removes a map; Kubernetes leaves an empty one.
    remove_deleted_maps,
    /// `$patch: replace` in a list entry that has a merge key replaces that entry; Kubernetes replaces the list
    /// and loses the entry.
    replace_marked_entries,
    /// A merge key that is `null` is an error; Kubernetes adds an entry that no later patch can address.
    reject_null_merge_keys,
    /// A `null` key in `$patchMergeKey` that matches several entries is an error; the design document takes the first.
    reject_ambiguous_null_keys,
    /// `$deleteFromPrimitiveList` that is not a list and `$retainKeys` with items other than names are errors;
    /// Kubernetes ignores them.
    reject_malformed_directives,
    /// `$setElementOrder` for an empty list has no effect; Kubernetes fails.
    ignore_empty_orders,
    /// Integers above 9223372036854775807 keep their digits; Kubernetes reads them as floats.
    keep_large_integers,
    /// Entries with equal merge keys survive a calculated patch, and an order list may repeat keys.
    keep_repeated_entries,
    /// A calculated patch reorders a set whenever its order differs.
    write_set_reorders,
    /// A calculated patch never deletes an item that the modified set contains.
    unite_repeated_set_items,
    /// A calculated patch that sets one member of a union removes the other.
    exclude_union_members,
    /// Deleting the same item of a set in the manifest and in the live document is not a conflict.
    allow_equal_deletions,
    /// A map that left the manifest keeps what others added to it, if live changes are kept.
    keep_additions_to_removed_maps,
    /// Checking for conflicts does not sort the lists of the patch.
    keep_order_in_conflict_checks,
}

impl Default for Behavior {
    fn default() -> Behavior {
        Behavior::tenure()
    }
}
