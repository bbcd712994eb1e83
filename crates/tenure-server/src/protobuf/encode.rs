//! Document to bytes. A value that is not of its field's type counts as absent; objects that are served have been
//! checked against their types before.

use super::{
    MAGIC,
    error::{Error, Fault},
    scalar,
    table::{Field, Form, Layout, MessageId, Place, Presence, Shape, Table},
    wire::{Backwards, FIXED64},
};
use crate::kinds::scalar::{base64, time::Precision};
use bytes::Bytes;
use tenure_value::{Object, Value, json};

/// Writes a document that names its kind: the prefix, the envelope, and the object.
pub fn encode(document: &Value) -> Result<Bytes, Error> {
    let mut encoder = Encoder::new();
    encoder.document(document)?;
    Ok(encoder.out.finish())
}

/// Writes a frame of a watch: its length in four bytes, and an event with the object.
pub fn event(word: &str, object: &Value) -> Result<Bytes, Error> {
    let mut encoder = Encoder::new();
    encoder.document(object)?;
    let out = &mut encoder.out;
    out.close(1, 0);
    out.close(2, 0);
    out.field(1, word.as_bytes());
    let length = u32::try_from(out.len()).map_err(|_| Fault::Bytes(u32::MAX as usize))?;
    out.bytes(&length.to_be_bytes());
    Ok(encoder.out.finish())
}

struct Encoder<'v> {
    table: &'static Table,
    out: Backwards,
    /// The fields of all objects that are being written, the innermost last.
    slots: Vec<Option<&'v Value>>,
}

impl<'v> Encoder<'v> {
    fn new() -> Encoder<'v> {
        Encoder {
            table: Table::builtin(),
            out: Backwards::with_capacity(1024),
            slots: Vec::with_capacity(128),
        }
    }

    fn document(&mut self, document: &'v Value) -> Result<(), Error> {
        let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let (id, _) = self
            .table
            .kind(api_version, kind)
            .ok_or_else(|| Fault::Kind { api_version: api_version.into(), kind: kind.into() })?;
        // The type and the encoding of the content are there and empty.
        self.out.field(4, &[]);
        self.out.field(3, &[]);
        let end = self.out.len();
        self.message(id, document.as_object());
        self.out.close(2, end);
        let end = self.out.len();
        self.out.field(2, kind.as_bytes());
        self.out.field(1, api_version.as_bytes());
        self.out.close(1, end);
        self.out.bytes(MAGIC);
        Ok(())
    }

    fn message(&mut self, id: MessageId, object: Option<&'v Object>) {
        let Some(message) = self.table.get(id) else { return };
        let base = self.slots.len();
        self.slots.resize(base + message.names.len(), None);
        if let (Some(object), Some(slots)) = (object, self.slots.get_mut(base..)) {
            // Both are in order, so that one walk over both finds every slot.
            let mut places = message.names.iter().zip(slots).peekable();
            for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
                while places.next_if(|(of, _)| *of < name).is_some() {}
                if let Some((_, slot)) = places.next_if(|(of, _)| *of == name) {
                    *slot = Some(value);
                }
            }
        }
        self.layout(&message.layout, base);
        self.slots.truncate(base);
    }

    /// Writes the fields of a message, the last one first.
    fn layout(&mut self, layout: &'static Layout, base: usize) {
        for (number, place) in layout.0.iter().rev() {
            match place {
                Place::Field(field) => self.field(*number, *field, base),
                Place::Embedded(layout) => {
                    let end = self.out.len();
                    self.layout(layout, base);
                    self.out.close(*number, end);
                }
            }
        }
    }

    fn field(&mut self, number: u32, field: Field, base: usize) {
        let value = self.slots.get(base + field.slot).copied().flatten();
        match field.shape {
            Shape::One => {
                if value.is_some() || is_written_without_value(field) {
                    self.one(number, field.form, value);
                }
            }
            Shape::List => {
                for item in value.and_then(Value::as_array).into_iter().flat_map(|items| items.iter().rev()) {
                    self.one(number, field.form, Some(item));
                }
            }
            Shape::Map => {
                for (key, value) in
                    value.and_then(Value::as_object).into_iter().flat_map(|map| map.iter().rev())
                {
                    let end = self.out.len();
                    self.one(2, field.form, Some(value));
                    self.out.field(1, key.as_bytes());
                    self.out.close(number, end);
                }
            }
        }
    }

    /// Writes a field of one value; without a value, its zero.
    fn one(&mut self, number: u32, form: Form, value: Option<&'v Value>) {
        let text = || value.and_then(Value::as_str).unwrap_or_default();
        let out = &mut self.out;
        match form {
            Form::Text => return out.field(number, text().as_bytes()),
            Form::Bytes => return out.field(number, &base64::decode(text()).unwrap_or_default()),
            Form::Bool => {
                return out.number(number, value.and_then(Value::as_bool).unwrap_or_default().into());
            }
            Form::Int32 | Form::Int64 => return out.number(number, integer(value) as u64),
            Form::Double => {
                let amount = value.and_then(Value::as_f64).unwrap_or_default();
                out.bytes(&amount.to_le_bytes());
                return out.key(number, FIXED64);
            }
            _ => {}
        }
        let end = out.len();
        match form {
            Form::Time => scalar::write_time(out, text(), Precision::Seconds),
            Form::MicroTime => scalar::write_time(out, text(), Precision::Micros),
            Form::Quantity => out.field(1, value.and_then(Value::as_str).unwrap_or("0").as_bytes()),
            Form::IntOrString => scalar::write_int_or_string(out, value.unwrap_or(&Value::Null)),
            Form::Json => {
                if let Some(value) = value {
                    out.field(1, &json::to_vec(value));
                }
            }
            Form::Strings => self.items(1, Form::Text, value),
            Form::SchemaOrArray(schema) => match value {
                Some(Value::Array(_)) => self.items(2, Form::Message(schema), value),
                _ => self.one(1, Form::Message(schema), value),
            },
            Form::SchemaOrStrings(schema) => match value {
                Some(Value::Array(_)) => self.items(2, Form::Text, value),
                _ => self.one(1, Form::Message(schema), value),
            },
            Form::SchemaOrBool(schema) => {
                let schema_given = matches!(value, Some(Value::Object(_)));
                if schema_given {
                    self.one(2, Form::Message(schema), value);
                }
                let allows = schema_given || value.and_then(Value::as_bool).unwrap_or_default();
                self.out.number(1, allows.into());
            }
            Form::Message(id) => self.message(id, value.and_then(Value::as_object)),
            Form::Text | Form::Bytes | Form::Bool | Form::Int32 | Form::Int64 | Form::Double => {}
        }
        self.out.close(number, end);
    }

    fn items(&mut self, number: u32, form: Form, list: Option<&'v Value>) {
        for item in list.and_then(Value::as_array).into_iter().flat_map(|items| items.iter().rev()) {
            self.one(number, form, Some(item));
        }
    }
}

/// Whether a field that has no value is on the wire all the same.
fn is_written_without_value(field: Field) -> bool {
    match field.presence {
        Presence::Quiet | Presence::Shown => field.form != Form::Bytes,
        // These are never set to nothing, only empty.
        Presence::Null => matches!(field.form, Form::Time | Form::MicroTime | Form::Json),
        Presence::Optional => false,
    }
}

fn integer(value: Option<&Value>) -> i64 {
    match value {
        Some(Value::Int(number)) => *number,
        Some(Value::Float(number)) => *number as i64,
        _ => 0,
    }
}
