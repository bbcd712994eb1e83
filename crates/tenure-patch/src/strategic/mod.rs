//! Strategic merge patch: a patch that looks like the document, with directives for what a document cannot say. Live
//! document, patch and type are walked in step; parts that the patch does not touch are shared.

mod apply;
mod diff;
mod directive;
mod key_index;
mod merge_keys;
mod options;
mod order;
mod patch_meta;
mod scalars;
pub mod text;
mod trace;

pub use diff::{three_way, two_way};
pub(crate) use directive::{Directive, PATCH, PATCH_MERGE_KEY, SET_ELEMENT_ORDER, directive};
pub(crate) use merge_keys::MergeKeys;
pub use options::{ApplyOptions, DiffOptions, Keys, LiveChanges, LiveOnly, Precondition, UnmarkedLists};
pub(crate) use patch_meta::{ListStrategy, PatchMeta, field_type, item_type, lookup};
pub use tenure_profile::{Improvement, Profile};
pub use trace::{KeySource, OrderSource, PatchDecision, PatchRule, PatchTrace};

use crate::{ErrorKind, PatchError};
use apply::{Merged, Merger};
use tenure_fields::Path;
use tenure_schema::{Type, TypeRef};
use tenure_value::{Kind, Object, Value};
use trace::{Drops, Recorder, Silent};

/// Applies a patch to a document of a type.
///
/// Without a type ([`TypeRef::untyped`]) the patch is applied as a JSON merge patch, and no field is a directive.
///
/// ```
/// use tenure_patch::strategic;
/// use tenure_schema::TypeRef;
/// use tenure_value::Value;
///
/// let live: Value = r#"{"spec": {"replicas": 1, "paused": true}}"#.parse().unwrap();
/// let patch: Value = r#"{"spec": {"replicas": 3, "paused": null}}"#.parse().unwrap();
/// let patched = strategic::apply(&live, &patch, TypeRef::untyped(), &Default::default()).unwrap();
/// assert_eq!(patched.to_string(), r#"{"spec":{"replicas":3}}"#);
/// ```
pub fn apply(
    live: &Value,
    patch: &Value,
    ty: TypeRef<'_>,
    options: &ApplyOptions,
) -> Result<Value, PatchError> {
    run(live, patch, ty, options, &mut Silent)
}

/// Applies a patch like [`apply`] and returns which rule decided every path that it touched.
pub fn apply_explained(
    live: &Value,
    patch: &Value,
    ty: TypeRef<'_>,
    options: &ApplyOptions,
) -> Result<(Value, PatchTrace), PatchError> {
    let mut trace = PatchTrace::default();
    let result = run(live, patch, ty, options, &mut trace)?;
    Ok((result, trace))
}

/// Applies a patch like [`apply`] and returns the directives that were dropped
/// ([`DropUnknownOrders`](Improvement::DropUnknownOrders)), for which a client is warned.
pub fn apply_with_dropped(
    live: &Value,
    patch: &Value,
    ty: TypeRef<'_>,
    options: &ApplyOptions,
) -> Result<(Value, Vec<Path>), PatchError> {
    let mut drops = Drops::default();
    let result = run(live, patch, ty, options, &mut drops)?;
    if !drops.0 {
        return Ok((result, Vec::new()));
    }
    // Paths are followed only where they are needed.
    let (result, trace) = apply_explained(live, patch, ty, options)?;
    let dropped = trace.decisions().iter().filter(|decision| decision.rule == PatchRule::UnknownListDropped);
    Ok((result, dropped.map(|decision| decision.path.clone()).collect()))
}

fn run(
    live: &Value,
    patch: &Value,
    ty: TypeRef<'_>,
    options: &ApplyOptions,
    recorder: &mut impl Recorder,
) -> Result<Value, PatchError> {
    let profile = options.profile;
    let live = document_root(live, "the live document", profile)?;
    let patch = document_root(patch, "the patch", profile)?;
    if matches!(ty.get(), Type::Untyped) {
        recorder.note(|| PatchRule::NoSchema);
        return Ok(crate::merge::apply(&live.into(), &patch.into()));
    }
    merge_objects(&live, &patch, ty, options, recorder)
}

/// Applies a patch to an object.
fn apply_object(
    live: &Object,
    patch: &Object,
    ty: TypeRef<'_>,
    options: &ApplyOptions,
) -> Result<Value, PatchError> {
    merge_objects(live, patch, ty, options, &mut Silent)
}

fn merge_objects(
    live: &Object,
    patch: &Object,
    ty: TypeRef<'_>,
    options: &ApplyOptions,
    recorder: &mut impl Recorder,
) -> Result<Value, PatchError> {
    Ok(match Merger::new(options, recorder).object(live, patch, ty)? {
        Merged::Same => live.clone().into(),
        Merged::New(value) => value,
        Merged::Gone => Object::default().into(),
    })
}

/// Returns the object that a document is; `null` counts as an empty one.
fn document_root(value: &Value, what: &str, profile: Profile) -> Result<Object, PatchError> {
    match value {
        Value::Object(object) if profile.has(Improvement::KeepLargeIntegers) => Ok(object.clone()),
        Value::Object(object) => Ok(match value.with_float_integers() {
            Some(Value::Object(converted)) => converted,
            _ => object.clone(),
        }),
        Value::Null => Ok(Object::default()),
        found => {
            let what = what.into();
            Err(ErrorKind::WrongKind { what, expected: Kind::Object, found: found.clone() }.into())
        }
    }
}
