//! The examples of the design documents of strategic merge patch, each as a test named after its section.
//! Kinds are those that a document names; where it names none, a small type has the shape of its example.

mod merge_keys;
mod order;
mod retain_keys;
mod strategic_merge_patch;

use tenure_patch::{
    PatchError,
    strategic::{self, ApplyOptions, DiffOptions, Keys, LiveOnly},
};
use tenure_schema::{Schema, TypeId, TypeRef, openapi};
use tenure_value::{Limits, Value, yaml};

/// Reads an example.
fn doc(text: &str) -> Value {
    yaml::parse(text.as_bytes(), &Limits::default()).unwrap()
}

fn kind(version: &str, kind: &str) -> TypeRef<'static> {
    Schema::builtin().kind(version, kind).unwrap()
}

/// A type of an example's own.
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
    strategic::apply(&doc(live), &doc(patch), ty, &ApplyOptions::default())
}

/// Checks what a patch makes of a live document.
fn gives(ty: TypeRef<'_>, live: &str, patch: &str, expected: &str) {
    assert_eq!(try_apply(ty, live, patch).unwrap(), doc(expected));
}

/// Checks what a patch makes of a live document, with live-only items where the order document puts them.
fn gives_as_documented(ty: TypeRef<'_>, live: &str, patch: &str, expected: &str) {
    let options = ApplyOptions::default().live_only(LiveOnly::InFront);
    assert_eq!(strategic::apply(&doc(live), &doc(patch), ty, &options).unwrap(), doc(expected));
}

/// Checks that a patch is refused, in words that say why.
fn refused(ty: TypeRef<'_>, live: &str, patch: &str, why: &str) {
    let error = try_apply(ty, live, patch).unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
}

fn two_way(ty: TypeRef<'_>, original: &str, modified: &str, keys: Keys) -> Value {
    let options = DiffOptions::default().keys(keys);
    strategic::two_way(&doc(original), &doc(modified), ty, &options).unwrap()
}
