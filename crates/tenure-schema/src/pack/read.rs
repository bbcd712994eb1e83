//! Decodes single types of a pack. Opening only parses the header; everything else is accessed by checked
//! offsets, so a damaged pack results in an error and never in a panic.

use super::{DELTA_MAGIC, GONE, MAGIC, SCALARS, flag, list, tag, value};
use crate::{
    Field, Key, List, ListTopology, Map, PatchMarks, PatchStrategy, Relation, Scalar, SchemaError, Slot,
    Struct, Type, TypeId, UnknownFields,
};
use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap, ops::Range};
use tenure_value::{Limits, Object, Text, Value};

/// The maximum nesting depth of a default value.
const DEPTH: usize = Limits::DEPTH;

const HEADER: usize = MAGIC.len() + 4 * 4;
const DELTA_HEADER: usize = HEADER + 4 * 3;

/// An opened pack.
#[derive(Debug)]
pub(crate) struct Pack {
    bytes: Cow<'static, [u8]>,
    texts: u32,
    types: u32,
    names: u32,
    kinds: u32,
    /// What a delta changes, and how many of its types it replaces.
    base: Option<(Box<Pack>, u32)>,
}

type Index = Box<[(Text, TypeId)]>;

impl Pack {
    /// Parses the header of a pack.
    pub fn open(bytes: Cow<'static, [u8]>) -> Result<Pack, SchemaError> {
        Pack::parse(bytes, MAGIC, None)
    }

    /// Parses the header of a delta.
    pub fn open_delta(bytes: Cow<'static, [u8]>, base: Pack) -> Result<Pack, SchemaError> {
        let count = |at: usize| number_at(&bytes, HEADER + 4 * at);
        let (texts, types, replaced) = (count(0)?, count(1)?, count(2)?);
        if (texts, types) != (base.text_count(), base.type_count()) {
            return Err(damaged("it changes another pack"));
        }
        Pack::parse(bytes, DELTA_MAGIC, Some((Box::new(base), replaced)))
    }

    fn parse(
        bytes: Cow<'static, [u8]>,
        magic: &[u8],
        base: Option<(Box<Pack>, u32)>,
    ) -> Result<Pack, SchemaError> {
        if !bytes.starts_with(magic) {
            return Err(damaged("it has another version"));
        }
        let count = |at: usize| number_at(&bytes, MAGIC.len() + 4 * at);
        let (texts, types, names, kinds) = (count(0)?, count(1)?, count(2)?, count(3)?);
        let pack = Pack { texts, types, names, kinds, base, bytes };
        if pack.text_area() > pack.bytes.len() {
            return Err(damaged("it is truncated in its tables"));
        }
        if pack.replaced() > pack.types {
            return Err(damaged("it replaces more types than it has"));
        }
        Ok(pack)
    }

