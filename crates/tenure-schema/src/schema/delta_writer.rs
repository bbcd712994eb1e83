//! Encodes a schema as what differs from another one. A named type has the number of the type of that name in the base, an unnamed
//! one that of an equal type there; what is left is numbered on. So a type that both have is stored once, and its number is valid
//! in both.

use super::{
    Schema, TypeRef,
    pack_writer::{Writer, text_area},
};
use crate::{
    pack::{DELTA_MAGIC, GONE},
    topology::TypeId,
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    mem,
};
use tenure_value::Text;

impl Schema {
    /// Encodes the schema as a delta over another one; equal schemas result in equal bytes.
    pub fn to_delta(&self, base: &Schema) -> Vec<u8> {
        DeltaWriter::over(base, self).encode()
    }
}

struct DeltaWriter<'s> {
    base: &'s Schema,
    schema: &'s Schema,
    writer: Writer,
    /// The records of the base, by number.
    base_records: Vec<Vec<u8>>,
    /// How many strings the base has.
    base_texts: usize,
    /// The numbers of unnamed types by their records.
    unnamed: HashMap<Vec<u8>, u32>,
    /// The types of the schema that have a number.
    numbers: HashMap<TypeId, u32>,
    next: u32,
    /// The records that the base does not have, by number.
    records: BTreeMap<u32, Vec<u8>>,
}

impl<'s> DeltaWriter<'s> {
    fn over(base: &'s Schema, schema: &'s Schema) -> DeltaWriter<'s> {
        let mut writer = Writer::default();
        let record = |ty: TypeRef<'_>| {
            writer.of(ty.get());
            mem::take(&mut writer.records)
        };
        let base_records: Vec<Vec<u8>> = base.types().map(record).collect();
        for (name, _) in base.names().chain(base.kinds()) {
            writer.text_number(name);
        }
        let named: HashSet<u32> = base.names().map(|(_, ty)| ty.id().0).collect();
        let unnamed = (0..).zip(&base_records).filter(|(number, _)| !named.contains(number));
        let unnamed = unnamed.map(|(number, record)| (record.clone(), number)).collect();
        DeltaWriter {
            base,
            schema,
            base_texts: writer.texts.len(),
            writer,
            next: base_records.len() as u32,
            base_records,
            unnamed,
            numbers: HashMap::new(),
            records: BTreeMap::new(),
        }
    }

    fn encode(mut self) -> Vec<u8> {
        let schema = self.schema;
        for (name, ty) in schema.names() {
            let number = match self.base.named(name) {
                Some(former) => former.id().0,
                None => self.fresh(),
            };
            self.numbers.insert(ty.id(), number);
        }
        for (_, ty) in schema.names() {
            let (number, record) = (self.number(ty.id()), self.record(ty.id()));
            if self.base_records.get(number as usize) != Some(&record) {
                self.records.insert(number, record);
            }
        }
        let names = self.changes(index(self.base.names()), index(schema.names()));
        let kinds = self.changes(index(self.base.kinds()), index(schema.kinds()));
        let base_types = self.base_records.len();
        let replaced: Vec<u32> =
            self.records.keys().copied().filter(|number| (*number as usize) < base_types).collect();
        let mut type_offsets = vec![0];
        let mut records = Vec::new();
        for record in self.records.values() {
            records.extend_from_slice(record);
            type_offsets.push(records.len() as u32);
        }
        let own_texts = self.writer.texts.get(self.base_texts..).unwrap_or_default();
        let (text_offsets, texts) = text_area(own_texts);

        let counts = [own_texts.len(), self.records.len(), names.len(), kinds.len()];
        let of_base = [self.base_texts, base_types, replaced.len()];
        let pairs = names.iter().chain(&kinds).flat_map(|(text, id)| [*text, *id]);
        let numbers = counts.iter().chain(&of_base).map(|count| *count as u32);
        let numbers = numbers.chain(text_offsets).chain(type_offsets).chain(pairs).chain(replaced);
        let mut bytes = DELTA_MAGIC.to_vec();
        bytes.extend(numbers.flat_map(u32::to_le_bytes));
        bytes.extend(texts);
        bytes.extend(records);
        bytes
    }

    fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Returns the number of a type of the schema; an unnamed one gets it from what it consists of.
    fn number(&mut self, ty: TypeId) -> u32 {
        if let Some(number) = self.numbers.get(&ty) {
            return *number;
        }
        let record = self.record(ty);
        let number = match self.unnamed.get(&record) {
            Some(number) => *number,
            None => {
                let number = self.fresh();
                self.unnamed.insert(record.clone(), number);
                self.records.insert(number, record);
                number
            }
        };
        self.numbers.insert(ty, number);
        number
    }

    /// Returns the record of a type with the numbers of the delta.
    fn record(&mut self, ty: TypeId) -> Vec<u8> {
        let mut numbered = self.schema.at(ty).get().clone();
        numbered.for_each_slot(|slot| slot.type_id = TypeId(self.number(slot.type_id)));
        self.writer.of(&numbered);
        mem::take(&mut self.writer.records)
    }

    /// Returns the entries of an index that the base does not have, or no longer.
    fn changes(
        &mut self,
        former: BTreeMap<Text, TypeId>,
        current: BTreeMap<Text, TypeId>,
    ) -> Vec<(u32, u32)> {
        let mut changes: BTreeMap<Text, u32> = former
            .keys()
            .filter(|name| !current.contains_key(*name))
            .map(|name| (name.clone(), GONE))
            .collect();
        for (name, id) in &current {
            let number = self.number(*id);
            if former.get(name).map(|known| known.0) != Some(number) {
                changes.insert(name.clone(), number);
            }
        }
        changes.iter().map(|(name, id)| (self.writer.text_number(name), *id)).collect()
    }
}

fn index<'s>(entries: impl Iterator<Item = (&'s Text, TypeRef<'s>)>) -> BTreeMap<Text, TypeId> {
    entries.map(|(name, ty)| (name.clone(), ty.id())).collect()
}
