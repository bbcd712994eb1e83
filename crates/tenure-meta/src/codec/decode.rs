//! Decodes a document as an object of its type: wrong types are errors, unknown fields are dropped and
//! reported, `null` counts as absent, and quantities, times and bytes become canonical.

use super::shape::{Absent, FieldShape, ScalarShape, Shape, ShapeId, Shapes, StructShape};
use crate::{
    Change, FieldPath, Previous, Quantity, Rebuild, Timestamp, base64, map_items, quantity, time::Precision,
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
    strict_errors: Vec<String>,
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
    let mut decoder = Decoder { shapes, strict_errors: Vec::new() };
    let empty = Value::from(Object::default());
    let value = if value.is_null() { &empty } else { value };
    let changed =
        decoder.value(shape, value, path, Place { owner, rounding: Rounding::Thousandths }, before)?;
    Ok(Decoded {
        value: changed.unwrap_or_else(|| value.clone()),
        strict_errors: decoder.strict_errors,
        warnings: Vec::new(),
    })
}

/// The context of a value, for messages and rounding.
#[derive(Clone, Copy)]
struct Place<'p> {
    /// The struct that declares the field.
    owner: &'p str,
    rounding: Rounding,
}

impl Decoder<'_> {
    fn value(
        &mut self,
        shape: ShapeId,
        value: &Value,
        path: &FieldPath<'_>,
        place: Place<'_>,
        before: Previous<'_>,
    ) -> Changed {
        if before.is_unchanged(value) {
            return Ok(None);
        }
        let shapes = self.shapes;
        match (shapes.get(shape), value) {
            (Shape::Any, _) => Ok(None),
            (Shape::Struct(of), Value::Object(fields)) => self.fields(of, fields, path, before),
            (Shape::Map(of), Value::Object(entries)) => {
                let mut walk = Rebuild::new(entries.fields());
                while let Some((name, value)) = walk.next() {
                    let changed = match value {
                        Value::Null => zero_of(shapes, *of),
                        value => self.value(
                            *of,
                            value,
                            &path.field(name),
                            place,
                            before.field(walk.place(), name, value),
                        )?,
                    };
                    walk.replace_if(changed);
                }
                Ok(walk.finish().map(Value::from))
            }
            (Shape::List(of), Value::Array(items)) => {
                let mut failure = None;
                let changed = map_items(items.items(), |at, item| match item {
                    _ if failure.is_some() => None,
                    Value::Null => zero_of(shapes, *of),
                    item => {
                        let before = before.item(at);
                        self.value(*of, item, &path.index(at), place, before).unwrap_or_else(|error| {
                            failure = Some(error);
                            None
                        })
                    }
                });
                failure.map_or(Ok(changed), Err)
            }
            (Shape::Scalar(of), value) => scalar(*of, value, path, place),
            (Shape::Struct(of), value) => Err(mismatch(value, path, place, &format!("v1.{}", of.name))),
            (Shape::Map(of), value) => {
                Err(mismatch(value, path, place, &format!("map[string]{}", word(shapes, *of))))
            }
            (Shape::List(of), value) => {
                Err(mismatch(value, path, place, &format!("[]{}", word(shapes, *of))))
            }
        }
    }

    /// Traverses the fields of document and type together.
    fn fields(
        &mut self,
        of: &StructShape,
        fields: &Object,
        path: &FieldPath<'_>,
        before: Previous<'_>,
    ) -> Changed {
        let mut walk = Rebuild::new(fields.fields());
        if let Some(changes) = before.changes(fields) {
            for Change { place, name, value, before } in changes {
                if let Some(field) = of.field(name) {
                    walk.keep_to(place);
                    self.field((of, field), value, &path.field(name), before, &mut walk)?;
                }
            }
            return Ok(walk.finish().map(Value::from));
        }
        let mut known = of.steps();
        while let Some((name, value)) = walk.next() {
            let (passed, field) = known.to(name);
            self.missing(passed, &mut walk);
            match field {
                Some(field) => {
                    let before = before.field(walk.place(), name, value);
                    self.field((of, field), value, &path.field(name), before, &mut walk)?;
                }
                None if of.unknown == UnknownFields::Preserved => walk.keep(),
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
        (of, field): (&StructShape, &FieldShape),
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
                let rounding = if field.exact { Rounding::None } else { Rounding::Thousandths };
                let place = Place { owner: &of.name, rounding };
                walk.replace_if(self.value(field.of, value, path, place, before)?);
            }
        }
        Ok(())
    }

    /// Creates those of the fields that are structs which always exist.
    fn missing<'s>(&self, fields: impl IntoIterator<Item = &'s FieldShape>, walk: &mut Rebuild<'_>) {
        for field in fields.into_iter().filter(|field| matches!(field.absent, Absent::Struct)) {
            walk.insert(&field.name, self.shapes.empty(field.of).into());
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

/// Returns the name of a type in messages.
fn word(shapes: &Shapes, shape: ShapeId) -> String {
    match shapes.get(shape) {
        Shape::Any => "interface {}".into(),
        Shape::Struct(of) => format!("v1.{}", of.name),
        Shape::Map(of) => format!("map[string]{}", word(shapes, *of)),
        Shape::List(of) => format!("[]{}", word(shapes, *of)),
        Shape::Scalar(of) => scalar_word(*of).into(),
    }
}

fn scalar_word(of: ScalarShape) -> &'static str {
    match of {
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

/// Describes a value in the terms of JSON; a number that does not fit is quoted.
fn kind_word(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "bool".into(),
        Value::String(_) => "string".into(),
        Value::Array(_) => "array".into(),
        Value::Object(_) => "object".into(),
        number => format!("number {number}"),
    }
}

fn mismatch(value: &Value, path: &FieldPath<'_>, place: Place<'_>, expected: &str) -> Box<DecodeError> {
    let kind = kind_word(value);
    // Only a number that almost fits is quoted.
    let kind = match expected {
        "int32" | "int64" => kind.as_str(),
        _ if kind.starts_with("number") => "number",
        _ => kind.as_str(),
    };
    let into = match path.to_string() {
        root if root.is_empty() => "Go value".into(),
        path => format!("Go struct field {}.{path}", place.owner),
    };
    wrong(path, format!("json: cannot unmarshal {kind} into {into} of type {expected}"))
}

fn wrong(path: &FieldPath<'_>, message: impl Into<String>) -> Box<DecodeError> {
    Box::new(DecodeError { path: path.to_string(), message: message.into() })
}

fn scalar(of: ScalarShape, value: &Value, path: &FieldPath<'_>, place: Place<'_>) -> Changed {
    let unfit = || mismatch(value, path, place, scalar_word(of));
    match (of, value) {
        (ScalarShape::Boolean, Value::Bool(_))
        | (ScalarShape::String, Value::String(_))
        | (ScalarShape::Int64, Value::Int(_))
        | (ScalarShape::Number, Value::Int(_) | Value::UInt(_)) => Ok(None),
        (ScalarShape::IntOrString, Value::String(_)) => Ok(None),
        (ScalarShape::Int32 | ScalarShape::IntOrString, Value::Int(number)) => {
            i32::try_from(*number).map(|_| None).map_err(|_| unfit())
        }
        (ScalarShape::Number, Value::Float(number)) => {
            let whole = number.get() as i64;
            Ok((whole as f64 == number.get()).then(|| Value::from(whole)))
        }
        (ScalarShape::Bytes, Value::String(text)) => match base64::decode(text) {
            Ok(_) if !text.contains(['\n', '\r']) => Ok(None),
            Ok(bytes) => Ok(Some(base64::encode(&bytes).into())),
            Err(at) => Err(wrong(path, format!("illegal base64 data at input byte {at}"))),
        },
        (ScalarShape::Time, Value::String(text)) => instant(text, Precision::Seconds, path),
        (ScalarShape::MicroTime, Value::String(text)) => instant(text, Precision::Micros, path),
        (ScalarShape::Quantity, Value::String(text)) => amount(text.trim(), text, path, place),
        (ScalarShape::Quantity, Value::Int(_) | Value::UInt(_) | Value::Float(_)) => {
            amount(&value.to_string(), "", path, place)
        }
        _ => Err(unfit()),
    }
}

fn instant(text: &str, precision: Precision, path: &FieldPath<'_>) -> Changed {
    let Some(time) = Timestamp::parse(text, precision) else {
        let layout = match precision {
            Precision::Seconds => "2006-01-02T15:04:05Z07:00",
            Precision::Micros => "2006-01-02T15:04:05.000000Z07:00",
        };
        return Err(wrong(
            path,
            format!("{path}: parsing time \"{text}\" as \"{layout}\": it is not such a time"),
        ));
    };
    let canonical = time.format(precision);
    Ok((canonical != text).then(|| canonical.into()))
}

fn amount(text: &str, written: &str, path: &FieldPath<'_>, place: Place<'_>) -> Changed {
    let Some(amount) = Quantity::parse(text) else {
        return Err(wrong(path, format!("{path}: {}", quantity::SYNTAX)));
    };
    let amount = match place.rounding {
        Rounding::Thousandths => amount.rounded_to_thousandths(),
        Rounding::None => amount,
    };
    let canonical = amount.canonical();
    Ok((canonical != written).then(|| canonical.into()))
}
