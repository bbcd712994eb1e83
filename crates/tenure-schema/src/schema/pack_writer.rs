//! Encodes a schema as a pack. Strings are numbered in the order of their first use, so equal schemas result
//! in equal bytes.

use super::Schema;
use crate::{
    pack::{MAGIC, SCALARS, flag, list, tag, value},
    topology::{Field, List, ListTopology, PatchMarks, Relation, Slot, Struct, Type, UnknownFields},
};
use std::collections::HashMap;
use tenure_value::{Text, Value};

impl Schema {
    /// Encodes the schema as a pack; equal schemas result in equal bytes.
    pub fn to_pack(&self) -> Vec<u8> {
        encode(self)
    }
}

fn encode(schema: &Schema) -> Vec<u8> {
    let mut writer = Writer::default();
    let mut type_offsets = vec![0];
    for ty in schema.types() {
        writer.of(ty.get());
        type_offsets.push(writer.records.len() as u32);
    }
    let names: Vec<_> = schema.names().map(|(name, ty)| (writer.text_number(name), ty.id().0)).collect();
    let kinds: Vec<_> = schema.kinds().map(|(name, ty)| (writer.text_number(name), ty.id().0)).collect();

    let counts = [writer.texts.len(), schema.types().len(), names.len(), kinds.len()];
    let pairs = names.iter().chain(&kinds).flat_map(|(text, id)| [*text, *id]);
    let (text_offsets, texts) = text_area(&writer.texts);
    let numbers =
        counts.iter().map(|count| *count as u32).chain(text_offsets).chain(type_offsets).chain(pairs);

    let mut bytes = MAGIC.to_vec();
    bytes.extend(numbers.flat_map(u32::to_le_bytes));
    bytes.extend(texts);
    bytes.extend(writer.records);
    bytes
}

/// Returns the offsets of strings, and the strings.
pub(super) fn text_area(texts: &[Text]) -> (Vec<u32>, Vec<u8>) {
    let (mut offsets, mut area) = (vec![0], Vec::new());
    for text in texts {
        area.extend_from_slice(text.as_bytes());
        offsets.push(area.len() as u32);
    }
    (offsets, area)
}

/// Writes records, and numbers the strings in them.
#[derive(Default)]
pub(super) struct Writer {
    pub records: Vec<u8>,
    pub texts: Vec<Text>,
    numbers: HashMap<Text, u32>,
}

impl Writer {
    pub fn of(&mut self, ty: &Type) {
        match ty {
            Type::Struct(ty) => self.record(ty),
            Type::Map(ty) => {
                self.byte(tag::MAP);
                self.byte(bit(ty.relation == Relation::Atomic, flag::ATOMIC));
                self.slot(&ty.value, 0);
            }
            Type::List(ty) => self.list(ty),
            Type::Scalar(ty) => {
                self.byte(tag::SCALAR);
                let number = SCALARS.iter().position(|kind| *kind == ty.kind).unwrap_or_default();
                self.byte(number as u8);
                self.text(&ty.format);
                self.number(ty.values.len() as u64);
                ty.values.iter().for_each(|allowed| self.value(allowed));
            }
            Type::Untyped => self.byte(tag::UNTYPED),
        }
    }

    fn record(&mut self, shape: &Struct) {
        self.byte(tag::STRUCT);
        self.byte(
            bit(shape.relation == Relation::Atomic, flag::ATOMIC)
                | bit(shape.unknown == UnknownFields::Preserved, flag::PRESERVES_UNKNOWN)
                | bit(shape.embedded_resource, flag::EMBEDDED_RESOURCE),
        );
        self.number(shape.fields.len() as u64);
        shape.fields.iter().for_each(|field| self.field(field));
    }

    fn field(&mut self, field: &Field) {
        let marked = field.patch != PatchMarks::default();
        self.text(&field.name);
        self.slot(&field.slot, bit(field.required, flag::REQUIRED) | bit(marked, flag::PATCH_MARKS));
        if marked {
            self.patch_marks(&field.patch);
        }
    }

    fn patch_marks(&mut self, marks: &PatchMarks) {
        self.byte(
            bit(marks.strategy.merge, flag::MERGE)
                | bit(marks.strategy.replace, flag::REPLACE)
                | bit(marks.strategy.retain_keys, flag::RETAIN_KEYS)
                | bit(marks.merge_key.is_some(), flag::MERGE_KEY),
        );
        marks.merge_key.iter().for_each(|key| self.text(key));
        self.number(marks.recommended_keys.len() as u64);
        marks.recommended_keys.iter().for_each(|key| self.text(key));
    }

    fn list(&mut self, shape: &List) {
        self.byte(tag::LIST);
        match &shape.topology {
            ListTopology::Atomic => self.byte(list::ATOMIC),
            ListTopology::Set => self.byte(list::SET),
            ListTopology::Keyed(keys) => {
                self.byte(list::KEYED);
                self.number(keys.len() as u64);
                for key in keys {
                    self.text(&key.name);
                    self.byte(bit(key.default.is_some(), flag::DEFAULT));
                    key.default.iter().for_each(|default| self.value(default));
                }
            }
        }
        self.slot(&shape.item, 0);
    }

    fn slot(&mut self, slot: &Slot, flags: u8) {
        self.byte(flags | bit(slot.nullable, flag::NULLABLE) | bit(slot.default.is_some(), flag::DEFAULT));
        self.number(u64::from(slot.type_id.0));
        slot.default.iter().for_each(|default| self.value(default));
    }

    fn value(&mut self, given: &Value) {
        match given {
            Value::Null => self.byte(value::NULL),
            Value::Bool(false) => self.byte(value::FALSE),
            Value::Bool(true) => self.byte(value::TRUE),
            Value::Int(number) => {
                self.byte(value::INT);
                // Small numbers of either sign stay short: the sign goes to the lowest bit.
                self.number(((number << 1) ^ (number >> 63)) as u64);
            }
            Value::UInt(number) => {
                self.byte(value::UINT);
                self.number(number.get());
            }
            Value::Float(number) => {
                self.byte(value::FLOAT);
                self.records.extend(number.get().to_bits().to_le_bytes());
            }
            Value::String(text) => {
                self.byte(value::STRING);
                self.text(text);
            }
            Value::Array(items) => {
                self.byte(value::ARRAY);
                self.number(items.len() as u64);
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(object) => {
                self.byte(value::OBJECT);
                self.number(object.len() as u64);
                for (name, value) in object.iter() {
                    self.text(name);
                    self.value(value);
                }
            }
        }
    }

    fn text(&mut self, text: &Text) {
        let number = self.text_number(text);
        self.number(u64::from(number));
    }

    pub fn text_number(&mut self, text: &Text) -> u32 {
        let next = self.texts.len() as u32;
        *self.numbers.entry(text.clone()).or_insert_with(|| {
            self.texts.push(text.clone());
            next
        })
    }

    fn byte(&mut self, byte: u8) {
        self.records.push(byte);
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }
}

fn bit(set: bool, flag: u8) -> u8 {
    if set { flag } else { 0 }
}