    /// Decodes everything once.
    pub fn check(&self) -> Result<(), SchemaError> {
        if let Some((base, _)) = &self.base {
            base.check()?;
        }
        for (start, length) in [(self.name_table(), self.names), (self.kind_table(), self.kinds)] {
            let index = self.entries(start, length)?;
            if !index.windows(2).all(|pair| pair[0].0 < pair[1].0) {
                return Err(damaged("its names are out of order"));
            }
        }
        let replaced = (0..self.replaced()).map(|at| self.entry(self.replaced_table(), at));
        if !replaced.collect::<Result<Vec<_>, _>>()?.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err(damaged("the types that it replaces are out of order"));
        }
        (0..self.type_count()).try_for_each(|number| self.decode(TypeId(number)).map(drop))
    }

    /// Returns how many types there are, those of the base included.
    pub fn type_count(&self) -> u32 {
        self.base.as_ref().map_or(self.types, |(base, replaced)| base.type_count() + self.types - replaced)
    }

    fn text_count(&self) -> u32 {
        self.base.as_ref().map_or(0, |(base, _)| base.text_count()) + self.texts
    }

    pub fn names(&self) -> Index {
        let base = self.base.as_ref().map(|(base, _)| base.names());
        self.index(base, self.name_table(), self.names)
    }

    pub fn kinds(&self) -> Index {
        let base = self.base.as_ref().map(|(base, _)| base.kinds());
        self.index(base, self.kind_table(), self.kinds)
    }

    /// Decodes one type.
    pub fn decode(&self, id: TypeId) -> Result<Type, SchemaError> {
        let number = match &self.base {
            None => id.0,
            Some((base, replaced)) => match id.0.checked_sub(base.type_count()) {
                Some(added) => replaced + added,
                None => match self.replacement(id.0)? {
                    Some(number) => number,
                    None => return base.decode(id),
                },
            },
        };
        let types = self.text_area() + self.entry(self.text_table(), self.texts)? as usize;
        let range = self.range(self.type_table(), number, types)?;
        let mut record = Record { pack: self, rest: self.bytes.get(range).ok_or_else(cut_short)? };
        let ty = record.of()?;
        if record.rest.is_empty() { Ok(ty) } else { Err(damaged("a type is too long")) }
    }

    fn replaced(&self) -> u32 {
        self.base.as_ref().map_or(0, |(_, replaced)| *replaced)
    }

    /// Finds the record that replaces a type of the base.
    fn replacement(&self, id: u32) -> Result<Option<u32>, SchemaError> {
        let (mut from, mut to) = (0, self.replaced());
        while from < to {
            let middle = from + (to - from) / 2;
            match self.entry(self.replaced_table(), middle)?.cmp(&id) {
                Ordering::Less => from = middle + 1,
                Ordering::Equal => return Ok(Some(middle)),
                Ordering::Greater => to = middle,
            }
        }
        Ok(None)
    }

    fn text_table(&self) -> usize {
        if self.base.is_some() { DELTA_HEADER } else { HEADER }
    }

    fn type_table(&self) -> usize {
        self.text_table() + 4 * (self.texts as usize + 1)
    }

    fn name_table(&self) -> usize {
        self.type_table() + 4 * (self.types as usize + 1)
    }

    fn kind_table(&self) -> usize {
        self.name_table() + 8 * self.names as usize
    }

    fn replaced_table(&self) -> usize {
        self.kind_table() + 8 * self.kinds as usize
    }

    fn text_area(&self) -> usize {
        self.replaced_table() + 4 * self.replaced() as usize
    }

    fn entry(&self, table: usize, number: u32) -> Result<u32, SchemaError> {
        number_at(&self.bytes, table + 4 * number as usize)
    }

    fn range(&self, table: usize, number: u32, area: usize) -> Result<Range<usize>, SchemaError> {
        let (start, end) = (self.entry(table, number)?, self.entry(table, number + 1)?);
        Ok(area + start as usize..area + end as usize)
    }

    fn text(&self, number: u32) -> Result<Text, SchemaError> {
        let number = match &self.base {
            Some((base, _)) => match number.checked_sub(base.text_count()) {
                Some(own) => own,
                None => return base.text(number),
            },
            None => number,
        };
        if number >= self.texts {
            return Err(damaged("a string is missing"));
        }
        let range = self.range(self.text_table(), number, self.text_area())?;
        let bytes = self.bytes.get(range).ok_or_else(cut_short)?;
        std::str::from_utf8(bytes).map(Text::new).map_err(|_| damaged("a string is not UTF-8"))
    }

    fn type_id(&self, number: u32) -> Result<TypeId, SchemaError> {
        if number < self.type_count() { Ok(TypeId(number)) } else { Err(damaged("a type is missing")) }
    }

    /// Returns an index of the base with the entries of a table of this pack.
    fn index(&self, base: Option<Index>, start: usize, length: u32) -> Index {
        let own = self.entries(start, length).unwrap_or_default();
        let Some(base) = base else {
            return own.into_iter().filter_map(|(text, id)| Some((text, id?))).collect();
        };
        let mut index: BTreeMap<Text, TypeId> = base.into_vec().into_iter().collect();
        for (text, id) in own {
            match id {
                Some(id) => index.insert(text, id),
                None => index.remove(&text),
            };
        }
        index.into_iter().collect()
    }

    fn entries(&self, start: usize, length: u32) -> Result<Vec<(Text, Option<TypeId>)>, SchemaError> {
        let one = |number| {
            let text = self.text(self.entry(start, 2 * number)?)?;
            Ok(match self.entry(start, 2 * number + 1)? {
                GONE if self.base.is_some() => (text, None),
                number => (text, Some(self.type_id(number)?)),
            })
        };
        (0..length).map(one).collect()
    }
}

/// The rest of the record of a type.
struct Record<'p> {
    pack: &'p Pack,
    rest: &'p [u8],
}

