//! Decodes a document as an object of its type: wrong types are errors, unknown fields are dropped and
//! reported, `null` counts as absent, and quantities, times and bytes become canonical.

use super::{
    go_time,
    go_type::{GoField, Root},
    shape::{Absent, FieldShape, ScalarShape, Shape, ShapeId, Shapes, StructShape},
};
use crate::{
    ChangedField, FieldPath, Previous, Quantity, Rebuild, Timestamp, base64, map_items, quantity,
    time::Precision,
};
use tenure_schema::UnknownFields;
use tenure_value::{Object, Value};

/// How many unknown fields of a document are reported.
pub const MAX_STRICT_ERRORS: usize = 100;

/// A decoded document.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The decoded content; it shares the memory of the document if nothing differs.
    pub value: Value,
    /// Unknown fields, worded as in strict decoding and warnings: `unknown field "spec.nope"`.
    pub strict_errors: Vec<String>,
    /// Automatic corrections, regardless of field validation; always warnings, never errors.
    pub warnings: Vec<String>,
}

/// Why a document cannot be decoded as an object of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DecodeError {
    /// The invalid field.
    pub path: String,
    /// The message, worded as in Kubernetes.
    pub message: String,
}

/// How the quantities of a map are rounded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    Thousandths,
    None,
}

struct Decoder<'s> {
    shapes: &'s Shapes,
    root: Root<'s>,
    strict_errors: Vec<String>,
    /// The first value of a wrong type. Decoding goes on after it, since a value that its own type refuses is reported first.
    mismatch: Option<Box<DecodeError>>,
}

type Changed = Result<Option<Value>, Box<DecodeError>>;

/// Decodes a document as an object of a shape.
pub fn decode(
    shapes: &Shapes,
    shape: ShapeId,
    value: &Value,
    before: Previous<'_>,
) -> Result<Decoded, Box<DecodeError>> {
    decode_at(shapes, shape, value, before, "", &FieldPath::root())
}

/// Decodes a part of a document as a value of a shape; `owner` is the struct that declares it, `path` its
/// path.
pub fn decode_at(
    shapes: &Shapes,
    shape: ShapeId,
    value: &Value,
    before: Previous<'_>,
    owner: &str,
    path: &FieldPath<'_>,
) -> Result<Decoded, Box<DecodeError>> {
    let root = Root { shape, owner, path };
    let mut decoder = Decoder { shapes, root, strict_errors: Vec::new(), mismatch: None };
    let empty = Value::from(Object::default());
    let value = if value.is_null() { &empty } else { value };
    let changed = decoder.value(shape, value, path, Rounding::Thousandths, before)?;
    if let Some(mismatch) = decoder.mismatch {
        return Err(mismatch);
    }
    Ok(Decoded {
        value: changed.unwrap_or_else(|| value.clone()),
        strict_errors: decoder.strict_errors,
        warnings: Vec::new(),
    })
}

