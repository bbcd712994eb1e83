//! The decoder. Limits are checked before memory is allocated: a length is checked against the remaining
//! bytes, and depth and number of values are counted. Fields that are not in the table are skipped. Complete
//! values are on stacks shared by all open messages, and each object or list takes its part in one
//! allocation.

use super::{
    MAGIC,
    error::{Error, ErrorKind},
    scalar,
    table::{Cardinality, Field, FieldType, Layout, Message, MessageId, Presence, Table, WireField},
    wire::{Payload, Reader},
};
use std::{collections::BTreeMap, mem::take};
use tenure_meta::{base64, time::Precision};
use tenure_value::{Limits, Object, Text, Value, json, private::Stack};

/// Decodes a document: the prefix, the envelope with its kind, and the object, as its JSON encoding would be.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Value, Error> {
    if bytes.len() > limits.bytes {
        return Err(ErrorKind::Bytes(limits.bytes).into());
    }
    let mut decoder = Decoder {
        table: Table::builtin(),
        limits,
        plain: Plain::new(bytes),
        nodes: 0,
        slots: Vec::with_capacity(64),
        values: Stack::with_capacity(64),
        items: Stack::with_capacity(64),
        entries: Vec::new(),
        order: Vec::with_capacity(64),
    };
    decoder.document(bytes, 0).map_err(|error| *error)
}

/// A boxed error, to keep results small on the hot path.
type Boxed = Box<Error>;

/// What fields of managers are decoded to if they are not JSON: a text, which no set of fields is.
const UNREADABLE: &str = "unreadable";

impl From<ErrorKind> for Boxed {
    #[cold]
    fn from(kind: ErrorKind) -> Boxed {
        Box::new(kind.into())
    }
}

struct Decoder<'a> {
    table: &'static Table,
    limits: &'a Limits,
    plain: Plain,
    nodes: usize,
    /// The slots of the complete fields of all open messages, innermost last.
    slots: Vec<u8>,
    /// The values of those fields.
    values: Stack<Finished>,
    /// The items of all open lists.
    items: Stack<Value>,
    /// The entries of all open maps.
    entries: Vec<(Text, Value)>,
    /// The positions of the fields of one object among its values, in the order of their names.
    order: Vec<u8>,
}

/// All bytes as text, with non-ASCII bytes replaced: an ASCII string, as nearly all are, is taken from here
/// without a check of its own, which would cost several times as much.
struct Plain {
    text: String,
    /// The address of the first byte.
    start: usize,
}

impl Plain {
    fn new(bytes: &[u8]) -> Plain {
        let ascii: Vec<u8> = bytes.iter().map(|byte| byte & 0x7f).collect();
        Plain { text: String::from_utf8(ascii).unwrap_or_default(), start: bytes.as_ptr().addr() }
    }

    /// Returns bytes of the document as a string.
    #[inline]
    fn text<'a>(&'a self, bytes: &'a [u8]) -> Result<&'a str, ErrorKind> {
        let start = self.offset(bytes);
        match self.text.get(start..start.wrapping_add(bytes.len())) {
            Some(text) if is_ascii(bytes) => Ok(text),
            _ => std::str::from_utf8(bytes).map_err(|_| ErrorKind::Utf8),
        }
    }

    /// Returns the offset of bytes of the document.
    #[inline]
    fn offset(&self, bytes: &[u8]) -> usize {
        bytes.as_ptr().addr().wrapping_sub(self.start)
    }
}

/// Whether all bytes are ASCII, checked eight at a time.
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let mut all = 0;
    if let Some(last) = bytes.last_chunk() {
        all = u64::from_ne_bytes(*last);
        for word in bytes.as_chunks().0 {
            all |= u64::from_ne_bytes(*word);
        }
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        all = u64::from(u32::from_ne_bytes(*first) | u32::from_ne_bytes(*last));
    } else {
        for byte in bytes {
            all |= u64::from(*byte);
        }
    }
    all & HIGH == 0
}

/// A complete field.
enum Finished {
    Value(Value),
    /// The offset and length of a string in the plain text. The string is constructed in its final place:
    /// moving a value right after writing it in parts stalls the processor.
    Text(u32, u32),
}

impl Default for Finished {
    fn default() -> Finished {
        Finished::Value(Value::Null)
    }
}

impl Finished {
    #[inline(always)]
    fn take(&mut self, plain: &Plain) -> Value {
        match self {
            Finished::Value(value) => take(value),
            Finished::Text(start, length) => {
                let (start, length) = (*start as usize, *length as usize);
                Value::String(scalar::text(plain.text.get(start..start + length).unwrap_or_default()))
            }
        }
    }
}

