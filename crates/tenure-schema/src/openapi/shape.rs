//! What a single node says of itself, before anything below it is looked at: its shape, what it refers
//! to, whether it may be null. Documents say the same thing in several ways; they meet here.

use super::{
    marks::{self, ListType, ShapeMarks},
    place::Place,
};
use crate::{Scalar, ScalarKind, SchemaError};
use tenure_value::{Array, Object, Text, Value};

/// What a node describes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Object,
    Array,
    Scalar(ScalarKind),
    Unknown,
}

/// The definition that OpenAPI v2 writes as a mere string, though numbers are quantities too.
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/// Reads the shape of a node that refers to nothing.
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

/// Reads a node that says what it holds by other words than `type`.
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
        // An absent type comes out of Kubernetes' own types so.
        Some(Value::String(word)) if word.is_empty() => Ok(None),
        Some(Value::String(_) | Value::Array(_)) => Ok(type_words(node).0),
        Some(other) => Err(wrong_keyword(place, "type", other, "a string")),
    }
}

/// Returns the one type a node names, if it names one, and whether it names `"null"` too.
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

/// Reads whether `null` is a value of a node.
pub(super) fn is_nullable(node: &Object, place: &Place) -> Result<bool, SchemaError> {
    match node.get("nullable") {
        None => Ok(type_words(node).1),
        Some(Value::Bool(flag)) => Ok(*flag || type_words(node).1),
        Some(other) => Err(wrong_keyword(place, "nullable", other, "a boolean")),
    }
}

/// Returns what a node refers to, if it describes nothing itself.
pub(super) fn reference<'d>(node: &'d Object, place: &Place) -> Result<Option<&'d str>, SchemaError> {
    let of = |node: &'d Object| match node.get("$ref") {
        None => Ok(None),
        Some(Value::String(reference)) => Ok(Some(reference.as_str())),
        Some(other) => Err(wrong_keyword(place, "$ref", other, "a string")),
    };
    // A reference with something beside it has to be wrapped in version 3.
    match (of(node)?, node.get("allOf").and_then(Value::as_array).map(Array::items)) {
        (Some(reference), _) => Ok(Some(reference)),
        (None, Some([Value::Object(only)])) => of(only),
        _ => Ok(None),
    }
}

/// Returns the names of the fields that must be there.
pub(super) fn required<'d>(node: &'d Object, place: &Place) -> Result<&'d [Value], SchemaError> {
    match node.get("required") {
        None => Ok(&[]),
        Some(Value::Array(names)) => Ok(names),
        Some(other) => Err(wrong_keyword(place, "required", other, "a list of names")),
    }
}

/// Reads a value without parts.
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

/// Refuses markers on types that they say nothing about.
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
    // Bytes are a list of numbers to the types of Kubernetes and a string to OpenAPI, which then carries
    // the marker that says nothing new.
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

/// Takes a node as the object that every schema is.
pub(super) fn object<'d>(node: &'d Value, place: &Place) -> Result<&'d Object, SchemaError> {
    node.as_object().ok_or_else(|| wrong_keyword(place, "the schema", node, "an object"))
}

/// Makes the error for a keyword of the wrong shape.
pub(super) fn wrong_keyword(
    place: &Place,
    keyword: &'static str,
    found: &Value,
    expected: &'static str,
) -> SchemaError {
    SchemaError::Keyword { at: place.to_string(), keyword, found: found.kind(), expected }
}
