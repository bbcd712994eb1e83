//! The differences between Tenure and Kubernetes that a client can observe, each a named value. A profile chooses them all
//! together; the code of a difference receives only its value. `docs/differences.md` describes them.

/// Which documented differences are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Behavior {
    /// The differences in deciding ownership.
    pub ownership: tenure_apply::Behavior,
    /// The differences in strategic merge patches.
    pub strategic_merge: tenure_patch::strategic::Behavior,
    /// The differences in definitions of custom resources and their objects.
    pub custom_resources: tenure_crd::Behavior,
    /// An apply that leaves a duplicate value in a list, because another manager owns the other entry, is refused with a
    /// conflict that names that manager. In Kubernetes it is a validation error.
    pub duplicate_values_are_conflicts: bool,
    /// Custom resources accept strategic merge patches. In Kubernetes they are an unsupported media type.
    pub patch_custom_resources: bool,
    /// A DELETE takes options from its query and its body. Kubernetes ignores the query if there is a body.
    pub merge_delete_options: bool,
    /// A write to `scale` that would only change the time of a manager is not stored.
    pub ignore_time_changes: bool,
    /// The scale of a custom resource can be applied. In Kubernetes every such apply is an internal error.
    pub apply_custom_scales: bool,
    /// The scheduler that posts a binding owns the fields that it sets. In Kubernetes they have no owner.
    pub own_bindings: bool,
    /// CBOR, and compact `managedFields` for clients that ask. Kubernetes serves CBOR behind a feature gate that is off.
    pub optional_formats: tenure_http::OptionalFormats,
    /// The eviction of a pod that several disruption budgets select is a conflict. In Kubernetes it is an internal error.
    pub conflicting_budgets_are_conflicts: bool,
    /// An invalid request is a client error that says what is wrong, where, and what would be right; the causes of a conflict
    /// have owners and values. In Kubernetes many invalid requests are internal errors. An error that differs carries both
    /// answers ([`ApiError::or_in_kubernetes`](tenure_meta::ApiError::or_in_kubernetes)); the server chooses before it answers.
    pub client_errors: bool,
}

impl Behavior {
    /// Returns the behaviour of Kubernetes.
    pub const fn kubernetes() -> Behavior {
        Behavior {
            ownership: tenure_apply::Behavior::kubernetes(),
            strategic_merge: tenure_patch::strategic::Behavior::kubernetes(),
            custom_resources: tenure_crd::Behavior::kubernetes(),
            duplicate_values_are_conflicts: false,
            patch_custom_resources: false,
            merge_delete_options: false,
            ignore_time_changes: false,
            apply_custom_scales: false,
            own_bindings: false,
            optional_formats: tenure_http::OptionalFormats { cbor: false, compact_managed_fields: false },
            conflicting_budgets_are_conflicts: false,
            client_errors: false,
        }
    }

    /// Returns the behaviour with every documented improvement.
    pub const fn tenure() -> Behavior {
        let mut strategic_merge = tenure_patch::strategic::Behavior::tenure();
        // Clients of a kube-apiserver must work here, with any spelling of `$patch`.
        strategic_merge.reject_unknown_patch_values = false;
        Behavior {
            ownership: tenure_apply::Behavior::tenure(),
            strategic_merge,
            custom_resources: tenure_crd::Behavior::tenure(),
            duplicate_values_are_conflicts: true,
            patch_custom_resources: true,
            merge_delete_options: true,
            ignore_time_changes: true,
            apply_custom_scales: true,
            own_bindings: true,
            optional_formats: tenure_http::OptionalFormats { cbor: true, compact_managed_fields: true },
            conflicting_budgets_are_conflicts: true,
            client_errors: true,
        }
    }

    /// Returns each difference outside of strategic merge patches by its heading in the documentation, and whether it is on.
    pub fn differences(&self) -> Vec<(&'static str, bool)> {
        let own = [
            ("Duplicates of another owner's entry are conflicts", self.duplicate_values_are_conflicts),
            ("Strategic merge patch works on custom resources", self.patch_custom_resources),
            ("Delete reads options from query and body", self.merge_delete_options),
            ("A changed timestamp alone is not written", self.ignore_time_changes),
            ("Scales of custom resources can be applied", self.apply_custom_scales),
            ("Bindings have a field manager", self.own_bindings),
            ("CBOR is served", self.optional_formats.cbor),
            ("Managed fields can be compact", self.optional_formats.compact_managed_fields),
            (
                "Eviction under several disruption budgets is a conflict",
                self.conflicting_budgets_are_conflicts,
            ),
            ("Invalid requests are client errors", self.client_errors),
        ];
        let ownership = self.ownership.differences();
        let custom_resources = self.custom_resources.differences();
        own.into_iter().chain(ownership).chain(custom_resources).collect()
    }
}

/// The same as [`Behavior::tenure`].
impl Default for Behavior {
    fn default() -> Behavior {
        Behavior::tenure()
    }
}