impl Decoder<'_> {
    fn value(
        &mut self,
        shape: ShapeId,
        value: &Value,
        path: &FieldPath<'_>,
        rounding: Rounding,
        before: Previous<'_>,
    ) -> Changed {
        if before.is_unchanged(value) {
            return Ok(None);
        }
        let shapes = self.shapes;
        match (shapes.get(shape), value) {
            (Shape::Any, _) => Ok(None),
            (Shape::Struct(structure), Value::Object(fields)) => self.fields(structure, fields, path, before),
            (Shape::Map(value_shape), Value::Object(entries)) => {
                let mut walk = Rebuild::new(entries.fields());
                while let Some((name, value)) = walk.next() {
                    let changed = match value {
                        Value::Null => zero_of(shapes, *value_shape),
                        value => self.value(
                            *value_shape,
                            value,
                            &path.field(name),
                            rounding,
                            before.field(walk.place(), name, value),
                        )?,
                    };
                    walk.replace_if(changed);
                }
                Ok(walk.finish().map(Value::from))
            }
            (Shape::List(item_shape), Value::Array(items)) => {
                let mut failure = None;
                let changed = map_items(items.items(), |at, item| match item {
                    _ if failure.is_some() => None,
                    Value::Null => zero_of(shapes, *item_shape),
                    item => {
                        let before = before.item(at);
                        self.value(*item_shape, item, &path.index(at), rounding, before).unwrap_or_else(
                            |error| {
                                failure = Some(error);
                                None
                            },
                        )
                    }
                });
                failure.map_or(Ok(changed), Err)
            }
            (Shape::Scalar(scalar), value) => self.scalar(*scalar, value, path, rounding),
            (Shape::Struct(_) | Shape::Map(_) | Shape::List(_), value) => Ok(self.mismatched(value, path)),
        }
    }

    /// Records a value of a wrong type.
    #[cold]
    fn mismatched(&mut self, value: &Value, path: &FieldPath<'_>) -> Option<Value> {
        if self.mismatch.is_none() {
            let field = GoField::at(self.shapes, self.root, path);
            self.mismatch = Some(wrong(path, field.mismatch(value, &field.type_word)));
        }
        None
    }

    /// Returns the error of a value whose type decodes itself, as a value of another type.
    #[cold]
    fn refused(&self, value: &Value, path: &FieldPath<'_>, expected: &str) -> Box<DecodeError> {
        wrong(path, GoField::at(self.shapes, self.root, path).mismatch(value, expected))
    }

    /// Traverses the fields of document and type together.
    fn fields(
        &mut self,
        shape: &StructShape,
        fields: &Object,
        path: &FieldPath<'_>,
        before: Previous<'_>,
    ) -> Changed {
        let mut walk = Rebuild::new(fields.fields());
        if let Some(changes) = before.changes(fields) {
            for ChangedField { place, name, value, before } in changes {
                if let Some(field) = shape.field(name) {
                    walk.keep_to(place);
                    self.field(field, value, &path.field(name), before, &mut walk)?;
                }
            }
            return Ok(walk.finish().map(Value::from));
        }
        let mut known = shape.steps();
        while let Some((name, value)) = walk.next() {
            let (passed, field) = known.to(name);
            self.missing(passed, &mut walk);
            match field {
                Some(field) => {
                    let before = before.field(walk.place(), name, value);
                    self.field(field, value, &path.field(name), before, &mut walk)?;
                }
                None if shape.unknown == UnknownFields::Preserved => walk.keep(),
                None => {
                    if self.strict_errors.len() < MAX_STRICT_ERRORS {
                        self.strict_errors.push(format!("unknown field \"{}\"", path.field(name)));
                    }
                    walk.skip();
                }
            }
        }
        self.missing(known.rest(), &mut walk);
        Ok(walk.finish().map(Value::from))
    }

    fn field(
        &mut self,
        field: &FieldShape,
        value: &Value,
        path: &FieldPath<'_>,
        before: Previous<'_>,
        walk: &mut Rebuild<'_>,
    ) -> Result<(), Box<DecodeError>> {
        match value {
            Value::Null if field.absent == Absent::Null => walk.keep(),
            Value::Null => {
                self.missing([field], walk);
                walk.skip();
            }
            value => {
                // Only lists of resources are rounded.
                let is_exact = field.exact || matches!(self.shapes.get(field.shape), Shape::Scalar(_));
                let rounding = if is_exact { Rounding::None } else { Rounding::Thousandths };
                walk.replace_if(self.value(field.shape, value, path, rounding, before)?);
            }
        }
        Ok(())
    }

    /// Creates those of the fields that are structs which always exist.
    fn missing<'s>(&self, fields: impl IntoIterator<Item = &'s FieldShape>, walk: &mut Rebuild<'_>) {
        for field in fields.into_iter().filter(|field| matches!(field.absent, Absent::Struct)) {
            walk.insert(&field.name, self.shapes.empty(field.shape).into());
        }
    }
}

/// Returns the replacement of `null` inside lists and maps.
fn zero_of(shapes: &Shapes, shape: ShapeId) -> Option<Value> {
    Some(match shapes.get(shape) {
        Shape::Struct(_) => shapes.empty(shape).into(),
        Shape::Scalar(ScalarShape::Boolean) => false.into(),
        Shape::Scalar(
            ScalarShape::Int32 | ScalarShape::Int64 | ScalarShape::Number | ScalarShape::IntOrString,
        ) => 0.into(),
        Shape::Scalar(ScalarShape::String | ScalarShape::Bytes) => "".into(),
        Shape::Scalar(ScalarShape::Quantity) => "0".into(),
        Shape::Scalar(ScalarShape::Time | ScalarShape::MicroTime)
        | Shape::Map(_)
        | Shape::List(_)
        | Shape::Any => {
            return None;
        }
    })
}

