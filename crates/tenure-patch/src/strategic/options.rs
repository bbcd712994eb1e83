//! The choices that a caller has when applying and calculating patches.

use tenure_profile::Profile;
use tenure_value::{Text, Value};

/// Options for [`apply`](super::apply).
///
/// ```
/// use tenure_patch::strategic::{ApplyOptions, Profile, LiveOnly};
///
/// let options = ApplyOptions::default().profile(Profile::kubernetes()).live_only(LiveOnly::InFront);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyOptions {
    pub(crate) profile: Profile,
    pub(crate) live_only: LiveOnly,
    pub(crate) unmarked_lists: UnmarkedLists,
}

impl ApplyOptions {
    /// Sets which differences from Kubernetes are in force.
    pub const fn profile(mut self, profile: Profile) -> ApplyOptions {
        self.profile = profile;
        self
    }

    /// Sets where items go that only the live list has.
    pub const fn live_only(mut self, live_only: LiveOnly) -> ApplyOptions {
        self.live_only = live_only;
        self
    }

    /// Sets how lists without a patch strategy are patched.
    pub const fn unmarked_lists(mut self, unmarked_lists: UnmarkedLists) -> ApplyOptions {
        self.unmarked_lists = unmarked_lists;
        self
    }
}

/// Options for [`two_way`](super::two_way) and [`three_way`](super::three_way).
///
/// ```
/// use tenure_patch::strategic::{DiffOptions, Keys, Precondition};
///
/// let preconditions = [Precondition::unchanged(["metadata", "name"])];
/// let options = DiffOptions::default().keys(Keys::Recommended).preconditions(&preconditions);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct DiffOptions<'p> {
    pub(crate) profile: Profile,
    pub(crate) keys: Keys,
    pub(crate) unmarked_lists: UnmarkedLists,
    pub(crate) preconditions: &'p [Precondition],
}

impl<'p> DiffOptions<'p> {
    /// Sets which differences from Kubernetes are in force.
    pub const fn profile(mut self, profile: Profile) -> DiffOptions<'p> {
        self.profile = profile;
        self
    }

    /// Sets the keys by which list entries are matched.
    pub const fn keys(mut self, keys: Keys) -> DiffOptions<'p> {
        self.keys = keys;
        self
    }

    /// Sets how lists without a patch strategy are patched.
    pub const fn unmarked_lists(mut self, unmarked_lists: UnmarkedLists) -> DiffOptions<'p> {
        self.unmarked_lists = unmarked_lists;
        self
    }

    /// Sets what the patch must not change.
    pub const fn preconditions(mut self, preconditions: &'p [Precondition]) -> DiffOptions<'p> {
        self.preconditions = preconditions;
        self
    }
}

/// Where items go that only the live list has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LiveOnly {
    /// They keep their position among the other items, as in Kubernetes.
    #[default]
    InPlace,
    /// They go in front of the other items, as in the examples of the design document on list order.
    InFront,
}

/// How a list without a patch strategy is patched if its type declares list keys or a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnmarkedLists {
    /// The list is replaced, as Kubernetes does for built-in kinds.
    #[default]
    Replace,
    /// The list is merged by its list keys or as a set.
    Merge,
}

/// The keys by which calculated patches match list entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keys {
    /// The merge key, which every server understands.
    #[default]
    Merge,
    /// All keys that the type recommends. Entries carry them in `$patchMergeKey`, for servers with
    /// [`ClientMergeKeys`](tenure_profile::Improvement::ClientMergeKeys): a kube-apiserver fails on such a patch.
    Recommended,
}

/// Whether a three-way patch may overwrite changes made to the live document since the last apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LiveChanges {
    /// The manifest wins.
    #[default]
    Overwrite,
    /// A field that both the manifest and the live document changed is a conflict.
    Keep,
}

/// A field that a calculated patch must not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precondition {
    path: Vec<Text>,
}

impl Precondition {
    /// Requires that a patch does not change the field with this path.
    ///
    /// ```
    /// use tenure_patch::strategic::Precondition;
    ///
    /// let kind = Precondition::unchanged(["kind"]);
    /// let name = Precondition::unchanged(["metadata", "name"]);
    /// assert!(name.holds(&r#"{"metadata": {"labels": {}}}"#.parse().unwrap()));
    /// assert!(!kind.holds(&r#"{"kind": "Pod"}"#.parse().unwrap()));
    /// ```
    pub fn unchanged<N: Into<Text>>(names: impl IntoIterator<Item = N>) -> Precondition {
        Precondition { path: names.into_iter().map(Into::into).collect() }
    }

    /// Whether a patch leaves the field unchanged. A patch that removes a parent of the field does not.
    pub fn holds(&self, patch: &Value) -> bool {
        let mut part = patch;
        for name in &self.path {
            match part.get(name) {
                None => return true,
                Some(Value::Null) => return false,
                Some(below) => part = below,
            }
        }
        false
    }

    /// Returns the path of the field, as text.
    pub(crate) fn path(&self) -> String {
        self.path.join(".")
    }
}
