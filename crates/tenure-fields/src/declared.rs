//! The set of fields that a value contains according to a type: the fields that become owned by applying the
//! value.
//!
//! A field of a struct is in the set if nothing below it is (a scalar, `null`, an empty object, anything
//! atomic); an entry of a map or an item of a list is always in the set. So an empty list with individually
//! owned items contributes nothing, as in kube-apiserver.

use crate::{Error, FieldSet, Node, PathElement};
use tenure_schema::{Key, List, ListTopology, Map, Relation, Struct, Type, TypeRef, UnknownFields};
use tenure_value::{Array, Object, Text, Value};

/// How two items of a list with the same keys, or with the same value in a set, are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// As an error, for applied objects.
    #[default]
    Refused,
    /// As one element without anything below it, for stored objects.
    Tolerated,
}

impl FieldSet {
    /// Returns the fields that a value contains according to a type; duplicate items are an error.
    pub fn of(value: &Value, ty: TypeRef<'_>) -> Result<FieldSet, Error> {
        FieldSet::of_with(value, ty, Duplicates::Refused)
    }

    /// Returns the fields that a value contains according to a type.
    pub fn of_with(value: &Value, ty: TypeRef<'_>, duplicates: Duplicates) -> Result<FieldSet, Error> {
        let mut walk = FieldCollector { duplicates, nodes: Vec::new() };
        walk.value(value, ty).map(|declared| declared.below)
    }
}

/// The fields of a value.
struct Declared {
    /// Whether the value is owned as a whole if it is a field of a struct.
    whole: bool,
    below: FieldSet,
}

impl Declared {
    const WHOLE: Declared = Declared { whole: true, below: FieldSet::EMPTY };
}

struct FieldCollector {
    duplicates: Duplicates,
    /// The nodes of all levels under construction, innermost last.
    nodes: Vec<Node>,
}

impl FieldCollector {
    fn value(&mut self, value: &Value, ty: TypeRef<'_>) -> Result<Declared, Error> {
        match (ty.get(), value) {
            (_, Value::Null) => Ok(Declared::WHOLE),
            (Type::Scalar(_), Value::Object(_) | Value::Array(_)) => Err(mismatch("a scalar", value)),
            (Type::Scalar(_), _) => Ok(Declared::WHOLE),
            (Type::Struct(fields), Value::Object(object)) => self.structure(object, fields, ty),
            (Type::Map(map), Value::Object(object)) => self.map(object, map, ty),
            (Type::List(list), Value::Array(items)) => self.list(items, list, ty),
            (Type::Untyped, Value::Object(object)) => self.entries(object, TypeRef::untyped()),
            (Type::Untyped, _) => Ok(Declared::WHOLE),
            (Type::Struct(_) | Type::Map(_), _) => Err(mismatch("an object", value)),
            (Type::List(_), _) => Err(mismatch("a list", value)),
        }
    }

    /// Completes the level that starts at `base`.
    fn level(&mut self, base: usize) -> Result<Declared, Error> {
        Ok(Declared { whole: false, below: FieldSet::from_sorted(self.nodes.drain(base..)) })
    }

    fn structure(&mut self, object: &Object, shape: &Struct, here: TypeRef<'_>) -> Result<Declared, Error> {
        if shape.relation == Relation::Atomic || object.is_empty() {
            return Ok(Declared::WHOLE);
        }
        let base = self.nodes.len();
        for (name, value) in object {
            let element = PathElement::Field(name.clone());
            match shape.field(name) {
                Some(field) => {
                    let slot = here.slot(&field.slot);
                    let declared = self.value(value, slot).map_err(|error| error.below(&element))?;
                    if declared.whole || !declared.below.is_empty() {
                        self.nodes.push(Node { element, included: declared.whole, children: declared.below });
                    }
                }
                None => {
                    if shape.unknown == UnknownFields::Foreign {
                        let problem = "field not declared in the schema; check its spelling".to_owned();
                        return Err(Error::Document { path: element.to_string(), problem });
                    }
                    self.entry(element, value, TypeRef::untyped())?;
                }
            }
        }
        self.level(base)
    }