impl Record<'_> {
    fn of(&mut self) -> Result<Type, SchemaError> {
        Ok(match self.byte()? {
            tag::STRUCT => Type::Struct(self.record()?),
            tag::MAP => {
                let relation = relation(self.byte()?);
                Type::Map(Map { value: self.slot()?.0, relation })
            }
            tag::LIST => {
                let topology = self.list_topology()?;
                Type::List(List { item: self.slot()?.0, topology })
            }
            tag::SCALAR => Type::Scalar(Scalar {
                kind: *SCALARS
                    .get(usize::from(self.byte()?))
                    .ok_or_else(|| damaged("unknown kind of scalar"))?,
                format: self.text()?,
                values: self.many(|record| record.value(DEPTH))?,
            }),
            tag::UNTYPED => Type::Untyped,
            _ => return Err(damaged("unknown kind of type")),
        })
    }

    fn record(&mut self) -> Result<Struct, SchemaError> {
        let flags = self.byte()?;
        let unknown = match flags & flag::PRESERVES_UNKNOWN {
            0 => UnknownFields::Foreign,
            _ => UnknownFields::Preserved,
        };
        let fields = self.many(Record::field)?;
        // Fields are found by binary search.
        if !fields.windows(2).all(|pair| pair[0].name < pair[1].name) {
            return Err(damaged("the fields of a type are out of order"));
        }
        let embedded_resource = flags & flag::EMBEDDED_RESOURCE != 0;
        Ok(Struct { fields: fields.into_vec().into(), relation: relation(flags), unknown, embedded_resource })
    }

    fn field(&mut self) -> Result<Field, SchemaError> {
        let name = self.text()?;
        let (slot, flags) = self.slot()?;
        let patch = match flags & flag::PATCH_MARKS {
            0 => PatchMarks::default(),
            _ => self.patch_marks()?,
        };
        Ok(Field { name, slot, required: flags & flag::REQUIRED != 0, patch })
    }

    fn patch_marks(&mut self) -> Result<PatchMarks, SchemaError> {
        let flags = self.byte()?;
        let strategy = PatchStrategy {
            merge: flags & flag::MERGE != 0,
            replace: flags & flag::REPLACE != 0,
            retain_keys: flags & flag::RETAIN_KEYS != 0,
        };
        let merge_key = if flags & flag::MERGE_KEY != 0 { Some(self.text()?) } else { None };
        Ok(PatchMarks { strategy, merge_key, recommended_keys: self.many(Record::text)? })
    }

    fn list_topology(&mut self) -> Result<ListTopology, SchemaError> {
        Ok(match self.byte()? {
            list::ATOMIC => ListTopology::Atomic,
            list::SET => ListTopology::Set,
            list::KEYED => ListTopology::Keyed(self.many(|record| {
                let name = record.text()?;
                let flags = record.byte()?;
                Ok(Key { name, default: record.default(flags)? })
            })?),
            _ => return Err(damaged("unknown kind of list")),
        })
    }

    fn slot(&mut self) -> Result<(Slot, u8), SchemaError> {
        let flags = self.byte()?;
        let number = self.number32()?;
        let id = self.pack.type_id(number)?;
        let default = self.default(flags)?;
        Ok((Slot { type_id: id, nullable: flags & flag::NULLABLE != 0, default }, flags))
    }

    fn default(&mut self, flags: u8) -> Result<Option<Value>, SchemaError> {
        if flags & flag::DEFAULT != 0 { self.value(DEPTH).map(Some) } else { Ok(None) }
    }

    fn value(&mut self, depth: usize) -> Result<Value, SchemaError> {
        let below = depth.checked_sub(1).ok_or_else(|| damaged("a value is nested too deep"))?;
        Ok(match self.byte()? {
            value::NULL => Value::Null,
            value::FALSE => Value::Bool(false),
            value::TRUE => Value::Bool(true),
            value::INT => {
                let number = self.number()?;
                Value::Int((number >> 1) as i64 ^ -((number & 1) as i64))
            }
            value::UINT => Value::unsigned(self.number()?),
            value::FLOAT => {
                let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(cut_short)?;
                self.rest = rest;
                let number = f64::from_bits(u64::from_le_bytes(*bytes));
                Value::float(number).ok_or_else(|| damaged("a number is not finite"))?
            }
            value::STRING => Value::String(self.text()?),
            value::ARRAY => Value::array(self.many(|record| record.value(below))?),
            value::OBJECT => {
                let fields = self.many(|record| Ok((record.text()?, record.value(below)?)))?;
                Value::Object(Object::from_unsorted(fields.into_vec()))
            }
            _ => return Err(damaged("unknown kind of value")),
        })
    }

    fn many<T>(
        &mut self,
        one: impl Fn(&mut Self) -> Result<T, SchemaError>,
    ) -> Result<Box<[T]>, SchemaError> {
        let count = self.number32()? as usize;
        // Every item takes at least one byte, so a larger count is invalid and must not allocate.
        if count > self.rest.len() {
            return Err(cut_short());
        }
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(one(self)?);
        }
        Ok(all.into())
    }

    fn text(&mut self) -> Result<Text, SchemaError> {
        let number = self.number32()?;
        self.pack.text(number)
    }

    fn byte(&mut self) -> Result<u8, SchemaError> {
        let (byte, rest) = self.rest.split_first().ok_or_else(cut_short)?;
        self.rest = rest;
        Ok(*byte)
    }

    fn number(&mut self) -> Result<u64, SchemaError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged("a number is too long"))
    }

    fn number32(&mut self) -> Result<u32, SchemaError> {
        u32::try_from(self.number()?).map_err(|_| damaged("a number is too large"))
    }
}

fn relation(flags: u8) -> Relation {
    if flags & flag::ATOMIC != 0 { Relation::Atomic } else { Relation::Granular }
}

fn number_at(bytes: &[u8], at: usize) -> Result<u32, SchemaError> {
    let four = bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or_else(cut_short)?;
    Ok(u32::from_le_bytes(*four))
}

fn damaged(what: &str) -> SchemaError {
    SchemaError::Pack { what: what.into() }
}

fn cut_short() -> SchemaError {
    damaged("it is truncated")
}
