//! How Go's JSON decoder names a field in its errors: the struct that declares it, the names that lead to it (those of
//! embedded structs too, but no indices and no keys of maps), and its type. Computed only for an error.

use super::shape::{ScalarShape, Shape, ShapeId, Shapes};
use crate::FieldPath;
use tenure_value::Value;

/// A field in the words of Go.
pub(super) struct GoField {
    /// The struct that declares the field; empty for a document itself.
    owner: String,
    /// The names that lead to the field.
    names: Vec<String>,
    /// The type, such as `[]v1.Container`.
    pub type_word: String,
}

/// Where a decoder starts: the shape, and what encloses it.
#[derive(Clone, Copy)]
pub(super) struct Root<'r> {
    pub shape: ShapeId,
    /// The struct that declares the value; empty for a document itself.
    pub owner: &'r str,
    pub path: &'r FieldPath<'r>,
}

impl GoField {
    /// Returns the field at a path.
    pub(super) fn at(shapes: &Shapes, root: Root<'_>, path: &FieldPath<'_>) -> GoField {
        let outer = root.path.names();
        let mut field = GoField {
            owner: root.owner.into(),
            names: outer.iter().flatten().map(|name| String::from(*name)).collect(),
            type_word: type_word(shapes, root.shape),
        };
        let mut shape = root.shape;
        for step in path.names().into_iter().skip(outer.len()) {
            match (shapes.get(shape), step) {
                (Shape::Struct(structure), Some(name)) => {
                    let Some(inner) = structure.field(name) else { break };
                    let row = shapes.go_types(shape);
                    // A type that one field changes has no name of its own, but that field's type has.
                    field.owner = match structure.name.is_empty() {
                        true => field.type_word.rsplit('.').next().unwrap_or_default().to_string(),
                        false => structure.name.to_string(),
                    };
                    field.names.extend(row.and_then(|row| embedding(row, name)).map(String::from));
                    field.names.push(name.into());
                    let named = row.and_then(|row| row.at(["types", name])).and_then(Value::as_str);
                    field.type_word = named.map_or_else(|| type_word(shapes, inner.shape), String::from);
                    shape = inner.shape;
                }
                (Shape::List(inner) | Shape::Map(inner), _) => {
                    field.type_word =
                        element(&field.type_word).map_or_else(|| type_word(shapes, *inner), String::from);
                    shape = *inner;
                }
                _ => break,
            }
        }
        field
    }

    /// Returns the error of a value of another type.
    pub(super) fn mismatch(&self, value: &Value, expected: &str) -> String {
        let kind = match value {
            Value::Null => "null".into(),
            Value::Bool(_) => "bool".into(),
            Value::String(_) => "string".into(),
            Value::Array(_) => "array".into(),
            Value::Object(_) => "object".into(),
            // Only a number that almost fits is quoted.
            number if matches!(expected, "int32" | "int64" | "uint8") => format!("number {number}"),
            _ => "number".into(),
        };
        let into = match self.names.is_empty() {
            true => "Go value".into(),
            false => format!("Go struct field {}.{}", self.owner, self.names.join(".")),
        };
        format!("json: cannot unmarshal {kind} into {into} of type {expected}")
    }
}

/// Returns the embedded structs that a field is in.
fn embedding<'v>(row: &'v Value, field: &str) -> Option<&'v str> {
    let embedded = row.get("inlined")?.as_object()?;
    let has = |fields: &Value| {
        fields.as_array().is_some_and(|fields| fields.iter().any(|name| name.as_str() == Some(field)))
    };
    embedded.iter().find(|(_, fields)| has(fields)).map(|(name, _)| name.as_str())
}

/// Returns the type of the elements of a list or a map, where its name says it.
fn element(name: &str) -> Option<&str> {
    match name.strip_prefix("map[") {
        Some(rest) => rest.split_once(']').map(|(_, element)| element),
        None => name.strip_prefix("[]"),
    }
}

/// Returns the name of a type whose fields do not name it otherwise.
fn type_word(shapes: &Shapes, shape: ShapeId) -> String {
    match shapes.get(shape) {
        Shape::Any => "interface {}".into(),
        Shape::Struct(structure) => {
            let package = shapes.name(shape).rsplit('.').nth(1).unwrap_or("v1");
            format!("{package}.{}", structure.name)
        }
        Shape::Map(value) => format!("map[string]{}", type_word(shapes, *value)),
        Shape::List(item) => format!("[]{}", type_word(shapes, *item)),
        Shape::Scalar(scalar) => scalar_word(*scalar).into(),
    }
}

fn scalar_word(shape: ScalarShape) -> &'static str {
    match shape {
        ScalarShape::Boolean => "bool",
        ScalarShape::Int32 => "int32",
        ScalarShape::Int64 => "int64",
        ScalarShape::Number => "float64",
        ScalarShape::String => "string",
        ScalarShape::Bytes => "[]uint8",
        ScalarShape::Time => "v1.Time",
        ScalarShape::MicroTime => "v1.MicroTime",
        ScalarShape::IntOrString => "intstr.IntOrString",
        ScalarShape::Quantity => "resource.Quantity",
    }
}
