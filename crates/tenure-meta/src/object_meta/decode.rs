//! Decodes the metadata of objects whose kind has no built-in type, such as custom resources.

use super::one_reference_per_owner;
use crate::{
    FieldPath, Previous,
    codec::{DecodeError, EmptyLists, Encoder, NoRules, ShapeId, Shapes, Walk, decode_at},
};
use std::sync::LazyLock;
use tenure_schema::Schema;
use tenure_value::Value;

/// The definition of the metadata, and the encoding of its values.
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const ENCODING: &str = r#"{
  "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"keepZero": ["deletionGracePeriodSeconds"]},
  "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference": {"keepZero": ["blockOwnerDeletion", "controller"]}
}"#;
const GO_TYPES: &str = r#"{
  "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"types": {"uid": "types.UID"}},
  "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference": {"types": {"uid": "types.UID"}}
}"#;

/// Decoded metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Canonical {
    /// The encoded metadata.
    pub value: Option<Value>,
    /// Unknown fields: `unknown field "metadata.nope"`.
    pub strict_errors: Vec<String>,
    /// What was changed.
    pub warnings: Vec<String>,
}

/// Whether a part of metadata is empty or `null`, or has a `null` in it: only then is it not as [`canonical`] leaves it, once it was
/// decoded.
pub fn has_emptied_part(metadata: &Value) -> bool {
    metadata.as_object().is_some_and(|parts| parts.iter().any(|(_, part)| is_emptied(part)))
}

fn is_emptied(part: &Value) -> bool {
    match part {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty() || fields.iter().any(|(_, value)| value.is_null()),
        Value::Array(items) => items.is_empty() || items.iter().any(is_emptied),
        other => other.as_str().is_some_and(str::is_empty),
    }
}

/// Decodes metadata: wrong types are errors, unknown fields are dropped and reported, the rest becomes
/// canonical.
pub fn canonical(metadata: Option<&Value>) -> Result<Canonical, Box<DecodeError>> {
    static SHAPES: LazyLock<(Shapes, Option<ShapeId>)> = LazyLock::new(|| {
        static FACTS: LazyLock<Value> = LazyLock::new(|| ENCODING.parse().unwrap_or_default());
        static NAMES: LazyLock<Value> = LazyLock::new(|| GO_TYPES.parse().unwrap_or_default());
        let schema = Schema::builtin();
        let shapes = Shapes::new(schema, &FACTS, Box::new(|| &NAMES));
        let shape = schema.named(OBJECT_META).map(|ty| shapes.number(ty.id()));
        (shapes, shape)
    });
    let Some(metadata) = metadata.filter(|metadata| !metadata.is_null()) else {
        return Ok(Canonical::default());
    };
    let (shapes, Some(shape)) = &*SHAPES else {
        return Ok(Canonical { value: Some(metadata.clone()), ..Canonical::default() });
    };
    let path = FieldPath::root();
    let path = path.field("metadata");
    let decoded = decode_at(shapes, *shape, metadata, Previous::UNKNOWN, "PartialObjectMetadata", &path)?;
    let (object, warnings) = one_reference_per_owner(Value::object([("metadata", decoded.value)]));
    let value = object.get("metadata").cloned().unwrap_or_default();
    let rules = &mut NoRules;
    let mut encoder = Encoder { shapes, walk: Walk::Encode, empty_lists: EmptyLists::AsGiven, rules };
    let value = encoder.value(*shape, &value, Previous::UNKNOWN).unwrap_or(value);
    Ok(Canonical { value: Some(value), strict_errors: decoded.strict_errors, warnings })
}
