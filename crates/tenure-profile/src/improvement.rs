//! The improvements, each with its name and the heading of its entry in `docs/differences.md`. A new one is a row here, an
//! entry there with a conversation or an example, and the code that asks for it.

use std::fmt;

macro_rules! improvements {
    ($($(#[doc = $text:literal])+ $name:ident = $heading:literal,)+) => {
        /// One place where Tenure deliberately does better than Kubernetes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Improvement {
            $($(#[doc = $text])+ $name,)+
        }

        impl Improvement {
            /// All improvements, in the order of the documentation.
            pub const ALL: &'static [Improvement] = &[$(Improvement::$name),+];

            /// Returns its name, as a server publishes it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Improvement::$name => stringify!($name),)+
                }
            }

            /// Returns the heading of its entry in the documentation.
            pub const fn heading(self) -> &'static str {
                match self {
                    $(Improvement::$name => $heading,)+
                }
            }
        }
    };
}

improvements! {
    // Strategic merge patch.

    /// Directives of a patch, and the `null` fields of entries that join a list, are never stored.
    DropDirectives = "Directives and nulls are never stored",
    /// A `$patch` value other than `replace` and `delete` is an error even where no map is live. Not part of
    /// [`Profile::tenure`](crate::Profile::tenure): clients of a kube-apiserver must work there with any spelling.
    RejectUnknownPatchValues = "Unknown directive values are errors everywhere",
    /// `$patch: delete` removes a map; Kubernetes leaves an empty one.
    RemoveDeletedMaps = "Deleted maps are removed",
    /// `$patch: replace` in a list entry that has a merge key replaces that entry; Kubernetes replaces the list
    /// and loses the entry.
    ReplaceMarkedEntries = "`$patch: replace` in an entry replaces that entry",
    /// `$deleteFromPrimitiveList` that is not a list and `$retainKeys` with items other than names are errors;
    /// Kubernetes ignores them.
    RejectMalformedDirectives = "Malformed directives are errors",
    /// A merge key that is `null` is an error; Kubernetes adds an entry that no later patch can address.
    RejectNullMergeKeys = "Null merge keys are errors",
    /// A `null` key in `$patchMergeKey` that matches several entries is an error; the design document takes the first.
    RejectAmbiguousNullKeys = "Ambiguous null keys are errors",
    /// Entries with equal merge keys survive a calculated patch, and an order list may repeat keys.
    KeepRepeatedEntries = "Entries with duplicate keys are kept",
    /// `$setElementOrder` for an empty list has no effect; Kubernetes fails.
    IgnoreEmptyOrders = "Orders of an empty list are ignored",
    /// `$setElementOrder` for a list that the type does not have is dropped with a warning, so that clients of newer types can
    /// patch; Kubernetes fails.
    DropUnknownOrders = "Orders of unknown lists are dropped",
    /// A calculated patch reorders a set whenever its order differs.
    WriteSetReorders = "Reordered sets produce a patch",
    /// A calculated patch never deletes an item that the modified set contains.
    UniteRepeatedSetItems = "Duplicate set items are merged",
    /// A calculated patch that sets one member of a union removes the other.
    ExcludeUnionMembers = "Setting a union member clears the others",
    /// Deleting the same item of a set in the manifest and in the live document is not a conflict.
    AllowEqualDeletions = "Equal deletions do not conflict",
    /// A map that left the manifest keeps what others added to it, if live changes are kept.
    KeepAdditionsToRemovedMaps = "Removed maps keep what others added",
    /// Checking for conflicts does not sort the lists of the patch.
    KeepOrderInConflictChecks = "Conflict checks do not reorder lists",
    /// A strategic merge patch may send the merge keys of a list as `$patchMergeKey`. Kubernetes does not know the directive.
    ClientMergeKeys = "Clients can send merge keys",
    /// Custom resources accept strategic merge patches. In Kubernetes they are an unsupported media type.
    PatchCustomResources = "Strategic merge patch works on custom resources",
    /// Integers above 9223372036854775807 keep their digits; Kubernetes reads them as floats.
    KeepLargeIntegers = "Large integers keep their digits",

    // Server-side apply.

    /// Managers that apply the same zero (`""`, `0`, `false`, `[]`, `{}`, `null`) share the field. In Kubernetes they
    /// conflict, because the zero is left out of the stored object.
    SharedZeros = "Equal zero values are shared",
    /// A part that lost all its contents stays as `{}` or `[]` if it has an owner or its type requires it. In
    /// Kubernetes it becomes `null`, which the schema of a custom resource then refuses.
    EmptiedPartsStay = "Emptied fields are empty, not null",
    /// Managers at a version that a custom resource no longer has are dropped at the next write. In Kubernetes every
    /// apply fails, and an update loses all managers.
    RemovedVersionsDropped = "Entries at removed versions are dropped",
    /// The owner of an atomic part owns everything in it once its type becomes granular. In Kubernetes the owner keeps
    /// the part itself and nothing in it.
    AtomicToGranular = "Owners of atomic values own the parts when the type becomes granular",
    /// A list item that its applier gives up goes entirely if the rest would lack a field that its type requires. In
    /// Kubernetes the rest stays, and the apply fails validation.
    IncompleteItemsRemoved = "Incomplete remains of an item are removed",
    /// A merge key that is `null` in a configuration stands for its default. In Kubernetes the item is another one.
    NullKeysAreDefaults = "Null list keys match their default",
    /// Fields that an endpoint does not write keep their managers at every version, and a field that a version does not declare is
    /// not part of the object there. In Kubernetes the endpoint's reset fields count only at the version of the write, and
    /// with such a field an apply fails and any other write loses all managers.
    ManagersSurviveVersions = "Managers survive writes at another version",
    /// An apply that changes a union's discriminator clears the member that the former one named, if it has no owner. In
    /// Kubernetes the member stays, and the result is invalid.
    FormerMembersCleared = "A changed discriminator clears the previous member",
    /// An object with a part that does not fit its type keeps its managers, and can be applied: a field that has another type since
    /// the definition changed, an item without its key.
    MalformedPartsTracked = "Malformed parts of an object are not untracked",
    /// An apply that leaves a duplicate value in a list, because another manager owns the other entry, is refused with a
    /// conflict that names that manager. In Kubernetes it is a validation error.
    DuplicateValuesAreConflicts = "Duplicates of another owner's entry are conflicts",

    // The API.

    /// A DELETE takes options from its query and its body. Kubernetes ignores the query if there is a body.
    MergeDeleteOptions = "Delete reads options from query and body",
    /// A write to `scale` that would only change the time of a manager is not stored.
    IgnoreTimeChanges = "A changed timestamp alone is not written",
    /// The scale of a custom resource can be applied. In Kubernetes every such apply is an internal error.
    ApplyCustomScales = "Scales of custom resources can be applied",
    /// The scheduler that posts a binding owns the fields that it sets. In Kubernetes they have no owner.
    OwnBindings = "Bindings have a field manager",
    /// CBOR is served. Kubernetes has it behind a feature gate that is off.
    ServeCbor = "CBOR is served",
    /// Lists and watches can be of one shard (`shardSelector`). Kubernetes has it behind a feature gate that is off.
    ShardedLists = "Lists and watches can be sharded",
    /// Clients that ask get `managedFields` in the compact encoding.
    CompactManagedFields = "Managed fields can be compact",
    /// The eviction of a pod that several disruption budgets select is a conflict. In Kubernetes it is an internal error.
    ConflictingBudgetsAreConflicts = "Eviction under several disruption budgets is a conflict",

    /// An apply may force single fields with `force-path`. Kubernetes ignores the parameter.
    ForcePaths = "An apply can force single fields",
    /// A dry run may be asked with `ownershipReport` who would own what. Kubernetes ignores the parameter.
    OwnershipReports = "A dry run can report ownership",
    /// Several writes can be one transaction (`POST /transactions`). Kubernetes has no such path.
    Transactions = "Several writes can be one transaction",
    /// An invalid request is a client error that says what is wrong, where, and what would be right; the causes of a conflict
    /// have owners and values. In Kubernetes many invalid requests are internal errors. An error that differs carries both
    /// answers, and the server chooses before it answers.
    ClientErrors = "Invalid requests are client errors",

    // Custom resources.

    /// A definition has its accepted names and conditions from the write that creates or changes it. In Kubernetes another write adds them.
    EstablishAtOnce = "Definitions are established at once",
    /// A definition with a list that no apply could write is refused. Kubernetes accepts it, and every apply fails.
    RejectUnappliableLists = "Lists that cannot be applied are refused",
    /// An update of a definition after which something merges in another way is answered with warnings.
    AnnounceMergeChanges = "Changed list merging is announced",
    /// A number with a fraction in an integer field is one error. Kubernetes reports a second one without a field.
    ReportWrongTypesOnce = "A wrong type is reported once",
    /// A nullable field whose `enum` lists `null` accepts it. Kubernetes refuses every `null` in a field with an `enum`.
    AllowListedNulls = "Null is allowed where the enum lists it",
    /// Whole numbers are compared with fractional bounds as they are. Kubernetes cuts the fraction off the bound.
    ExactBounds = "Fractional bounds apply to whole numbers",
}

impl Improvement {
    /// Returns the improvement of a name.
    pub fn named(name: &str) -> Option<Improvement> {
        Improvement::ALL.iter().copied().find(|improvement| improvement.name() == name)
    }
}

impl fmt::Display for Improvement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
