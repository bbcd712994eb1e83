//! Calculating patches. A two-way patch leads from one document to another; a three-way patch takes additions and
//! changes from live document to manifest, and deletions from last applied manifest to manifest. One calculation does
//! both: a two-way patch is a three-way patch whose live document is the original.

mod calculator;
mod client_keys;
mod conflicts;
mod entry_keys;
mod key_text;
mod pairing;
mod unchanged;

use super::{DiffOptions, LiveChanges, document_root};
use crate::{ErrorKind, PatchError};
use calculator::{Calculator, Sides};
use conflicts::Documents;
use tenure_schema::TypeRef;
use tenure_value::{Object, Value};

/// Calculates the patch that leads from one document to another.
///
/// ```
/// use tenure_patch::strategic;
/// use tenure_value::Value;
///
/// let pod = tenure_schema::Schema::builtin().kind("v1", "Pod").unwrap();
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
    options: &DiffOptions<'_>,
) -> Result<Value, PatchError> {
    let original = document_root(original, "the original document", options.profile)?;
    let modified = document_root(modified, "the modified document", options.profile)?;
    let patch = calculate(&original, &modified, &original, ty, options, LiveChanges::Overwrite)?;
    check_preconditions(patch.into(), options)
}

/// Calculates the patch that brings a live document to a manifest. It sets what the manifest has and the live document
/// lacks, removes what the last applied manifest had and this one lacks, and keeps fields that other clients set.
///
/// ```
/// use tenure_patch::strategic::{self, LiveChanges};
/// use tenure_schema::Schema;
/// use tenure_value::Value;
///
/// let deployment = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
/// let read = |text: &str| text.parse::<Value>().unwrap();
/// let last_applied = read(r#"{"spec": {"replicas": 1, "paused": true}}"#);
/// let manifest = read(r#"{"spec": {"replicas": 3}}"#);
/// let live = read(r#"{"spec": {"replicas": 1, "paused": true, "minReadySeconds": 5}}"#);
/// let options = Default::default();
/// let patch =
///     strategic::three_way(&last_applied, &manifest, &live, deployment, LiveChanges::Keep, &options).unwrap();
/// assert_eq!(patch.to_string(), r#"{"spec":{"paused":null,"replicas":3}}"#);
/// ```
pub fn three_way(
    last_applied: &Value,
    modified: &Value,
    live: &Value,
    ty: TypeRef<'_>,
    live_changes: LiveChanges,
    options: &DiffOptions<'_>,
) -> Result<Value, PatchError> {
    let last_applied = document_root(last_applied, "the last applied document", options.profile)?;
    let modified = document_root(modified, "the modified document", options.profile)?;
    let live = document_root(live, "the live document", options.profile)?;
    let patch = calculate(&last_applied, &modified, &live, ty, options, live_changes)?;
    let patch = check_preconditions(patch.into(), options)?;
    if live_changes == LiveChanges::Overwrite {
        return Ok(patch);
    }
    let documents = Documents { original: Some(&last_applied), modified: &modified, live: Some(&live) };
    conflicts::check(patch, documents, ty, options)
}

fn calculate(
    original: &Object,
    modified: &Object,
    live: &Object,
    ty: TypeRef<'_>,
    options: &DiffOptions<'_>,
    live_changes: LiveChanges,
) -> Result<Object, PatchError> {
    let two_way = std::ptr::eq(original, live);
    let mut calculator = Calculator::new(options, live_changes, two_way);
    let sides = Sides { original: Some(original), live: Some(live) };
    let begun = calculator.object(sides, modified, ty, false)?;
    Ok(calculator.finish(begun).unwrap_or_default())
}

fn check_preconditions(patch: Value, options: &DiffOptions<'_>) -> Result<Value, PatchError> {
    match options.preconditions.iter().find(|precondition| !precondition.holds(&patch)) {
        Some(precondition) => {
            let rule = format!("{} must not change", precondition.path());
            Err(ErrorKind::Precondition { rule: rule.into() }.into())
        }
        None => Ok(patch),
    }
}
