//! The encoder. A value that does not match the type of its field counts as absent; objects are validated
//! before they are encoded.

use super::{
    MAGIC,
    error::{Error, ErrorKind},
    managers::{self, ShownManagers},
    plan::{Action, Plans},
    scalar,
    table::{Cardinality, Field, FieldType, Message, MessageId, Table, WireField},
    wire::{LENGTH, Writer},
};
use bytes::Bytes;
use tenure_meta::{base64, time::Precision};
use tenure_value::{Object, Value, json};

/// The bytes after the message of a document: contentEncoding and contentType, which are present but empty.
pub(super) const TAIL: &[u8] = &[3 << 3 | LENGTH, 0, 4 << 3 | LENGTH, 0];

/// Encodes a document with its kind: the prefix, the envelope, and the object.
pub fn encode(document: &Value) -> Result<Bytes, Error> {
    encode_with_managers(document, None)
}

/// Encodes a document with its managers, which are stored separately; the bytes are the same as if they were
/// part of it.
pub fn encode_with_managers(document: &Value, managers: Option<ShownManagers<'_>>) -> Result<Bytes, Error> {
    let mut encoder = Encoder::new(Plans::recall());
    encoder.managers = managers;
    encoder.document(document)?;
    Ok(encoder.finish())
}

pub(super) struct Encoder<'a> {
    table: &'static Table,
    /// The managers of the document, until its metadata has been written.
    pub managers: Option<ShownManagers<'a>>,
    pub out: Writer,
    plans: Plans,
    /// The start of the open embedded messages, innermost last.
    embedded: Vec<usize>,
}

