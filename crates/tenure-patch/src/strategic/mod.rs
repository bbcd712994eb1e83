//! Strategic merge patch: a patch that looks like the document, with directives where looks do not
//! suffice. Everything here walks live document, patch and type in step and shares what it does not touch.

mod clean;
mod difference;
mod directive;
mod entries;
mod fields;
mod index;
mod order;
pub(crate) mod plan;
mod sent_keys;
mod set;
pub mod text;
mod trace;

pub use clean::UnknownWords;
pub use difference::{DifferenceKeys, DifferenceOptions, LiveChanges, Precondition, three_way, two_way};
pub(crate) use directive::{Directive, PATCH_MERGE_KEY, SET_ELEMENT_ORDER, directive};
pub use order::LiveOnly;
pub use plan::UnmarkedLists;
pub use trace::{Decision, KeySource, OrderSource, Rule, Trace};

use crate::{Fault, PatchError};
use fields::{Merger, Outcome};
use tenure_schema::{Type, TypeRef};
use tenure_value::{Kind, Object, Value};
use trace::{Recorder, Silent};

/// How a patch is applied, where there is a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Where items go that only the live list has.
    pub live_only: LiveOnly,
    /// What is done with keyed lists and sets that have no patch strategy.
    pub unmarked_lists: UnmarkedLists,
    /// What is done with a word in `$patch` that nobody knows, where no map is live.
    pub unknown_words: UnknownWords,
}

/// Applies a patch to a document of a type.
///
/// Without a type ([`TypeRef::untyped`]) the patch is a JSON merge patch: nothing says which lists merge,
/// and no field is a directive.
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
pub fn apply(live: &Value, patch: &Value, ty: TypeRef<'_>, options: &Options) -> Result<Value, PatchError> {
    run(live, patch, ty, options, &mut Silent)
}

/// Applies a patch as [`apply`] does, and tells which rule decided about every path that it touched.
pub fn apply_explained(
    live: &Value,
    patch: &Value,
    ty: TypeRef<'_>,
    options: &Options,
) -> Result<(Value, Trace), PatchError> {
    let mut trace = Trace::default();
    let result = run(live, patch, ty, options, &mut trace)?;
    Ok((result, trace))
}

fn run(
    live: &Value,
    patch: &Value,
    ty: TypeRef<'_>,
    options: &Options,
    recorder: &mut impl Recorder,
) -> Result<Value, PatchError> {
    let live_object = root(live, "the live document")?;
    let patch_object = root(patch, "the patch")?;
    if matches!(ty.get(), Type::Untyped) {
        recorder.note(|| Rule::NoSchema);
        return Ok(crate::merge::apply(&live_object.into(), &patch_object.into()));
    }
    let mut merger = Merger::new(options, recorder);
    Ok(match merger.object(&live_object, &patch_object, ty)? {
        Outcome::Same => live_object.into(),
        Outcome::New(value) => value,
        Outcome::Gone => Object::default().into(),
    })
}

/// Returns the object that a document is; `null` counts as an empty one.
pub(crate) fn root(value: &Value, what: &str) -> Result<Object, PatchError> {
    match value {
        Value::Object(object) => Ok(object.clone()),
        Value::Null => Ok(Object::default()),
        found => {
            Err(Fault::WrongKind { what: what.into(), expected: Kind::Object, found: found.clone() }.into())
        }
    }
}
