//! Lists and maps: parts of documents, or created by an expression.

use super::{Declared, Val};
use crate::{Error, types::Decl};
use std::{borrow::Cow, collections::BTreeMap, ops::Deref, sync::Arc};
use tenure_value::{Array, Object, Text};

/// A list.
#[derive(Clone, Debug)]
pub enum List<'v> {
    /// A list of a document, with its declaration.
    Document(&'v Array, Option<&'v Decl>),
    /// A list created by an expression.
    Made(Arc<Made<Vec<Val<'v>>>>),
    /// A list to which an expression added items, with the declaration that says how they are identified.
    Extended(Arc<Made<Vec<Val<'v>>>>, &'v Decl),
}

/// A map, or an object with named fields.
#[derive(Clone, Debug)]
pub enum Map<'v> {
    /// An object of a document, with its declaration.
    Document(&'v Object, Option<&'v Decl>),
    /// A map created by an expression.
    Made(Arc<Made<BTreeMap<MapKey, Val<'v>>>>),
    /// An object of a named type created by an expression.
    Struct(Text, Arc<Made<BTreeMap<MapKey, Val<'v>>>>),
}

/// The content of a list or map created by an expression. It can be part of many values and can contain others many times; how
/// deep it is nested is known, since everything that goes through a value recurses.
#[derive(Clone, Debug)]
pub struct Made<C> {
    content: C,
    depth: usize,
}

impl<C> Deref for Made<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.content
    }
}

impl<'v> Made<Vec<Val<'v>>> {
    pub(super) fn list(content: Vec<Val<'v>>) -> Made<Vec<Val<'v>>> {
        let depth = 1 + content.iter().map(Val::depth).max().unwrap_or(0);
        Made { content, depth }
    }
}

impl<'v> Made<BTreeMap<MapKey, Val<'v>>> {
    pub(crate) fn map(content: BTreeMap<MapKey, Val<'v>>) -> Made<BTreeMap<MapKey, Val<'v>>> {
        let depth = 1 + content.values().map(Val::depth).max().unwrap_or(0);
        Made { content, depth }
    }
}

/// A key of a map created by an expression. A signed and an unsigned integer with the same value are the same
/// key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MapKey {
    /// `true` or `false`.
    Bool(bool),
    /// A signed or unsigned integer.
    Integer(i128),
    /// A string.
    String(Text),
}

impl MapKey {
    /// Returns a value as a key, or `None` if its type cannot be one.
    pub fn new(value: &Val<'_>) -> Option<MapKey> {
        match value {
            Val::Bool(flag) => Some(MapKey::Bool(*flag)),
            Val::String(text) => Some(MapKey::String(text.clone())),
            Val::Double(number) if number.fract() == 0.0 && number.abs() < 4e19 => {
                Some(MapKey::Integer(*number as i128))
            }
            number => number.as_integer().map(MapKey::Integer),
        }
    }

    /// Returns the key as a value.
    pub fn to_val<'v>(&self) -> Val<'v> {
        match self {
            MapKey::Bool(flag) => Val::Bool(*flag),
            MapKey::String(text) => Val::String(text.clone()),
            MapKey::Integer(number) => match i64::try_from(*number) {
                Ok(number) => Val::Int(number),
                Err(_) => Val::UInt(u64::try_from(*number).unwrap_or(u64::MAX)),
            },
        }
    }
}

impl<'v> List<'v> {
    /// Returns the number of items.
    pub fn len(&self) -> usize {
        match self {
            List::Document(array, _) => array.len(),
            List::Made(items) | List::Extended(items, _) => items.len(),
        }
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an item; an error if the value in the document does not match its declaration.
    pub fn get(&self, at: usize) -> Option<Result<Val<'v>, Error>> {
        match self {
            List::Document(array, decl) => {
                let item = array.get(at)?;
                Some(Val::from_document(item, decl.and_then(Decl::element)))
            }
            List::Made(items) | List::Extended(items, _) => items.get(at).cloned().map(Ok),
        }
    }

    /// Iterates over the items.
    pub fn iter(&self) -> impl Iterator<Item = Result<Val<'v>, Error>> + '_ {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// Returns the items.
    pub fn to_vec(&self) -> Result<Vec<Val<'v>>, Error> {
        match self {
            List::Made(items) | List::Extended(items, _) => Ok(items.to_vec()),
            List::Document(..) => self.iter().collect(),
        }
    }

    pub(super) fn depth(&self) -> usize {
        match self {
            List::Document(..) => 1,
            List::Made(items) | List::Extended(items, _) => items.depth,
        }
    }

