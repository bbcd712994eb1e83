//! Empty lists and maps that a client sends. They are not stored, and everything is compared without them. In Kubernetes they exist
//! until the object is stored: an error quotes them as `{}` or `[]`, where what is missing is `null`, and the kinds whose changes
//! are counted by an exact comparison count them.

use tenure_catalog::{
    ResourceHandler,
    object::{metadata, with_metadata},
};
use tenure_meta::Cause;
use tenure_schema::{Type, TypeRef};
use tenure_value::Value;

/// How an error quotes a value that is missing.
const MISSING: [&str; 2] = ["Invalid value: null: ", "Unsupported value: null: "];

/// Quotes what was sent as it was sent, in the causes that take it for missing.
pub(super) fn quote(causes: &mut [Cause], sent: &Value, ty: TypeRef<'_>) {
    for cause in
        causes.iter_mut().filter(|cause| MISSING.iter().any(|missing| cause.message.starts_with(missing)))
    {
        let Some((value, ty)) = at(sent, ty, &cause.field) else { continue };
        let quoted = match (value, ty.get()) {
            (Value::Object(fields), Type::Map(_)) if fields.is_empty() => "{}",
            (Value::Array(items), Type::List(_)) if items.is_empty() => "[]",
            _ => continue,
        };
        cause.message = cause.message.replacen("null", quoted, 1);
    }
}

/// Returns the value that a field path of an error leads to, such as `spec.ports[1].name`, and its type.
fn at<'v, 't>(object: &'v Value, ty: TypeRef<'t>, path: &str) -> Option<(&'v Value, TypeRef<'t>)> {
    path.split('.').try_fold((object, ty), |(value, ty), step| {
        let mut parts = step.split('[');
        let name = parts.next()?;
        parts.try_fold((value.get(name)?, ty.below(name)?), |(list, ty), index| {
            let index: usize = index.strip_suffix(']')?.parse().ok()?;
            Some((list.as_array()?.items().get(index)?, ty.item()?))
        })
    })
}

/// Returns an updated object with its generation counted, if what was sent has empty lists or maps in its content and the kind
/// counts those.
pub(super) fn counted(handler: &ResourceHandler, sent: &Value, live: &Value, object: Value) -> Value {
    let is_content = |name: &str| !["apiVersion", "kind", "metadata", "status"].contains(&name);
    let fields = sent.as_object().into_iter().flat_map(|fields| fields.iter());
    let ty = handler.type_ref();
    let mut content = fields.filter(|(name, _)| is_content(name));
    if !content
        .any(|(name, value)| ty.field(name).is_some_and(|field| has_empty(value, ty.slot(&field.slot))))
    {
        return object;
    }
    let before = live.at(["metadata", "generation"]).and_then(Value::as_i64).unwrap_or_default();
    with_metadata(&object, metadata(&object).with("generation", before + 1))
}

/// Whether a value has an empty list or map somewhere.
fn has_empty(value: &Value, ty: TypeRef<'_>) -> bool {
    match (ty.get(), value) {
        (Type::List(_), Value::Array(items)) => {
            let item = ty.item().unwrap_or_else(TypeRef::untyped);
            items.is_empty() || items.iter().any(|value| has_empty(value, item))
        }
        (Type::Map(_), Value::Object(fields)) if fields.is_empty() => true,
        (_, Value::Object(fields)) => {
            fields.iter().any(|(name, value)| ty.below(name).is_some_and(|below| has_empty(value, below)))
        }
        _ => false,
    }
}
