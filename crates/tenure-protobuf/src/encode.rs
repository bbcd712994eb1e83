//! Document to bytes. A value that is not of its field's type counts as absent; objects that are served have been
//! checked against their types before.

use super::{
    MAGIC,
    error::{Error, Fault},
    managers,
    plan::{Action, Plans},
    scalar,
    table::{Field, Form, Message, MessageId, Place, Shape, Table},
    wire::{LENGTH, Writer},
};
use bytes::Bytes;
use tenure_apply::Managers;
use tenure_meta::{base64, time::Precision};
use tenure_value::{Object, Value, json};

/// What stands behind a document's message: the encoding and the type of the content, which are there and empty.
pub(super) const TAIL: &[u8] = &[3 << 3 | LENGTH, 0, 4 << 3 | LENGTH, 0];

/// Writes a document that names its kind: the prefix, the envelope, and the object.
pub fn encode(document: &Value) -> Result<Bytes, Error> {
    encode_held(document, None)
}

/// Writes a document with its managers, which are not in its tree; the bytes are as if they were.
pub fn encode_held(document: &Value, managers: Option<&Managers>) -> Result<Bytes, Error> {
    let mut encoder = Encoder::new(Plans::recall());
    encoder.managers = managers;
    encoder.document(document)?;
    Ok(encoder.finish())
}

pub(super) struct Encoder<'a> {
    table: &'static Table,
    /// Who holds what of the document, until its metadata has been written.
    pub managers: Option<&'a Managers>,
    pub out: Writer,
    plans: Plans,
    /// Where the embedded messages that are being written begin, the innermost last.
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

    /// Writes what stands before the length of a document's message: the prefix and the kind.
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

    /// Writes the message of a document that names its kind, without the envelope.
    pub fn bare(&mut self, document: &Value) -> Result<(), Error> {
        let (api_version, kind) = kind_of(document);
        let (id, _) = self
            .table
            .kind(api_version, kind)
            .ok_or_else(|| Fault::Kind { api_version: api_version.into(), kind: kind.into() })?;
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
                Action::Content { at, form } => {
                    self.content(*form, fields.get(*at).map(|(_, value)| value));
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
        // The metadata of a document comes before any other within it.
        if let Some(managers) = self.managers.take_if(|_| self.table.metadata == Some(id)) {
            managers::write(managers, &mut self.out);
        }
    }

    /// Writes a list or a map.
    fn repeat(&mut self, number: u32, field: &Field, value: &Value) {
        match (field.shape, value) {
            (Shape::Map, Value::Object(map)) => {
                for (key, value) in map {
                    self.out.key(number, LENGTH);
                    let start = self.out.begin();
                    self.out.field(1, key.as_bytes());
                    self.one(2, field.form, Some(value));
                    self.out.end(start);
                }
            }
            (Shape::List, Value::Array(items)) => self.items(number, field.form, items),
            _ => {}
        }
    }

    fn items(&mut self, number: u32, form: Form, items: &[Value]) {
        for item in items {
            self.one(number, form, Some(item));
        }
    }

    /// Writes a field of one value; without a value, its zero.
    fn one(&mut self, number: u32, form: Form, value: Option<&Value>) {
        self.out.key(number, form.wire_type());
        self.content(form, value);
    }

    /// Writes what follows the key of a field.
    fn content(&mut self, form: Form, value: Option<&Value>) {
        let text = || value.and_then(Value::as_str).unwrap_or_default();
        let out = &mut self.out;
        match form {
            Form::Text => return out.text(text().as_bytes()),
            Form::Bytes => return out.text(&base64::decode(text()).unwrap_or_default()),
            Form::Bool => return out.varint(value.and_then(Value::as_bool).unwrap_or_default().into()),
            Form::Int32 | Form::Int64 => return out.varint(integer(value) as u64),
            Form::Double => {
                return out.bytes(&value.and_then(Value::as_f64).unwrap_or_default().to_le_bytes());
            }
            _ => {}
        }
        let start = out.begin();
        match form {
            Form::Time => scalar::write_time(out, text(), Precision::Seconds),
            Form::MicroTime => scalar::write_time(out, text(), Precision::Micros),
            Form::Quantity => out.field(1, value.and_then(Value::as_str).unwrap_or("0").as_bytes()),
            Form::IntOrString => scalar::write_int_or_string(out, value.unwrap_or(&Value::Null)),
            Form::Json => {
                if let Some(value) = value {
                    out.key(1, LENGTH);
                    let text = out.begin();
                    out.append(|out| json::write(value, out));
                    out.end(text);
                }
            }
            Form::Strings => self.items(1, Form::Text, list(value)),
            Form::SchemaOrArray(schema) => match value {
                Some(Value::Array(items)) => self.items(2, Form::Message(schema), items),
                _ => self.one(1, Form::Message(schema), value),
            },
            Form::SchemaOrStrings(schema) => match value {
                Some(Value::Array(items)) => self.items(2, Form::Text, items),
                _ => self.one(1, Form::Message(schema), value),
            },
            Form::SchemaOrBool(schema) => {
                let schema_given = matches!(value, Some(Value::Object(_)));
                let allows = schema_given || value.and_then(Value::as_bool).unwrap_or_default();
                self.out.number(1, allows.into());
                if schema_given {
                    self.one(2, Form::Message(schema), value);
                }
            }
            Form::Message(id) => self.message(id, value.and_then(Value::as_object)),
            Form::Text | Form::Bytes | Form::Bool | Form::Int32 | Form::Int64 | Form::Double => {}
        }
        self.out.end(start);
    }
}

fn kind_of(document: &Value) -> (&str, &str) {
    let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
    (text("apiVersion"), text("kind"))
}

/// Writes what one field of a message is without a value.
fn zero(message: &Message, bit: usize) -> Vec<u8> {
    let mut encoder = Encoder::new(Plans::default());
    match message.places.get(bit) {
        Some((number, Place::Field(field))) if field.is_always_written() => {
            encoder.one(*number, field.form, None);
        }
        Some((number, Place::Embedded(which))) => {
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
