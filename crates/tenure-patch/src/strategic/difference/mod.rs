//! Calculating patches. Two-way is what leads from one document to another; three-way takes additions and
//! changes from live to manifest and deletions from last applied to manifest. One walk does both: a two-way
//! patch is a three-way one whose live document is the original.

mod conflict;
mod dress;
mod entries;
mod fields;
mod key_text;
mod repeated;
mod scalars;
mod settled;

use super::{UnmarkedLists, root};
use crate::{Fault, PatchError};
use fields::{Sides, Walk};
use tenure_schema::TypeRef;
use tenure_value::{Object, Text, Value};

/// By which keys calculated patches match the entries of lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DifferenceKeys {
    /// By the merge key, as every server understands.
    #[default]
    Default,
    /// By all keys that the type recommends, where it recommends more than the merge key; each entry then
    /// carries them in `$patchMergeKey`. Servers that do not know the directive see an ordinary patch.
    Recommended,
}

/// Whether a three-way patch may undo what was changed live since the last apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LiveChanges {
    /// The manifest wins.
    #[default]
    Overwrite,
    /// Nothing is undone: where manifest and live document both changed, that is an error.
    Keep,
}

/// How a patch is calculated, where there is a choice.
#[derive(Clone, Copy, Default)]
pub struct DifferenceOptions<'p> {
    /// By which keys entries are matched.
    pub keys: DifferenceKeys,
    /// What is done with keyed lists and sets that have no patch strategy.
    pub unmarked_lists: UnmarkedLists,
    /// What the patch must not do.
    pub preconditions: &'p [Precondition],
}

/// A field that a patch must not touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precondition {
    path: Vec<Text>,
}

impl Precondition {
    /// Demands that a patch does not touch the field reached by these names.
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

    /// Whether a patch leaves the field alone. A patch that removes a map around it does not.
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
}

/// Calculates the patch that leads from one document to another.
///
/// ```
/// use tenure_patch::strategic;
/// use tenure_value::Value;
///
/// let schema = tenure_schema::builtin::load();
/// let pod = schema.kind("v1", "Pod").unwrap();
/// let original: Value = r#"{"spec": {"containers": [{"name": "a", "image": "1"}]}}"#.parse().unwrap();
/// let modified: Value = r#"{"spec": {"containers": [{"name": "a", "image": "2"}]}}"#.parse().unwrap();
/// let patch = strategic::two_way(&original, &modified, pod, &Default::default()).unwrap();
/// assert_eq!(
///     patch.to_string(),
///     r#"{"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"image":"2","name":"a"}]}}"#,
/// );
/// ```
pub fn two_way(
    original: &Value,
    modified: &Value,
    ty: TypeRef<'_>,
    options: &DifferenceOptions<'_>,
) -> Result<Value, PatchError> {
    let original = root(original, "the original document")?;
    let modified = root(modified, "the modified document")?;
    check(calculate(&original, &modified, &original, ty, options, LiveChanges::Overwrite)?, options)
}

/// Calculates the patch that brings a live document to a manifest: what the manifest has and the live
/// document lacks is set, what the manifest of the last apply had and this one lacks is removed, and what
/// others have set is left alone.
pub fn three_way(
    last_applied: &Value,
    modified: &Value,
    live: &Value,
    ty: TypeRef<'_>,
    live_changes: LiveChanges,
    options: &DifferenceOptions<'_>,
) -> Result<Value, PatchError> {
    let last_applied = root(last_applied, "the last applied document")?;
    let modified = root(modified, "the modified document")?;
    let live = root(live, "the live document")?;
    let patch = calculate(&last_applied, &modified, &live, ty, options, live_changes)?;
    let patch = check(patch, options)?;
    if live_changes == LiveChanges::Keep {
        let changed = calculate(&last_applied, &live, &last_applied, ty, options, LiveChanges::Overwrite)?;
        let conflicts = conflict::conflicts(&patch, &changed.into(), ty, options);
        if !conflicts.is_empty() {
            return Err(Fault::Conflicts(conflicts).into());
        }
    }
    Ok(patch)
}

fn calculate(
    original: &Object,
    modified: &Object,
    live: &Object,
    ty: TypeRef<'_>,
    options: &DifferenceOptions<'_>,
    live_changes: LiveChanges,
) -> Result<Object, PatchError> {
    let mut walk = Walk::new(options, live_changes);
    let begun = walk.object(Sides { original: Some(original), live: Some(live) }, modified, ty, false)?;
    Ok(walk.finish(begun).unwrap_or_default())
}

fn check(patch: Object, options: &DifferenceOptions<'_>) -> Result<Value, PatchError> {
    let patch = Value::Object(patch);
    match options.preconditions.iter().find(|precondition| !precondition.holds(&patch)) {
        Some(precondition) => {
            let rule = format!("{} must not change", precondition.path.join("."));
            Err(Fault::Precondition { rule: rule.into() }.into())
        }
        None => Ok(patch),
    }
}