    pub(crate) fn declared(&self) -> Declared<'v> {
        match self {
            List::Document(_, decl) => *decl,
            List::Made(_) => None,
            List::Extended(_, decl) => Some(decl),
        }
    }

    /// Returns the list with items added to it, which are identified as those before.
    pub(crate) fn extended(&self, items: Vec<Val<'v>>) -> List<'v> {
        let items = Arc::new(Made::list(items));
        match self.declared() {
            Some(decl) => List::Extended(items, decl),
            None => List::Made(items),
        }
    }
}

fn is_set(object: &Object, property: &Text) -> bool {
    object.get(property).is_some_and(|value| !value.is_null())
}

impl<'v> Map<'v> {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        match self {
            Map::Document(object, None) => object.len(),
            Map::Document(object, Some(decl)) if decl.is_map() => object.len(),
            Map::Document(object, Some(decl)) => {
                decl.fields().iter().filter(|field| is_set(object, &field.property)).count()
            }
            Map::Made(entries) | Map::Struct(_, entries) => entries.len(),
        }
    }

    pub(super) fn depth(&self) -> usize {
        match self {
            Map::Document(..) => 1,
            Map::Made(entries) | Map::Struct(_, entries) => entries.depth,
        }
    }

    /// Returns this map with an entry. A map created by an expression is not copied if it is not part of other values.
    pub fn with(self, key: MapKey, value: Val<'v>) -> Result<Map<'v>, Error> {
        let mut entries = match self {
            Map::Made(entries) | Map::Struct(_, entries) => entries,
            document => Arc::new(Made::map(document.entries()?.into_owned())),
        };
        let made = Arc::make_mut(&mut entries);
        made.depth = made.depth.max(1 + value.depth());
        made.content.insert(key, value);
        Ok(Map::Made(entries))
    }

    /// Whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn type_name(&self) -> &str {
        match self {
            Map::Document(_, Some(decl)) => decl.object_name().unwrap_or("map"),
            Map::Struct(name, _) => name,
            _ => "map",
        }
    }

    /// Returns the value of a field or of a string key.
    pub fn get(&self, name: &str) -> Option<Result<Val<'v>, Error>> {
        match self {
            Map::Document(object, None) => Some(Val::from_document(object.get(name)?, None)),
            Map::Document(object, Some(decl)) => match decl.object_name() {
                Some(_) => {
                    let field = decl.field(name)?;
                    // A declared field that is null is absent.
                    let value = object.get(&field.property).filter(|value| !value.is_null())?;
                    Some(Val::from_document(value, Some(&field.decl)))
                }
                None => Some(Val::from_document(object.get(name)?, decl.element())),
            },
            // The lookup needs an owned key; short strings are copied without an allocation.
            Map::Made(entries) | Map::Struct(_, entries) => {
                entries.get(&MapKey::String(name.into())).cloned().map(Ok)
            }
        }
    }

    /// Returns the value of a key.
    pub fn find(&self, key: &Val<'_>) -> Option<Result<Val<'v>, Error>> {
        match (self, key) {
            (_, Val::String(name)) => self.get(name),
            (Map::Made(entries) | Map::Struct(_, entries), key) => {
                entries.get(&MapKey::new(key)?).cloned().map(Ok)
            }
            _ => None,
        }
    }

    /// Returns the keys in order.
    pub fn keys(&self) -> Vec<Val<'v>> {
        match self {
            Map::Document(object, Some(decl)) if decl.object_name().is_some() => {
                let held = decl.fields().iter().filter(|field| is_set(object, &field.property));
                held.map(|field| Val::String(field.name.clone())).collect()
            }
            Map::Document(object, _) => object.iter().map(|(name, _)| Val::String(name.clone())).collect(),
            Map::Made(entries) | Map::Struct(_, entries) => entries.keys().map(MapKey::to_val).collect(),
        }
    }

    /// Returns the entries in the order of their keys.
    pub fn entries(&self) -> Result<Cow<'_, BTreeMap<MapKey, Val<'v>>>, Error> {
        match self {
            Map::Made(entries) | Map::Struct(_, entries) => Ok(Cow::Borrowed(entries)),
            Map::Document(..) => {
                let mut entries = BTreeMap::new();
                for key in self.keys() {
                    if let (Some(value), Some(key)) = (self.find(&key), MapKey::new(&key)) {
                        entries.insert(key, value?);
                    }
                }
                Ok(Cow::Owned(entries))
            }
        }
    }
}