fn wrong(path: &FieldPath<'_>, message: impl Into<String>) -> Box<DecodeError> {
    Box::new(DecodeError { path: path.to_string(), message: message.into() })
}

impl Decoder<'_> {
    fn scalar(
        &mut self,
        shape: ScalarShape,
        value: &Value,
        path: &FieldPath<'_>,
        rounding: Rounding,
    ) -> Changed {
        match (shape, value) {
            (ScalarShape::Boolean, Value::Bool(_))
            | (ScalarShape::String, Value::String(_))
            | (ScalarShape::Int64, Value::Int(_))
            | (ScalarShape::Number, Value::Int(_) | Value::UInt(_)) => Ok(None),
            (ScalarShape::IntOrString, Value::String(_)) => Ok(None),
            (ScalarShape::Int32 | ScalarShape::IntOrString, Value::Int(number))
                if i32::try_from(*number).is_ok() =>
            {
                Ok(None)
            }
            (ScalarShape::Number, Value::Float(number)) => {
                let whole = number.get() as i64;
                Ok((whole as f64 == number.get()).then(|| Value::from(whole)))
            }
            (ScalarShape::Bytes, Value::String(text)) => match base64::decode(text) {
                // Bytes after the last whole one may be written in several ways, and lines may be broken.
                Ok(bytes) => {
                    let is_padded = text.ends_with('=') || text.contains(['\n', '\r']);
                    let canonical = is_padded.then(|| base64::encode(bytes));
                    Ok(canonical.filter(|canonical| canonical != text.as_str()).map(Value::from))
                }
                Err(at) => {
                    let message = format!("illegal base64 data at input byte {at}");
                    self.mismatch.get_or_insert_with(|| wrong(path, message));
                    Ok(None)
                }
            },
            (ScalarShape::Bytes, Value::Array(items)) => Ok(self.numbered_bytes(items, path)),
            (ScalarShape::Time, Value::String(text)) => instant(text, Precision::Seconds, path),
            (ScalarShape::MicroTime, Value::String(text)) => instant(text, Precision::Micros, path),
            (ScalarShape::Time | ScalarShape::MicroTime, _) => Err(self.refused(value, path, "string")),
            (ScalarShape::Quantity, Value::String(text)) => amount(text.trim(), text, path, rounding),
            (ScalarShape::Quantity, _) => amount(&value.to_string(), "", path, rounding),
            (ScalarShape::IntOrString, _) => Err(self.refused(value, path, "int32")),
            _ => Ok(self.mismatched(value, path)),
        }
    }

    /// Decodes bytes that are written as a list of numbers.
    fn numbered_bytes(&mut self, items: &[Value], path: &FieldPath<'_>) -> Option<Value> {
        let mut bytes = Vec::with_capacity(items.len());
        for item in items {
            match item.as_i64().map(u8::try_from) {
                Some(Ok(byte)) => bytes.push(byte),
                _ if item.is_null() => bytes.push(0),
                _ => {
                    let refused = self.refused(item, path, "uint8");
                    self.mismatch.get_or_insert(refused);
                }
            }
        }
        Some(base64::encode(bytes).into())
    }
}

fn instant(text: &str, precision: Precision, path: &FieldPath<'_>) -> Changed {
    let time =
        Timestamp::parse(text, precision).ok_or_else(|| wrong(path, go_time::error(text, precision)))?;
    let canonical = time.format(precision);
    Ok((canonical != text).then(|| canonical.into()))
}

fn amount(text: &str, written: &str, path: &FieldPath<'_>, rounding: Rounding) -> Changed {
    let amount = Quantity::parse(text).ok_or_else(|| wrong(path, quantity::error(text)))?;
    let amount = match rounding {
        Rounding::Thousandths => amount.rounded_to_thousandths(),
        Rounding::None => amount,
    };
    let canonical = amount.canonical();
    Ok((canonical != written).then(|| canonical.into()))
}