impl Encoder<'_> {
    pub fn new(plans: Plans) -> Self {
        let out = Writer::with_capacity(2048);
        Encoder { table: Table::builtin(), managers: None, out, plans, embedded: Vec::new() }
    }

    /// Returns the bytes.
    pub fn finish(self) -> Bytes {
        self.plans.remember();
        self.out.finish().into()
    }

    fn document(&mut self, document: &Value) -> Result<(), Error> {
        self.head(document);
        let raw = self.out.begin();
        self.bare(document)?;
        self.out.end(raw);
        self.out.bytes(TAIL);
        Ok(())
    }

    /// Writes the bytes before the length of a document's message: the prefix and the kind.
    pub fn head(&mut self, document: &Value) {
        let (api_version, kind) = kind_of(document);
        self.out.bytes(MAGIC);
        self.out.key(1, LENGTH);
        let names = self.out.begin();
        self.out.field(1, api_version.as_bytes());
        self.out.field(2, kind.as_bytes());
        self.out.end(names);
        self.out.key(2, LENGTH);
    }

    /// Writes the message of a document with its kind, without the envelope.
    pub fn bare(&mut self, document: &Value) -> Result<(), Error> {
        let (api_version, kind) = kind_of(document);
        let (id, _) = self
            .table
            .kind(api_version, kind)
            .ok_or_else(|| ErrorKind::Kind { api_version: api_version.into(), kind: kind.into() })?;
        self.message(id, document.as_object());
        Ok(())
    }

    fn message(&mut self, id: MessageId, object: Option<&Object>) {
        let Some(message) = self.table.get(id) else { return };
        let fields = object.map(Object::fields).unwrap_or_default();
        if fields.is_empty() {
            return self.out.bytes(message.zeros(zero).whole());
        }
        let plan = self.plans.plan(id, message, message.zeros(zero), fields);
        for step in &plan.steps {
            if let Action::Text { at } = step.action {
                let text = match fields.get(at) {
                    Some((_, Value::String(text))) => text.as_bytes(),
                    _ => &[],
                };
                self.out.some_and_text(&step.constants, step.length, text);
                continue;
            }
            self.out.some(&step.constants, step.length);
            match &step.action {
                Action::Content { at, field_type } => {
                    self.content(*field_type, fields.get(*at).map(|(_, value)| value));
                }
                Action::Repeat { at, number, field } => {
                    if let Some((_, value)) = fields.get(*at) {
                        self.repeat(*number, field, value);
                    }
                }
                Action::Enter => self.embedded.push(self.out.begin()),
                Action::Leave => {
                    let start = self.embedded.pop().unwrap_or_default();
                    self.out.end(start);
                }
                Action::Text { .. } | Action::Nothing => {}
            }
        }
        // The metadata of a document comes before any other metadata inside it.
        if let Some(managers) = self.managers.take_if(|_| self.table.metadata == Some(id)) {
            managers::write(managers, &mut self.out);
        }
    }

    /// Writes a list or a map.
    fn repeat(&mut self, number: u32, field: &Field, value: &Value) {
        match (field.shape, value) {
            (Cardinality::Map, Value::Object(map)) => {
                for (key, value) in map {
                    self.out.key(number, LENGTH);
                    let start = self.out.begin();
                    self.out.field(1, key.as_bytes());
                    self.one(2, field.field_type, Some(value));
                    self.out.end(start);
                }
            }
            (Cardinality::List, Value::Array(items)) => self.items(number, field.field_type, items),
            _ => {}
        }
    }

    fn items(&mut self, number: u32, field_type: FieldType, items: &[Value]) {
        for item in items {
            self.one(number, field_type, Some(item));
        }
    }

    /// Writes a field with a single value; without a value, the zero value.
    fn one(&mut self, number: u32, field_type: FieldType, value: Option<&Value>) {
        self.out.key(number, field_type.wire_type());
        self.content(field_type, value);
    }

    /// Writes the content after the key of a field.
    fn content(&mut self, field_type: FieldType, value: Option<&Value>) {
        let text = || value.and_then(Value::as_str).unwrap_or_default();
        let out = &mut self.out;
        match field_type {
            FieldType::Text => return out.text(text().as_bytes()),
            FieldType::Bytes => return out.text(&base64::decode(text()).unwrap_or_default()),
            FieldType::Bool => return out.varint(value.and_then(Value::as_bool).unwrap_or_default().into()),
            FieldType::Int32 | FieldType::Int64 => return out.varint(integer(value) as u64),
            FieldType::Double => {
                return out.bytes(&value.and_then(Value::as_f64).unwrap_or_default().to_le_bytes());
            }
            _ => {}
        }
        let start = out.begin();
        match field_type {
            FieldType::Time => scalar::write_time(out, text(), Precision::Seconds),
            FieldType::MicroTime => scalar::write_time(out, text(), Precision::Micros),
            FieldType::Quantity => out.field(1, value.and_then(Value::as_str).unwrap_or("0").as_bytes()),
            FieldType::IntOrString => scalar::write_int_or_string(out, value.unwrap_or(&Value::Null)),
            FieldType::Json | FieldType::Fields => {
                let compact = value.and_then(Value::as_str).filter(|_| field_type == FieldType::Fields);
                if let Some(bytes) = compact.and_then(|text| base64::decode(text).ok()) {
                    out.field(1, &bytes);
                } else if let Some(value) = value {
                    out.key(1, LENGTH);
                    let text = out.begin();
                    out.append(|out| json::write(value, out));
                    out.end(text);
                }
            }
            FieldType::Strings => self.items(1, FieldType::Text, list(value)),
            FieldType::SchemaOrArray(schema) => match value {
                Some(Value::Array(items)) => self.items(2, FieldType::Message(schema), items),
                _ => self.one(1, FieldType::Message(schema), value),
            },
            FieldType::SchemaOrStrings(schema) => match value {
                Some(Value::Array(items)) => self.items(2, FieldType::Text, items),
                _ => self.one(1, FieldType::Message(schema), value),
            },
            FieldType::SchemaOrBool(schema) => {
                let schema_given = matches!(value, Some(Value::Object(_)));
                let allows = schema_given || value.and_then(Value::as_bool).unwrap_or_default();
                self.out.number(1, allows.into());
                if schema_given {
                    self.one(2, FieldType::Message(schema), value);
                }
            }
            FieldType::Message(id) => self.message(id, value.and_then(Value::as_object)),
            FieldType::Text
            | FieldType::Bytes
            | FieldType::Bool
            | FieldType::Int32
            | FieldType::Int64
            | FieldType::Double => {}
        }
        self.out.end(start);
    }
}

fn kind_of(document: &Value) -> (&str, &str) {
    let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
    (text("apiVersion"), text("kind"))
}

/// Encodes a field of a message without a value.
fn zero(message: &Message, bit: usize) -> Vec<u8> {
    let mut encoder = Encoder::new(Plans::default());
    match message.places.get(bit) {
        Some((number, WireField::Field(field))) if field.is_always_written() => {
            encoder.one(*number, field.field_type, None);
        }
        Some((number, WireField::Embedded(which))) => {
            let bits = message.layouts.get(usize::from(*which)).map_or(0, |layout| layout.bits);
            let inner = (0..64).filter(|inner| bits >> inner & 1 == 1);
            encoder.out.field(*number, &inner.flat_map(|inner| zero(message, inner)).collect::<Vec<u8>>());
        }
        _ => {}
    }
    encoder.out.finish()
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
}

fn integer(value: Option<&Value>) -> i64 {
    match value {
        Some(Value::Int(number)) => *number,
        Some(Value::Float(number)) => number.get() as i64,
        _ => 0,
    }
}
