//! Equality and order of values.

use super::{List, Map, MapKey, Val};
use crate::{
    Error,
    meter::Meter,
    types::{Equality, ListSemantics},
};
use std::{
    cmp::Ordering,
    collections::{BTreeSet, HashMap, HashSet},
};
use tenure_value::Value;

/// What comparing two values counts for, in bytes that are scanned.
const COMPARED: usize = 32;

impl<'v> Val<'v> {
    /// Whether both values are equal: numbers by value, sets and keyed lists regardless of order. Values of
    /// different types are not equal. What is compared is counted, since a value can be part of another many times.
    pub(crate) fn equals(&self, other: &Val<'v>, meter: &mut Meter) -> Result<bool, Error> {
        meter.scan(COMPARED)?;
        Ok(match (self, other) {
            (Val::Null, Val::Null) => true,
            (Val::Bool(a), Val::Bool(b)) => a == b,
            (Val::Int(a), Val::Int(b)) => a == b,
            (Val::String(a), Val::String(b)) if a.len() == b.len() => {
                meter.scan(a.len())?;
                a == b
            }
            (Val::Bytes(a), Val::Bytes(b)) if a.len() == b.len() => {
                meter.scan(a.len())?;
                a == b
            }
            (Val::Type(a), Val::Type(b)) => a == b,
            (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
            (Val::Duration(a), Val::Duration(b)) => a == b,
            (Val::Optional(a), Val::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.equals(b, meter)?,
                (a, b) => a.is_none() && b.is_none(),
            },
            (Val::Opaque(a), Val::Opaque(b)) => a.type_name() == b.type_name() && a.equals(&**b),
            (Val::List(a), Val::List(b)) => lists_equal(a, b, meter)?,
            (Val::Map(a), Val::Map(b)) => maps_equal(a, b, meter)?,
            (a, b) if a.is_number() && b.is_number() => a.compare_numbers(b) == Some(Ordering::Equal),
            _ => false,
        })
    }

    /// Compares two values of the same ordered type; `None` if the type has no order.
    pub fn compare(&self, other: &Val<'_>) -> Option<Ordering> {
        Some(match (self, other) {
            (Val::Bool(a), Val::Bool(b)) => a.cmp(b),
            (Val::String(a), Val::String(b)) => a.cmp(b),
            (Val::Bytes(a), Val::Bytes(b)) => a.cmp(b),
            (Val::Timestamp(a), Val::Timestamp(b)) => a.cmp(b),
            (Val::Duration(a), Val::Duration(b)) => a.cmp(b),
            (a, b) => return a.compare_numbers(b),
        })
    }

    /// Returns a key that equal values share, or `None` if values of this kind have no such key and are
    /// compared one by one.
    pub(crate) fn hash_key(&self) -> Option<MapKey> {
        match self {
            Val::Double(number) if number.fract() != 0.0 => None,
            other => MapKey::new(other),
        }
    }
}

/// The values of a document whose bytes are counted.
const WEIGHED: usize = 1 << 16;

/// Returns the approximate number of bytes of a document, up to a limit that keeps counting fast.
fn document_weight(value: &Value, left: &mut usize) -> usize {
    // Beyond this many values the rest is assumed to be small: counting it would take as long as comparing
    // it.
    let Some(fewer) = left.checked_sub(1) else { return 8 };
    *left = fewer;
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| document_weight(item, left)).sum::<usize>() + 8,
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + document_weight(value, left)).sum::<usize>() + 8
        }
        _ => 8,
    }
}

fn lists_equal<'v>(a: &List<'v>, b: &List<'v>, meter: &mut Meter) -> Result<bool, Error> {
    if a.len() != b.len() {
        return Ok(false);
    }
    let semantics = a.declared().and_then(|decl| decl.semantics());
    if let (List::Document(left, m), List::Document(right, n)) = (a, b)
        && !matches!(semantics, Some(ListSemantics::Set(_)))
        && left.ptr_eq(right)
        && m.map(std::ptr::from_ref) == n.map(std::ptr::from_ref)
    {
        return Ok(true);
    }
    // The left list says what is equal to it.
    match semantics {
        None | Some(ListSemantics::Ordered) => {
            for (x, y) in a.iter().zip(b.iter()) {
                if !x?.equals(&y?, meter)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Some(ListSemantics::Set(equality)) => sets_equal(a, b, *equality, meter),
        Some(ListSemantics::Keyed(keys, equality)) => keyed_equal(a, b, keys, *equality, meter),
    }
}

/// Compares sets of the same length, which are sets of scalars.
fn sets_equal<'v>(a: &List<'v>, b: &List<'v>, equality: Equality, meter: &mut Meter) -> Result<bool, Error> {
    if equality == Equality::Covers {
        return covers(a, b, meter);
    }
    check_scalars(a, b)?;
    Ok(covers(a, b, meter)? && covers(b, a, meter)?)
}

