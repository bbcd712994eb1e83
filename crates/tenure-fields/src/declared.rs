//! The set of fields that a value declares under a type: what an applier of that value owns.
//!
//! A struct's field is in the set where nothing below it is (a scalar, `null`, an empty object, anything
//! atomic); an entry of a map and an item of a list is in the set always. So an empty list whose items have
//! owners of their own declares nothing, which is how a kube-apiserver has it.

use crate::{Error, FieldSet, Node, PathElement};
use tenure_schema::{Key, List, ListTopology, Map, Relation, Struct, Type, TypeRef, UnknownFields};
use tenure_value::{Array, Object, Text, Value};

/// What becomes of two items of one list that have the same keys, or the same value in a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// They are an error, as in what someone applies.
    #[default]
    Refused,
    /// They are one element without anything below it, as in what is stored already.
    Tolerated,
}

impl FieldSet {
    /// Returns the fields that a value declares under a type; two items that cannot be told apart are an
    /// error.
    pub fn of(value: &Value, of: TypeRef<'_>) -> Result<FieldSet, Error> {
        FieldSet::of_with(value, of, Duplicates::Refused)
    }

    /// Returns the fields that a value declares under a type.
    pub fn of_with(value: &Value, of: TypeRef<'_>, duplicates: Duplicates) -> Result<FieldSet, Error> {
        let mut walk = Walk { duplicates, nodes: Vec::new() };
        walk.value(value, of).map(|declared| declared.below)
    }
}

/// What a value declares.
struct Declared {
    /// Whether it is owned as a whole if it is a struct's field.
    whole: bool,
    below: FieldSet,
}

impl Declared {
    const WHOLE: Declared = Declared { whole: true, below: FieldSet::EMPTY };
}

struct Walk {
    duplicates: Duplicates,
    /// The nodes of all levels that are being made, the innermost last.
    nodes: Vec<Node>,
}

impl Walk {
    fn value(&mut self, value: &Value, of: TypeRef<'_>) -> Result<Declared, Error> {
        match (of.get(), value) {
            (_, Value::Null) => Ok(Declared::WHOLE),
            (Type::Scalar(_), Value::Object(_) | Value::Array(_)) => {
                Err(mismatch("a value without parts", value))
            }
            (Type::Scalar(_), _) => Ok(Declared::WHOLE),
            (Type::Struct(fields), Value::Object(object)) => self.structure(object, fields, of),
            (Type::Map(map), Value::Object(object)) => self.map(object, map, of),
            (Type::List(list), Value::Array(items)) => self.list(items, list, of),
            (Type::Untyped, Value::Object(object)) => self.entries(object, TypeRef::untyped()),
            (Type::Untyped, _) => Ok(Declared::WHOLE),
            (Type::Struct(_) | Type::Map(_), _) => Err(mismatch("an object", value)),
            (Type::List(_), _) => Err(mismatch("a list", value)),
        }
    }

    /// Ends the level that begins at `base`.
    fn level(&mut self, base: usize) -> Result<Declared, Error> {
        Ok(Declared { whole: false, below: FieldSet::from_sorted(self.nodes.drain(base..)) })
    }

    fn structure(&mut self, object: &Object, of: &Struct, here: TypeRef<'_>) -> Result<Declared, Error> {
        if of.relation == Relation::Atomic || object.is_empty() {
            return Ok(Declared::WHOLE);
        }
        let base = self.nodes.len();
        for (name, value) in object {
            let element = PathElement::Field(name.clone());
            match of.field(name) {
                Some(field) => {
                    let slot = here.slot(&field.slot);
                    let declared = self.value(value, slot).map_err(|error| error.below(&element))?;
                    if declared.whole || !declared.below.is_empty() {
                        self.nodes.push(Node { element, included: declared.whole, children: declared.below });
                    }
                }
                None => {
                    if of.unknown == UnknownFields::Foreign {
                        let problem = "there is no such field in the type; check its spelling".to_owned();
                        return Err(Error::Document { path: element.to_string(), problem });
                    }
                    self.entry(element, value, TypeRef::untyped())?;
                }
            }
        }
        self.level(base)
    }

    fn map(&mut self, object: &Object, of: &Map, here: TypeRef<'_>) -> Result<Declared, Error> {
        match of.relation {
            Relation::Atomic => Ok(Declared::WHOLE),
            Relation::Granular => self.entries(object, here.slot(&of.value)),
        }
    }

    fn entries(&mut self, object: &Object, of: TypeRef<'_>) -> Result<Declared, Error> {
        if object.is_empty() {
            return Ok(Declared::WHOLE);
        }
        let base = self.nodes.len();
        for (name, value) in object {
            self.entry(PathElement::Field(name.clone()), value, of)?;
        }
        self.level(base)
    }

    /// Adds an element that is in the set whatever is below it.
    fn entry(&mut self, element: PathElement, value: &Value, of: TypeRef<'_>) -> Result<(), Error> {
        let declared = self.value(value, of).map_err(|error| error.below(&element))?;
        self.nodes.push(Node { element, included: true, children: declared.below });
        Ok(())
    }

    fn list(&mut self, items: &Array, of: &List, here: TypeRef<'_>) -> Result<Declared, Error> {
        if of.topology == ListTopology::Atomic {
            return Ok(Declared::WHOLE);
        }
        let mut elements = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let element = element(item, &of.topology);
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
                        "items {first} and {again} are both {element}; each item of this list must be the only one"
                    );
                    return Err(Error::Document { path: String::new(), problem });
                }
            }
            match items.get(first) {
                Some(item) if !twice => self.entry(element, item, here.slot(&of.item))?,
                _ => self.nodes.push(Node { element, included: true, children: FieldSet::default() }),
            }
        }
        self.level(base)
    }
}

/// Returns the element of an item in a list whose items are told apart.
fn element(item: &Value, topology: &ListTopology) -> Result<PathElement, Error> {
    match (topology, item) {
        (ListTopology::Keyed(keys), Value::Object(item)) => Ok(PathElement::Key(Object::from_unsorted(
            keys.iter().map(|key| key_of(item, key)).collect::<Result<_, _>>()?,
        ))),
        (ListTopology::Keyed(_), _) => Err(mismatch("an object with the keys of this list", item)),
        (ListTopology::Set, Value::Object(_) | Value::Array(_) | Value::Null) => {
            Err(mismatch("a value without parts, as in every set", item))
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
    /// Returns the step to an item of a list whose items are told apart: by its keys, an absent one counted
    /// as its default, or by its value.
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
