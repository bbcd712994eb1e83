//! The types of the built-in kinds of Kubernetes, as data inside the crate. The bytes are written by the
//! pack command (`cargo run -p tenure-pack`), whose tests hold that they are what it writes and that all
//! of it can be read; they are not checked again at run time.

use crate::{Schema, SchemaBuilder, Type, TypeRef, pack::Pack};
use std::{borrow::Cow, sync::OnceLock};
use tenure_value::{Object, ObjectBuilder, Value};

/// The version of Kubernetes that the built-in types are of.
pub const KUBERNETES_VERSION: &str = "1.36";

/// The pack itself.
pub const PACK: &[u8] = include_bytes!("../data/kubernetes-1.36.pack");

pub(crate) fn schema() -> &'static Schema {
    static BUILTIN: OnceLock<Schema> = OnceLock::new();
    BUILTIN.get_or_init(load)
}

/// Loads the built-in types anew, none of them decoded yet; [`Schema::builtin`] does it once.
pub fn load() -> Schema {
    Pack::open(Cow::Borrowed(PACK)).map_or_else(|_| SchemaBuilder::default().finish(), Schema::over)
}

/// Returns the object of a built-in kind in which nothing is set, as Kubernetes writes it: with the fields that its Go
/// types never leave out.
///
/// ```
/// use tenure_schema::builtin;
///
/// let service = builtin::empty_object("v1", "Service").unwrap();
/// assert_eq!(
///     service.to_string(),
///     r#"{"apiVersion":"v1","kind":"Service","metadata":{},"spec":{},"status":{"loadBalancer":{}}}"#
/// );
/// assert!(builtin::empty_object("v1", "Widget").is_none());
/// ```
pub fn empty_object(api_version: &str, kind: &str) -> Option<Value> {
    let fields = zero(Schema::builtin().kind(api_version, kind)?);
    Some(Value::Object(fields.with("apiVersion", api_version).with("kind", kind)))
}

/// Returns the fields of a struct that are written when nothing is set: those with a default, and those that are
/// required without one, as `null`.
fn zero(of: TypeRef<'_>) -> Object {
    let Type::Struct(fields) = of.get() else { return Object::default() };
    let mut object = ObjectBuilder::with_capacity(4);
    for field in &fields.fields {
        match &field.slot.default {
            Some(Value::Object(_)) => object.push(field.name.clone(), zero(of.slot(&field.slot)).into()),
            Some(value) => object.push(field.name.clone(), value.clone()),
            None if field.required => object.push(field.name.clone(), Value::Null),
            None => {}
        }
    }
    object.finish()
}