/// Refuses sets with lists or maps among their items.
pub(crate) fn check_scalars<'v>(a: &List<'v>, b: &List<'v>) -> Result<(), Error> {
    let is_nested = |item: Result<Val<'v>, Error>| matches!(item, Ok(Val::List(_) | Val::Map(_)));
    match a.iter().chain(b.iter()).any(is_nested) {
        true => Err(Error::evaluate("listSet operations are only supported on lists of scalar values")),
        false => Ok(()),
    }
}

/// Whether a list has every item of another.
fn covers<'v>(list: &List<'v>, other: &List<'v>, meter: &mut Meter) -> Result<bool, Error> {
    let index = Index::new(list, meter)?;
    for item in other.iter() {
        if !index.contains(&item?, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares keyed lists of the same length: each item with the one of the same key.
fn keyed_equal<'v>(
    a: &List<'v>,
    b: &List<'v>,
    keys: &[tenure_value::Text],
    equality: Equality,
    meter: &mut Meter,
) -> Result<bool, Error> {
    let mut by_key: HashMap<Vec<Option<Value>>, (Val<'v>, bool)> = HashMap::with_capacity(a.len());
    for item in a.iter() {
        let item = item?;
        by_key.insert(key_of(&item, keys), (item, false));
    }
    for other in b.iter() {
        let other = other?;
        match by_key.get_mut(&key_of(&other, keys)) {
            Some((item, is_seen)) if item.equals(&other, meter)? => *is_seen = true,
            _ => return Ok(false),
        }
    }
    Ok(equality == Equality::Covers || by_key.values().all(|(_, is_seen)| *is_seen))
}

/// Returns the values of the keys of an item.
pub(crate) fn key_of(item: &Val<'_>, keys: &[tenure_value::Text]) -> Vec<Option<Value>> {
    keys.iter()
        .map(|key| match item {
            Val::Map(Map::Document(object, _)) => object.get(key).cloned(),
            _ => None,
        })
        .collect()
}

fn maps_equal<'v>(a: &Map<'v>, b: &Map<'v>, meter: &mut Meter) -> Result<bool, Error> {
    if let (Map::Struct(m, _), Map::Struct(n, _)) = (a, b)
        && m != n
    {
        return Ok(false);
    }
    if a.len() != b.len() {
        return Ok(false);
    }
    for key in a.keys() {
        match (a.find(&key), b.find(&key)) {
            (Some(x), Some(y)) => {
                if !x?.equals(&y?, meter)? {
                    return Ok(false);
                }
            }
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// The items of a list, indexed for many lookups.
#[derive(Default)]
pub(crate) struct Index<'v> {
    keyed: BTreeSet<MapKey>,
    /// Lists and objects of documents.
    documents: HashSet<Value>,
    /// Items that are compared one by one.
    rest: Vec<Val<'v>>,
}

impl<'v> Index<'v> {
    pub fn new(list: &List<'v>, meter: &mut Meter) -> Result<Index<'v>, Error> {
        let mut index = Index::default();
        for item in list.iter() {
            index.add(&item?, meter)?;
        }
        Ok(index)
    }

    pub fn add(&mut self, item: &Val<'v>, meter: &mut Meter) -> Result<(), Error> {
        match (item.hash_key(), item.as_document()) {
            (Some(key), _) => drop(self.keyed.insert(key)),
            (None, Some(document)) => {
                meter.scan(document_weight(&document, &mut { WEIGHED }))?;
                if self.documents.insert(document) {
                    self.rest.push(item.clone());
                }
            }
            (None, None) => self.rest.push(item.clone()),
        }
        Ok(())
    }

    pub fn contains(&self, value: &Val<'v>, meter: &mut Meter) -> Result<bool, Error> {
        if let Some(key) = value.hash_key() {
            return Ok(self.keyed.contains(&key));
        }
        if let Some(document) = value.as_document() {
            meter.scan(document_weight(&document, &mut { WEIGHED }))?;
            let is_contained = self.documents.contains(&document);
            if is_contained || self.documents.len() == self.rest.len() {
                return Ok(is_contained);
            }
        }
        for item in &self.rest {
            if item.equals(value, meter)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Val<'_> {
    /// Returns this list or object as a value of its document.
    fn as_document(&self) -> Option<Value> {
        match self {
            Val::List(List::Document(array, _)) => Some(Value::Array((*array).clone())),
            Val::Map(Map::Document(object, _)) => Some(Value::Object((*object).clone())),
            _ => None,
        }
    }
}
