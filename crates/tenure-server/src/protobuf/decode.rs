//! Bytes to document. Limits hold before anything is made: a length is checked against the bytes there are, and
//! depth and number of values are counted on the way. Fields that the table does not know are skipped.

use super::{
    MAGIC,
    error::{Error, Fault},
    scalar,
    table::{Field, Form, Layout, MessageId, Place, Presence, Shape, Table},
    wire::{Payload, Reader},
};
use crate::kinds::scalar::{base64, time::Precision};
use tenure_value::{Limits, Object, Text, Value, json};

/// Reads a document: the prefix, the envelope with its kind, and the object, which is as its JSON form would be.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Value, Error> {
    if bytes.len() > limits.bytes {
        return Err(Fault::Bytes(limits.bytes).into());
    }
    let mut decoder = Decoder { table: Table::builtin(), limits, nodes: 0, slots: Vec::new() };
    decoder.document(bytes, 0)
}

/// What has been read of a field so far.
enum Slot {
    Empty,
    One(Value),
    List(Vec<Value>),
    Map(Vec<(Text, Value)>),
}

impl Slot {
    fn value(self) -> Option<Value> {
        match self {
            Slot::Empty => None,
            Slot::One(value) => Some(value),
            Slot::List(items) => Some(Value::Array(items.into())),
            Slot::Map(fields) => Some(Value::Object(Object::from_unsorted(fields))),
        }
    }
}

struct Decoder<'a> {
    table: &'static Table,
    limits: &'a Limits,
    nodes: usize,
    /// The slots of all objects that are being read, the innermost last.
    slots: Vec<Slot>,
}