    fn map(&mut self, object: &Object, shape: &Map, here: TypeRef<'_>) -> Result<Declared, Error> {
        match shape.relation {
            Relation::Atomic => Ok(Declared::WHOLE),
            Relation::Granular => self.entries(object, here.slot(&shape.value)),
        }
    }

    fn entries(&mut self, object: &Object, ty: TypeRef<'_>) -> Result<Declared, Error> {
        if object.is_empty() {
            return Ok(Declared::WHOLE);
        }
        let base = self.nodes.len();
        for (name, value) in object {
            self.entry(PathElement::Field(name.clone()), value, ty)?;
        }
        self.level(base)
    }

    /// Adds an element that is in the set regardless of what is below it.
    fn entry(&mut self, element: PathElement, value: &Value, ty: TypeRef<'_>) -> Result<(), Error> {
        let declared = self.value(value, ty).map_err(|error| error.below(&element))?;
        self.nodes.push(Node { element, included: true, children: declared.below });
        Ok(())
    }

    fn list(&mut self, items: &Array, shape: &List, here: TypeRef<'_>) -> Result<Declared, Error> {
        if shape.topology == ListTopology::Atomic {
            return Ok(Declared::WHOLE);
        }
        let mut elements = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let element = element(item, &shape.topology);
            elements.push((element.map_err(|error| error.below(&PathElement::Index(at as i64)))?, at));
        }
        if !elements.is_sorted() {
            elements.sort();
        }
        let base = self.nodes.len();
        let mut elements = elements.into_iter().peekable();
        while let Some((element, first)) = elements.next() {
            let mut twice = false;
            while let Some((_, again)) = elements.next_if(|(next, _)| *next == element) {
                twice = true;
                if self.duplicates == Duplicates::Refused {
                    let problem = format!(
                        "items {first} and {again} are both {element}; items of this list must be unique"
                    );
                    return Err(Error::Document { path: String::new(), problem });
                }
            }
            match items.get(first) {
                Some(item) if !twice => self.entry(element, item, here.slot(&shape.item))?,
                _ => self.nodes.push(Node { element, included: true, children: FieldSet::default() }),
            }
        }
        self.level(base)
    }
}

/// Returns the path element of an item of a keyed list or a set.
fn element(item: &Value, topology: &ListTopology) -> Result<PathElement, Error> {
    match (topology, item) {
        (ListTopology::Keyed(keys), Value::Object(item)) => Ok(PathElement::Key(Object::from_unsorted(
            keys.iter().map(|key| key_of(item, key)).collect::<Result<_, _>>()?,
        ))),
        (ListTopology::Keyed(_), _) => Err(mismatch("an object with the keys of this list", item)),
        (ListTopology::Set, Value::Object(_) | Value::Array(_) | Value::Null) => {
            Err(mismatch("a scalar, as in every set", item))
        }
        (ListTopology::Set | ListTopology::Atomic, _) => Ok(PathElement::Value(item.clone())),
    }
}

fn key_of(item: &Object, key: &Key) -> Result<(Text, Value), Error> {
    match item.get(&key.name).or(key.default.as_ref()) {
        Some(value) => Ok((key.name.clone(), value.clone())),
        None => {
            let problem = format!("no value for key {:?}; every item of this list needs one", key.name);
            Err(Error::Document { path: String::new(), problem })
        }
    }
}

impl PathElement {
    /// Returns the path element of an item of a keyed list or a set: by its keys, with defaults for missing
    /// ones, or by its value.
    pub fn of_item(item: &Value, list: &List) -> Result<PathElement, Error> {
        element(item, &list.topology)
    }
}

fn mismatch(expected: &str, found: &Value) -> Error {
    let problem = format!("expected {expected}, found {}", Kind(found));
    Error::Document { path: String::new(), problem }
}

/// The kind of a value with its article.
struct Kind<'v>(&'v Value);

impl std::fmt::Display for Kind<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Value::Null => f.write_str("null"),
            Value::Int(_) | Value::UInt(_) | Value::Object(_) => write!(f, "an {}", self.0.kind()),
            other => write!(f, "a {}", other.kind()),
        }
    }
}