/// A list or map that is not complete: its items come one by one.
#[derive(Clone, Copy)]
struct Open {
    slot: u8,
    shape: Cardinality,
    /// The start of its items on the stack.
    start: usize,
}

/// An open message, or one that is embedded in it.
struct Within<'s> {
    message: &'static Message,
    layout: &'static Layout,
    /// The slots seen so far, of the message and everything embedded in it.
    seen: &'s mut u64,
    open: Option<Open>,
    depth: usize,
}

/// Whether a field occurred before in its message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Occurrence {
    First,
    Again,
}

impl Decoder<'_> {
    fn document(&mut self, bytes: &[u8], depth: usize) -> Result<Value, Boxed> {
        let envelope = Envelope::read(bytes.strip_prefix(MAGIC).ok_or(ErrorKind::NoPrefix)?)?;
        let Envelope { api_version, kind, raw } = envelope;
        let (id, _) = self
            .table
            .kind(api_version, kind)
            .ok_or_else(|| ErrorKind::Kind { api_version: api_version.into(), kind: kind.into() })?;
        let object = self.message(id, raw, depth)?.with("kind", kind);
        Ok(if api_version.is_empty() { object } else { object.with("apiVersion", api_version) }.into())
    }

    fn message(&mut self, id: MessageId, bytes: &[u8], depth: usize) -> Result<Object, Boxed> {
        if depth >= self.limits.depth {
            return Err(ErrorKind::Depth(self.limits.depth).into());
        }
        let Some(message) = self.table.get(id) else { return Ok(Object::default()) };
        let base = self.slots.len();
        self.layout(message, 0, bytes, &mut 0, depth)?;
        Ok(self.close_object(message, base))
    }

    /// Decodes the fields of a message, or of one that is embedded in it.
    fn layout(
        &mut self,
        message: &'static Message,
        which: u8,
        bytes: &[u8],
        seen: &mut u64,
        depth: usize,
    ) -> Result<(), Boxed> {
        let Some(layout) = message.layouts.get(usize::from(which)) else { return Ok(()) };
        let mut within = Within { message, layout, seen, open: None, depth };
        let mut reader = Reader(bytes);
        // Two paths, so that the common case never assembles a field in memory.
        loop {
            if let Some((number, payload)) = reader.short() {
                self.field(&mut within, number, payload)?;
            } else if !self.long_field(&mut within, &mut reader)? {
                break;
            }
        }
        self.close(within.open);
        Ok(())
    }

    /// Decodes a field that is not short; false at the end.
    #[inline(never)]
    fn long_field(&mut self, within: &mut Within<'_>, reader: &mut Reader<'_>) -> Result<bool, Boxed> {
        match reader.next_field()? {
            Some((number, payload)) => self.field(within, number, payload).map(|()| true),
            None => Ok(false),
        }
    }

    #[inline(always)]
    fn field(&mut self, within: &mut Within<'_>, number: u32, payload: Payload<'_>) -> Result<(), Boxed> {
        let Within { message, layout, seen, open, depth } = within;
        let (message, depth) = (*message, *depth);
        let Some((_, place)) = layout.find(number).and_then(|bit| message.places.get(bit)) else {
            return Ok(());
        };
        let field = match place {
            WireField::Field(field) => field,
            WireField::Embedded(which) => return self.layout(message, *which, payload.bytes()?, seen, depth),
        };
        let read = if field.shape == Cardinality::One {
            let (bit, before) = (1 << (field.slot & 63), **seen);
            **seen |= bit;
            match (field.field_type, payload) {
                (FieldType::Text, Payload::Bytes(bytes @ [_, ..])) => self.text(field.slot, bytes),
                _ => {
                    let again = before & bit != 0;
                    let occurrence = if again { Occurrence::Again } else { Occurrence::First };
                    self.single(field, payload, occurrence, depth)
                }
            }
        } else {
            let list = match *open {
                Some(list) if list.slot == field.slot => list,
                other => {
                    self.close(other);
                    let start = match field.shape {
                        Cardinality::Map => self.entries.len(),
                        _ => self.items.len(),
                    };
                    Open { slot: field.slot, shape: field.shape, start }
                }
            };
            *open = Some(list);
            match field.shape {
                Cardinality::Map => self.entry(field.field_type, payload, depth + 1),
                _ => self.item(field.field_type, payload, list, depth + 1),
            }
        };
        read.map_err(|error| {
            let name = message.names.get(usize::from(field.slot)).map_or("", |name| name.as_str());
            Box::new(error.within(name))
        })
    }

    /// Builds a list or map from its items, and adds it as a field.
    #[inline]
    fn close(&mut self, open: Option<Open>) {
        let Some(Open { slot, shape, start }) = open else { return };
        let value = match shape {
            Cardinality::Map => {
                let entries = self.entries.get(start..).unwrap_or_default();
                let ascending = entries.windows(2).all(|pair| matches!(pair, [a, b] if a.0 < b.0));
                let entries = self.entries.drain(start..);
                Value::Object(if ascending {
                    Object::from_sorted(entries)
                } else {
                    Object::from_unsorted(entries.collect())
                })
            }
            _ => Value::Array(self.items.drain(start).map(take).collect()),
        };
        self.push(slot, || value);
    }

    /// Adds a complete field.
    #[inline(always)]
    fn push(&mut self, slot: u8, value: impl FnOnce() -> Value) {
        self.slots.push(slot);
        self.values.push(|| Finished::Value(value()));
    }

    /// Builds an object from the fields from `base` on, which come in the order of their numbers.
    fn close_object(&mut self, message: &'static Message, base: usize) -> Object {
        let slots = self.slots.get(base..).unwrap_or_default();
        let (mut found, mut ascending, mut repeated) = (0u64, true, false);
        for slot in slots {
            let bit = 1u64 << (slot & 63);
            ascending &= bit > found;
            repeated |= bit & found != 0;
            found |= bit;
        }
        if repeated {
            return self.close_repeated(message, base);
        }
        if message.nulls & !found != 0 {
            self.add_nulls(message.nulls & !found);
            return self.close_object(message, base);
        }
        let name = |slot: u8| message.names.get(usize::from(slot)).cloned().unwrap_or_default();
        if ascending {
            let (fields, plain) = (slots.iter().zip(self.values.drain(base)), &self.plain);
            let object = Object::from_sorted(fields.map(|(slot, value)| (name(*slot), value.take(plain))));
            self.slots.truncate(base);
            return object;
        }
        let mut positions = [0u8; 64];
        for (position, slot) in (0..).zip(slots) {
            positions[usize::from(slot & 63)] = position;
        }
        self.order.clear();
        while found != 0 {
            self.order.push(positions[found.trailing_zeros() as usize & 63]);
            found &= found - 1;
        }
        let values = self.values.drain(base).into_slice();
        let object = Object::from_sorted(self.order.iter().map(|at| {
            let slot = slots.get(usize::from(*at)).copied().unwrap_or_default();
            let value = values.get_mut(usize::from(*at)).map(|value| value.take(&self.plain));
            (name(slot), value.unwrap_or_default())
        }));
        self.slots.truncate(base);
        object
    }

    #[cold]
    fn add_nulls(&mut self, mut slots: u64) {
        while slots != 0 {
            self.push(slots.trailing_zeros() as u8, || Value::Null);
            slots &= slots - 1;
        }
    }

    /// Builds an object in which fields occur more than once: lists and maps are concatenated, of others the
    /// last one wins.
    #[cold]
    fn close_repeated(&mut self, message: &'static Message, base: usize) -> Object {
        let mut pieces: BTreeMap<u8, Vec<Value>> = BTreeMap::new();
        for (slot, value) in self.slots.drain(base..).zip(self.values.drain(base)) {
            pieces.entry(slot).or_default().push(value.take(&self.plain));
        }
        for (slot, mut pieces) in pieces {
            let value = match message.field(slot).map(|field| field.shape) {
                Some(Cardinality::List) => {
                    let items = pieces.iter().filter_map(Value::as_array).flat_map(|items| items.iter());
                    Value::array(items.cloned())
                }
                Some(Cardinality::Map) => {
                    let entries = pieces.iter().filter_map(Value::as_object).flat_map(|map| map.iter());
                    Value::object(entries.map(|(key, value)| (key.clone(), value.clone())))
                }
                _ => pieces.pop().unwrap_or_default(),
            };
            if !value.is_null() {
                self.push(slot, || value);
            }
        }
        self.close_object(message, base)
    }

    /// Decodes a non-empty string, which most fields are.
    #[inline(always)]
    fn text(&mut self, slot: u8, bytes: &[u8]) -> Result<(), Boxed> {
        self.count()?;
        if is_ascii(bytes)
            && let (Ok(start), Ok(length)) =
                (u32::try_from(self.plain.offset(bytes)), u32::try_from(bytes.len()))
        {
            self.slots.push(slot);
            self.values.push(|| Finished::Text(start, length));
            return Ok(());
        }
        let text = scalar::text(std::str::from_utf8(bytes).map_err(|_| ErrorKind::Utf8)?);
        self.push(slot, || Value::String(text));
        Ok(())
    }

    /// Decodes a field with a single value.
    fn single(
        &mut self,
        field: &Field,
        payload: Payload<'_>,
        occurrence: Occurrence,
        depth: usize,
    ) -> Result<(), Boxed> {
        if let (FieldType::Message(id), Payload::Bytes(bytes)) = (field.field_type, payload) {
            self.count()?;
            let object = self.message(id, bytes, depth + 1)?;
            self.push(field.slot, || Value::Object(object));
            return Ok(());
        }
        // Many strings and booleans are present but empty.
        let empty = field.presence == Presence::OmitZero
            && matches!(
                (field.field_type, payload),
                (FieldType::Text, Payload::Bytes([]))
                    | (FieldType::Bool | FieldType::Int32 | FieldType::Int64, Payload::Varint(0))
            );
        let value = if empty { Value::Null } else { self.one(field.field_type, payload, depth)? };
        let kept = match field.presence {
            Presence::OmitZero => !is_zero(&value),
            Presence::Optional | Presence::ShowZero | Presence::Null => !value.is_null(),
        };
        if kept {
            self.push(field.slot, || value);
        } else if occurrence == Occurrence::Again {
            // The new value replaces the previous one.
            self.push(field.slot, || Value::Null);
        }
        Ok(())
    }

    /// Counts a value.
    #[inline]
    fn count(&mut self) -> Result<(), Boxed> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes { Err(ErrorKind::Nodes(self.limits.nodes).into()) } else { Ok(()) }
    }

    fn item(
        &mut self,
        field_type: FieldType,
        payload: Payload<'_>,
        list: Open,
        depth: usize,
    ) -> Result<(), Boxed> {
        // Numbers may be packed into one field.
        if let (FieldType::Bool | FieldType::Int32 | FieldType::Int64, Payload::Bytes(packed)) =
            (field_type, payload)
        {
            let mut reader = Reader(packed);
            while !reader.0.is_empty() {
                let number = Payload::Varint(reader.varint()?);
                let value = self.one(field_type, number, depth)?;
                self.items.push(|| value);
            }
            return Ok(());
        }
        let read = match (field_type, payload) {
            (FieldType::Message(id), Payload::Bytes(bytes)) => self.count().and_then(|()| {
                let object = self.message(id, bytes, depth + 1)?;
                self.items.push(|| Value::Object(object));
                Ok(())
            }),
            _ => self.one(field_type, payload, depth).map(|value| self.items.push(|| value)),
        };
        read.map_err(|error| Box::new(error.within(&format!("[{}]", self.items.len() - list.start))))
    }

    /// Decodes a map entry: a message with a key and a value, each of which may be omitted if it is zero.
    fn entry(&mut self, field_type: FieldType, payload: Payload<'_>, depth: usize) -> Result<(), Boxed> {
        let (mut key, mut content): (&[u8], _) = (&[], None);
        let mut reader = Reader(payload.bytes()?);
        while let Some((number, payload)) = reader.next_field()? {
            match number {
                1 => key = payload.bytes()?,
                2 => content = Some(payload),
                _ => {}
            }
        }
        let content = content.unwrap_or(match field_type {
            FieldType::Bool | FieldType::Int32 | FieldType::Int64 => Payload::Varint(0),
            FieldType::Double => Payload::Fixed64(0),
            _ => Payload::Bytes(&[]),
        });
        let key = scalar::text(self.plain.text(key)?);
        match self.one(field_type, content, depth) {
            Ok(value) => {
                self.entries.push((key, value));
                Ok(())
            }
            Err(error) => Err(Box::new(error.within(&key))),
        }
    }

    fn one(&mut self, field_type: FieldType, payload: Payload<'_>, depth: usize) -> Result<Value, Boxed> {
        self.count()?;
        Ok(match field_type {
            FieldType::Text => Value::String(scalar::text(self.plain.text(payload.bytes()?)?)),
            FieldType::Bytes => Value::from(base64::encode(payload.bytes()?)),
            FieldType::Bool => Value::Bool(payload.varint()? != 0),
            // Negative numbers are encoded with all 64 bits; a 32-bit field keeps the low ones.
            FieldType::Int32 => Value::Int(i64::from(payload.varint()? as i32)),
            FieldType::Int64 => Value::Int(payload.varint()? as i64),
            FieldType::Double => scalar::double(f64::from_bits(payload.fixed64()?))?,
            FieldType::Time => scalar::time(payload.bytes()?, Precision::Seconds)?,
            FieldType::MicroTime => scalar::time(payload.bytes()?, Precision::Micros)?,
            FieldType::Quantity => scalar::quantity(payload.bytes()?)?,
            FieldType::IntOrString => scalar::int_or_string(payload.bytes()?)?,
            FieldType::Json => self.json(payload.bytes()?, depth)?,
            FieldType::Fields => {
                let bytes = payload.bytes()?;
                match compact(bytes)? {
                    Some(compact) => Value::from(base64::encode(compact)),
                    // Fields that are no JSON make the managers unreadable, not the object.
                    None => match self.json(bytes, depth) {
                        Err(error) if matches!(error.kind, ErrorKind::Value(_)) => Value::from(UNREADABLE),
                        fields => fields?,
                    },
                }
            }
            FieldType::Strings => {
                let mut items = Vec::new();
                let mut reader = Reader(payload.bytes()?);
                while let Some((number, payload)) = reader.next_field()? {
                    if number == 1 {
                        items.push(self.one(FieldType::Text, payload, depth + 1)?);
                    }
                }
                Value::Array(items.into())
            }
            FieldType::SchemaOrArray(schema) => {
                self.either(payload.bytes()?, schema, FieldType::Message(schema), depth)?
            }
            FieldType::SchemaOrStrings(schema) => {
                self.either(payload.bytes()?, schema, FieldType::Text, depth)?
            }
            FieldType::SchemaOrBool(schema) => {
                let mut value = Value::Bool(false);
                let mut reader = Reader(payload.bytes()?);
                while let Some((number, payload)) = reader.next_field()? {
                    match number {
                        1 if !matches!(value, Value::Object(_)) => {
                            value = Value::Bool(payload.varint()? != 0)
                        }
                        2 => value = Value::Object(self.message(schema, payload.bytes()?, depth + 1)?),
                        _ => {}
                    }
                }
                value
            }
            FieldType::Message(id) => Value::Object(self.message(id, payload.bytes()?, depth + 1)?),
        })
    }

    /// Decodes a message that is either a schema or a list.
    fn either(
        &mut self,
        bytes: &[u8],
        schema: MessageId,
        items: FieldType,
        depth: usize,
    ) -> Result<Value, Boxed> {
        let (mut one, mut many) = (None, Vec::new());
        let mut reader = Reader(bytes);
        while let Some((number, payload)) = reader.next_field()? {
            match number {
                1 => one = Some(Value::Object(self.message(schema, payload.bytes()?, depth + 1)?)),
                2 => many.push(self.one(items, payload, depth + 1)?),
                _ => {}
            }
        }
        Ok(one.unwrap_or_else(|| Value::Array(many.into())))
    }

    /// Decodes a message that contains a document of any kind: as JSON, or as protobuf with its envelope.
    fn json(&mut self, bytes: &[u8], depth: usize) -> Result<Value, Boxed> {
        let mut raw: &[u8] = &[];
        let mut reader = Reader(bytes);
        while let Some((number, payload)) = reader.next_field()? {
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
        let value = json::parse(raw, &limits).map_err(|error| ErrorKind::Value(error.to_string()))?;
        self.nodes += nodes(&value);
        Ok(value)
    }
}

/// Returns the fields of managers if they are compact: no JSON begins with such a byte.
fn compact(message: &[u8]) -> Result<Option<&[u8]>, Boxed> {
    let (mut raw, mut reader) = (None, Reader(message));
    while let Some((number, payload)) = reader.next_field()? {
        if number == 1 {
            raw = Some(payload.bytes()?);
        }
    }
    Ok(raw.filter(|raw| raw.first().is_some_and(|first| *first >= 0x80)))
}

/// The envelope of every document.
#[derive(Default)]
struct Envelope<'a> {
    api_version: &'a str,
    kind: &'a str,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(bytes: &'a [u8]) -> Result<Envelope<'a>, ErrorKind> {
        let mut envelope = Envelope::default();
        let mut reader = Reader(bytes);
        while let Some((number, payload)) = reader.next_field()? {
            match number {
                1 => {
                    let mut names = Reader(payload.bytes()?);
                    while let Some((number, payload)) = names.next_field()? {
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
                    return Err(ErrorKind::Value(message.into()));
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
        Value::Float(number) => number.get() == 0.0,
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