impl Decoder<'_> {
    fn document(&mut self, bytes: &[u8], depth: usize) -> Result<Value, Error> {
        let envelope = Envelope::read(bytes.strip_prefix(MAGIC).ok_or(Fault::NoPrefix)?)?;
        let Envelope { api_version, kind, raw } = envelope;
        let (id, _) = self
            .table
            .kind(api_version, kind)
            .ok_or_else(|| Fault::Kind { api_version: api_version.into(), kind: kind.into() })?;
        let value = self.message(id, raw, depth)?;
        let object = value.as_object().cloned().unwrap_or_default();
        let object = object.with("kind", kind);
        Ok(if api_version.is_empty() { object } else { object.with("apiVersion", api_version) }.into())
    }

    fn message(&mut self, id: MessageId, bytes: &[u8], depth: usize) -> Result<Value, Error> {
        if depth >= self.limits.depth {
            return Err(Fault::Depth(self.limits.depth).into());
        }
        let Some(message) = self.table.get(id) else { return Ok(Value::Null) };
        let base = self.slots.len();
        self.slots.resize_with(base + message.names.len(), || Slot::Empty);
        self.layout(&message.layout, &message.names, bytes, base, depth)?;
        for slot in &message.nulls {
            if let Some(slot @ Slot::Empty) = self.slots.get_mut(base + slot) {
                *slot = Slot::One(Value::Null);
            }
        }
        let named = message.names.iter().zip(self.slots.drain(base..));
        let fields = named.filter_map(|(name, slot)| Some((name.clone(), slot.value()?)));
        Ok(Value::Object(Object::from_sorted(fields)))
    }

    fn layout(
        &mut self,
        layout: &'static Layout,
        names: &'static [Text],
        bytes: &[u8],
        base: usize,
        depth: usize,
    ) -> Result<(), Error> {
        let mut reader = Reader(bytes);
        let mut near = 0;
        while let Some((number, payload)) = reader.next()? {
            match layout.find(number, &mut near) {
                Some(Place::Field(field)) => {
                    self.field(*field, payload, base, depth).map_err(|error| {
                        error.within(names.get(field.slot).map_or("", |name| name.as_str()))
                    })?;
                }
                Some(Place::Embedded(layout)) => self.layout(layout, names, payload.bytes()?, base, depth)?,
                None => {}
            }
        }
        Ok(())
    }

    fn field(&mut self, field: Field, payload: Payload<'_>, base: usize, depth: usize) -> Result<(), Error> {
        match field.shape {
            Shape::One => {
                let value = self.one(field.form, payload, depth)?;
                let kept = match field.presence {
                    Presence::Quiet if is_zero(&value) => None,
                    Presence::Optional | Presence::Shown if value.is_null() => None,
                    _ => Some(value),
                };
                if let Some(slot) = self.slots.get_mut(base + field.slot) {
                    *slot = kept.map_or(Slot::Empty, Slot::One);
                }
                Ok(())
            }
            Shape::List => self.item(field, payload, base, depth),
            Shape::Map => {
                let (key, value) = self.entry(field.form, payload.bytes()?, depth + 1)?;
                match self.slots.get_mut(base + field.slot) {
                    Some(Slot::Map(fields)) => fields.push((key, value)),
                    Some(slot) => *slot = Slot::Map(vec![(key, value)]),
                    None => {}
                }
                Ok(())
            }
        }
    }

    fn item(&mut self, field: Field, payload: Payload<'_>, base: usize, depth: usize) -> Result<(), Error> {
        // Numbers may come one by one or all in one field.
        if let (Form::Bool | Form::Int32 | Form::Int64, Payload::Bytes(packed)) = (field.form, payload) {
            let mut reader = Reader(packed);
            while !reader.0.is_empty() {
                let number = Payload::Varint(reader.varint()?);
                let value = self.one(field.form, number, depth + 1)?;
                self.push(base + field.slot, value);
            }
            return Ok(());
        }
        let value = self.one(field.form, payload, depth + 1).map_err(|error| {
            let at = match self.slots.get(base + field.slot) {
                Some(Slot::List(items)) => items.len(),
                _ => 0,
            };
            error.within(&format!("[{at}]"))
        })?;
        self.push(base + field.slot, value);
        Ok(())
    }

    fn push(&mut self, slot: usize, value: Value) {
        match self.slots.get_mut(slot) {
            Some(Slot::List(items)) => items.push(value),
            Some(slot) => *slot = Slot::List(vec![value]),
            None => {}
        }
    }

    /// Reads an entry of a map: a message of a key and a value, each of which may be left out when zero.
    fn entry(&mut self, form: Form, bytes: &[u8], depth: usize) -> Result<(Text, Value), Error> {
        let (mut key, mut content) = ("", None);
        let mut reader = Reader(bytes);
        while let Some((number, payload)) = reader.next()? {
            match number {
                1 => key = payload.text()?,
                2 => content = Some(payload),
                _ => {}
            }
        }
        let content = content.unwrap_or(match form {
            Form::Bool | Form::Int32 | Form::Int64 => Payload::Varint(0),
            Form::Double => Payload::Fixed64(0),
            _ => Payload::Bytes(&[]),
        });
        let value = self.one(form, content, depth).map_err(|error| error.within(key))?;
        Ok((key.into(), value))
    }

    fn one(&mut self, form: Form, payload: Payload<'_>, depth: usize) -> Result<Value, Error> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            return Err(Fault::Nodes(self.limits.nodes).into());
        }
        Ok(match form {
            Form::Text => Value::from(payload.text()?),
            Form::Bytes => Value::from(base64::encode(payload.bytes()?)),
            Form::Bool => Value::Bool(payload.varint()? != 0),
            // Negative numbers are written with all 64 bits; a 32-bit field keeps the low ones.
            Form::Int32 => Value::Int(i64::from(payload.varint()? as i32)),
            Form::Int64 => Value::Int(payload.varint()? as i64),
            Form::Double => scalar::double(f64::from_bits(payload.fixed64()?))?,
            Form::Time => scalar::time(payload.bytes()?, Precision::Seconds)?,
            Form::MicroTime => scalar::time(payload.bytes()?, Precision::Micros)?,
            Form::Quantity => scalar::quantity(payload.bytes()?)?,
            Form::IntOrString => scalar::int_or_string(payload.bytes()?)?,
            Form::Json => self.json(payload.bytes()?, depth)?,
            Form::Strings => {
                let mut items = Vec::new();
                let mut reader = Reader(payload.bytes()?);
                while let Some((number, payload)) = reader.next()? {
                    if number == 1 {
                        items.push(self.one(Form::Text, payload, depth + 1)?);
                    }
                }
                Value::Array(items.into())
            }
            Form::SchemaOrArray(schema) => {
                self.either(payload.bytes()?, schema, Form::Message(schema), depth)?
            }
            Form::SchemaOrStrings(schema) => self.either(payload.bytes()?, schema, Form::Text, depth)?,
            Form::SchemaOrBool(schema) => {
                let mut value = Value::Bool(false);
                let mut reader = Reader(payload.bytes()?);
                while let Some((number, payload)) = reader.next()? {
                    match number {
                        1 if !matches!(value, Value::Object(_)) => {
                            value = Value::Bool(payload.varint()? != 0)
                        }
                        2 => value = self.message(schema, payload.bytes()?, depth + 1)?,
                        _ => {}
                    }
                }
                value
            }
            Form::Message(id) => self.message(id, payload.bytes()?, depth + 1)?,
        })
    }

    /// Reads a message that is either one schema or a list.
    fn either(&mut self, bytes: &[u8], schema: MessageId, items: Form, depth: usize) -> Result<Value, Error> {
        let (mut one, mut many) = (None, Vec::new());
        let mut reader = Reader(bytes);
        while let Some((number, payload)) = reader.next()? {
            match number {
                1 => one = Some(self.message(schema, payload.bytes()?, depth + 1)?),
                2 => many.push(self.one(items, payload, depth + 1)?),
                _ => {}
            }
        }
        Ok(one.unwrap_or_else(|| Value::Array(many.into())))
    }

    /// Reads a message that carries a document of any kind: as JSON text, or as protobuf with its envelope.
    fn json(&mut self, bytes: &[u8], depth: usize) -> Result<Value, Error> {
        let mut raw: &[u8] = &[];
        let mut reader = Reader(bytes);
        while let Some((number, payload)) = reader.next()? {
            if number == 1 {
                raw = payload.bytes()?;
            }
        }
        if raw.is_empty() {
            return Ok(Value::Null);
        }
        if raw.starts_with(MAGIC) {
            return self.document(raw, depth + 1);
        }
        let limits = Limits {
            depth: self.limits.depth.saturating_sub(depth),
            nodes: self.limits.nodes.saturating_sub(self.nodes),
            ..*self.limits
        };
        let value = json::parse(raw, &limits).map_err(|error| Fault::Value(error.to_string()))?;
        self.nodes += nodes(&value);
        Ok(value)
    }
}

/// What every document is wrapped in.
#[derive(Default)]
struct Envelope<'a> {
    api_version: &'a str,
    kind: &'a str,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(bytes: &'a [u8]) -> Result<Envelope<'a>, Error> {
        let mut envelope = Envelope::default();
        let mut reader = Reader(bytes);
        while let Some((number, payload)) = reader.next()? {
            match number {
                1 => {
                    let mut names = Reader(payload.bytes()?);
                    while let Some((number, payload)) = names.next()? {
                        match number {
                            1 => envelope.api_version = payload.text()?,
                            2 => envelope.kind = payload.text()?,
                            _ => {}
                        }
                    }
                }
                2 => envelope.raw = payload.bytes()?,
                3 if !payload.bytes()?.is_empty() => {
                    let message =
                        "the envelope's contentEncoding must be empty; compress the whole body instead";
                    return Err(Fault::Value(message.into()).into());
                }
                _ => {}
            }
        }
        Ok(envelope)
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Int(number) => *number == 0,
        Value::Float(number) => *number == 0.0,
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

fn nodes(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(|item| 1 + nodes(item)).sum(),
        Value::Object(fields) => fields.iter().map(|(_, value)| 1 + nodes(value)).sum(),
        _ => 0,
    }
}
