//! The shape of a single node without its children: its kind, its reference, whether it is nullable. OpenAPI
//! has several notations for the same thing; they are unified here.

use super::{
    marks::{self, ListType, ShapeMarks},
    place::Place,
};
use crate::{Scalar, ScalarKind, SchemaError};
use tenure_value::{Array, Object, Text, Value};

/// The shape of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Object,
    Array,
    Scalar(ScalarKind),
    Unknown,
}

/// The definition that OpenAPI v2 declares as a string, although quantities may be numbers too.
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/// Returns the shape of a node that is not a reference.
pub(super) fn shape(node: &Object, place: &Place) -> Result<Shape, SchemaError> {
    if marks::flag(node, marks::INT_OR_STRING, place)?
        || node.get("format").and_then(Value::as_str) == Some("int-or-string")
    {
        return Ok(Shape::Scalar(ScalarKind::IntOrString));
    }
    if matches!(place, Place::Type(QUANTITY)) && !node.contains("properties") {
        return Ok(Shape::Scalar(ScalarKind::Quantity));
    }
    Ok(match type_word(node, place)? {
        Some("object") => Shape::Object,
        Some("array") => Shape::Array,
        Some("string") => Shape::Scalar(ScalarKind::String),
        Some("integer") => Shape::Scalar(ScalarKind::Integer),
        Some("number") => Shape::Scalar(ScalarKind::Number),
        Some("boolean") => Shape::Scalar(ScalarKind::Boolean),
        Some(other) => {
            return Err(SchemaError::UnknownType { at: place.to_string(), name: other.into() });
        }
        None => shape_without_type(node),
    })
}

/// Returns the shape of a node without `type`.
fn shape_without_type(node: &Object) -> Shape {
    if node.contains("properties") || node.contains("additionalProperties") {
        return Shape::Object;
    }
    if node.contains("items") {
        return Shape::Array;
    }
    let choices = ["oneOf", "anyOf"].into_iter().find_map(|keyword| node.get(keyword)?.as_array());
    let mut words: Vec<&str> = choices
        .map(|choices| choices.iter().filter_map(|choice| type_words(choice.as_object()?).0).collect())
        .unwrap_or_default();
    words.sort_unstable();
    match words.as_slice() {
        ["integer", "string"] => Shape::Scalar(ScalarKind::IntOrString),
        ["number", "string"] => Shape::Scalar(ScalarKind::Quantity),
        _ => Shape::Unknown,
    }
}

/// Returns the `type` of a node; a list of a type and `"null"` counts as that type.
fn type_word<'d>(node: &'d Object, place: &Place) -> Result<Option<&'d str>, SchemaError> {
    match node.get("type") {
        None => Ok(None),
        // The Go types of Kubernetes serialize a missing type as an empty string.
        Some(Value::String(word)) if word.is_empty() => Ok(None),
        Some(Value::String(_) | Value::Array(_)) => Ok(type_words(node).0),
        Some(other) => Err(wrong_keyword(place, "type", other, "a string")),
    }
}

/// Returns the type of a node if it has exactly one, and whether it also has `"null"`.
fn type_words(node: &Object) -> (Option<&str>, bool) {
    match node.get("type") {
        Some(Value::String(word)) => (Some(word), false),
        Some(Value::Array(words)) => {
            let mut others = words.iter().filter_map(Value::as_str).filter(|word| *word != "null");
            let nullable = words.iter().any(|word| word.as_str() == Some("null"));
            match (others.next(), others.next()) {
                (Some(word), None) => (Some(word), nullable),
                _ => (None, nullable),
            }
        }
        _ => (None, false),
    }
}

/// Whether a node is nullable.
pub(super) fn is_nullable(node: &Object, place: &Place) -> Result<bool, SchemaError> {
    match node.get("nullable") {
        None => Ok(type_words(node).1),
        Some(Value::Bool(flag)) => Ok(*flag || type_words(node).1),
        Some(other) => Err(wrong_keyword(place, "nullable", other, "a boolean")),
    }
}

/// Returns the reference of a node, if it is one.
pub(super) fn reference<'d>(node: &'d Object, place: &Place) -> Result<Option<&'d str>, SchemaError> {
    let reference_of = |node: &'d Object| match node.get("$ref") {
        None => Ok(None),
        Some(Value::String(reference)) => Ok(Some(reference.as_str())),
        Some(other) => Err(wrong_keyword(place, "$ref", other, "a string")),
    };
    // In version 3 a reference with siblings must be wrapped.
    match (reference_of(node)?, node.get("allOf").and_then(Value::as_array).map(Array::items)) {
        (Some(reference), _) => Ok(Some(reference)),
        (None, Some([Value::Object(only)])) => reference_of(only),
        _ => Ok(None),
    }
}

/// Returns the names of the required fields.
pub(super) fn required<'d>(node: &'d Object, place: &Place) -> Result<&'d [Value], SchemaError> {
    match node.get("required") {
        None => Ok(&[]),
        Some(Value::Array(names)) => Ok(names),
        Some(other) => Err(wrong_keyword(place, "required", other, "a list of names")),
    }
}

/// Parses a scalar.
pub(super) fn scalar(kind: ScalarKind, node: &Object, place: &Place) -> Result<Scalar, SchemaError> {
    let format = match node.get("format") {
        None => Text::default(),
        Some(Value::String(format)) => format.clone(),
        Some(other) => return Err(wrong_keyword(place, "format", other, "a string")),
    };
    let values = match node.get("enum") {
        None => Box::default(),
        Some(Value::Array(values)) => values.items().into(),
        Some(other) => return Err(wrong_keyword(place, "enum", other, "a list of values")),
    };
    Ok(Scalar { kind, format, values })
}

/// Rejects markers on types that they do not apply to.
pub(super) fn check_placement(
    shape: Shape,
    marks: &ShapeMarks,
    node: &Object,
    place: &Place,
) -> Result<(), SchemaError> {
    let misplaced = |name: &'static str, belongs: &str| {
        let found = node.get(name).cloned().unwrap_or_default();
        Err(marks::wrong_value(name, place, &found, &format!("it belongs on {belongs}")))
    };
    // Bytes are a list in Go and a string in OpenAPI, which still has the marker without effect.
    let bytes = matches!(shape, Shape::Scalar(_)) && marks.list_type == Some(ListType::Atomic);
    if shape != Shape::Array && marks.list_type.is_some() && !bytes {
        return misplaced(marks::LIST_TYPE, "a list");
    }
    if shape != Shape::Array && marks.list_map_keys.is_some() {
        return misplaced(marks::LIST_MAP_KEYS, "a list");
    }
    if shape != Shape::Object && marks.relation.is_some() {
        return misplaced(marks::MAP_TYPE, "an object");
    }
    Ok(())
}

/// Returns a node as an object, which every schema must be.
pub(super) fn object<'d>(node: &'d Value, place: &Place) -> Result<&'d Object, SchemaError> {
    node.as_object().ok_or_else(|| wrong_keyword(place, "the schema", node, "an object"))
}

/// Returns the error for a keyword of the wrong type.
pub(super) fn wrong_keyword(
    place: &Place,
    keyword: &'static str,
    found: &Value,
    expected: &'static str,
) -> SchemaError {
    SchemaError::Keyword { at: place.to_string(), keyword, found: found.kind(), expected }
}
