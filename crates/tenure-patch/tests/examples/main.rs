//! The examples of the design documents of strategic merge patch, each as a test named after its section.
//! Kinds are those that a document names; if it names none, a small type matches its example.

mod merge_keys;
mod order;
mod retain_keys;
mod strategic_merge_patch;

use tenure_patch::strategic::{Improvement, Profile};
use tenure_patch::{
    PatchError,
    strategic::{self, ApplyOptions, DiffOptions, Keys, LiveOnly},
};
use tenure_schema::{Schema, TypeId, TypeRef, openapi};
use tenure_value::{Limits, Value, yaml};

/// Every improvement, also the one that servers leave off.
pub const IMPROVED: Profile = Profile::tenure().with(Improvement::RejectUnknownPatchValues);

/// Reads an example.
fn doc(text: &str) -> Value {
    yaml::parse(text.as_bytes(), &Limits::default()).unwrap()
}

fn kind(version: &str, kind: &str) -> TypeRef<'static> {
    Schema::builtin().kind(version, kind).unwrap()
}

/// A type for one example.
struct Shape(Schema, TypeId);

impl Shape {
    fn new(schema: &str) -> Shape {
        let (schema, id) = openapi::compile_one(&doc(schema)).unwrap();
        Shape(schema, id)
    }

    fn ty(&self) -> TypeRef<'_> {
        self.0.at(self.1)
    }
}

fn try_apply(ty: TypeRef<'_>, live: &str, patch: &str) -> Result<Value, PatchError> {
    strategic::apply(&doc(live), &doc(patch), ty, &ApplyOptions::default().profile(IMPROVED))
}

/// Checks the result of a patch.
fn results_in(ty: TypeRef<'_>, live: &str, patch: &str, expected: &str) {
    assert_eq!(try_apply(ty, live, patch).unwrap(), doc(expected));
}

/// Checks the result of a patch, with live-only items in the positions of the order document.
fn results_in_documented_order(ty: TypeRef<'_>, live: &str, patch: &str, expected: &str) {
    let options = ApplyOptions::default().profile(IMPROVED).live_only(LiveOnly::InFront);
    assert_eq!(strategic::apply(&doc(live), &doc(patch), ty, &options).unwrap(), doc(expected));
}

/// Checks that a patch is refused with a message.
fn refused(ty: TypeRef<'_>, live: &str, patch: &str, why: &str) {
    let error = try_apply(ty, live, patch).unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
}

fn two_way(ty: TypeRef<'_>, original: &str, modified: &str, keys: Keys) -> Value {
    let options = DiffOptions::default().profile(IMPROVED).keys(keys);
    strategic::two_way(&doc(original), &doc(modified), ty, &options).unwrap()
}
