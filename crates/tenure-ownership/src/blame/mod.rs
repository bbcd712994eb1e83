//! The owners of every line and field of an object. Every path of every manager appears exactly once: at a field, at the
//! object or list that contains fields, or among those that the object does not contain.

mod lines;

use crate::{
    LiveObject,
    owner::{self, Owner},
    path::is_server_maintained,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use tenure_apply::{FieldOwners, ownership_by_place};
use tenure_fields::{FieldSet, Path};
use tenure_schema::TypeRef;
use tenure_value::{Object, Pointer, Value, yaml};

/// An object with the owners of all its fields.
#[derive(Clone, Debug)]
pub struct Blame {
    /// The object's identity, as a document.
    pub subject: Value,
    /// The lines of the object as YAML.
    pub lines: Vec<Line>,
    /// Every field with its owners.
    pub fields: Vec<Field>,
    /// Owned paths that the object does not contain: omitted zero values and fields of other versions.
    pub absent: Vec<(Path, Vec<Owner>)>,
    /// The names of all managers, in their order.
    pub managers: Vec<String>,
}

/// A line of the object.
#[derive(Clone, Debug)]
pub struct Line {
    /// The text of the line.
    pub text: String,
    /// Its owners.
    pub ownership: Ownership,
    /// The path of the field that it shows or is part of.
    pub path: Path,
    at: Pointer,
}

/// The owners of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Ownership {
    /// These managers own it.
    Owned(Vec<Owner>),
    /// No manager owns it, as with a default.
    Unowned,
    /// It cannot be owned: the parent of other lines, or a field that the server maintains.
    NotOwnable,
}

/// A field that is owned as a unit.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its path.
    pub path: Path,
    /// Its value; `None` for a parent of fields that have owners of their own.
    pub value: Option<Value>,
    /// Its owners.
    pub owners: Vec<Owner>,
}

impl Blame {
    /// Finds the owners of every field of an object.
    pub fn of(live: &LiveObject, ty: TypeRef<'_>) -> Blame {
        let places = ownership_by_place(&live.object, &live.managers, ty);
        let shown: FieldSet = places.iter().map(|place| &place.path).collect();
        let mut by_pointer: HashMap<Pointer, (&FieldOwners, Role)> = HashMap::with_capacity(places.len());
        for (at, place) in places.iter().enumerate() {
            let is_parent = places.get(at + 1).is_some_and(|next| next.path.starts_with(&place.path));
            let role = if is_parent { Role::Parent } else { Role::Leaf };
            if let Some(pointer) = place.path.pointer(&live.object, ty) {
                by_pointer.insert(pointer, (place, role));
            }
        }
        let lines = yaml::to_lines(&live.object).into_iter().map(|line| {
            // A line may be part of an atomic value, which is owned as a unit.
            let found = line.at.ancestors().find_map(|at| by_pointer.get(&at));
            let ownership =
                found.map_or(Ownership::NotOwnable, |(place, role)| ownership(place, *role, live));
            let path = found.map(|(place, _)| place.path.clone()).unwrap_or_default();
            Line { text: line.text, ownership, path, at: line.at }
        });
        let lines = lines.collect();
        let absent = absent(live, &shown);
        Blame { subject: subject(live), lines, fields: fields(places), absent, managers: managers(live) }
    }

    /// Returns the fields and their owners as a document.
    pub fn to_value(&self) -> Value {
        let field = |field: &Field| {
            let shown = Object::default().with("path", field.path.quoted().to_string());
            let shown = shown.with("owners", owner::list(&field.owners));
            Value::Object(match &field.value {
                Some(value) => shown.with("value", value.clone()),
                None => shown,
            })
        };
        let absent = |(path, owners): &(Path, Vec<Owner>)| {
            Value::object([("path", Value::from(path.quoted().to_string())), ("owners", owner::list(owners))])
        };
        Value::object([
            ("object", self.subject.clone()),
            ("fields", Value::array(self.fields.iter().map(field))),
            ("absent", Value::array(self.absent.iter().map(absent))),
        ])
    }
}

fn subject(live: &LiveObject) -> Value {
    let names = [
        ("apiVersion", live.api_version()),
        ("kind", live.kind()),
        ("namespace", live.namespace()),
        ("name", live.name()),
    ];
    let names = names.into_iter().filter(|(_, text)| !text.is_empty());
    Value::object(names.map(|(name, text)| (name, Value::from(text))))
}

fn managers(live: &LiveObject) -> Vec<String> {
    let mut seen = HashSet::new();
    let names = live.managers.iter().map(|manager| manager.name.to_string());
    names.filter(|name| seen.insert(name.clone())).collect()
}

fn fields(places: Vec<FieldOwners>) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::with_capacity(places.len());
    let mut places = places.into_iter().peekable();
    while let Some(place) = places.next() {
        let is_parent = places.peek().is_some_and(|next| next.path.starts_with(&place.path));
        if is_parent && place.owners.is_empty() {
            continue;
        }
        let value = (!is_parent).then_some(place.value);
        fields.push(Field { path: place.path, value, owners: place.owners });
    }
    fields
}

fn absent(live: &LiveObject, shown: &FieldSet) -> Vec<(Path, Vec<Owner>)> {
    let mut absent: BTreeMap<Path, Vec<Owner>> = BTreeMap::new();
    for manager in &live.managers {
        for path in manager.fields.difference(shown).iter() {
            absent.entry(path).or_default().push(Owner::from(manager));
        }
    }
    absent.into_iter().collect()
}

/// Whether a place is owned as a unit.
#[derive(Clone, Copy)]
enum Role {
    Leaf,
    Parent,
}

/// Returns the owners of a place, as its first line shows them.
fn ownership(place: &FieldOwners, role: Role, live: &LiveObject) -> Ownership {
    if is_server_maintained(&place.path) {
        return Ownership::NotOwnable;
    }
    match role {
        Role::Leaf if place.owners.is_empty() => Ownership::Unowned,
        Role::Leaf => Ownership::Owned(place.owners.clone()),
        // A manager that owns a field inside is shown there.
        Role::Parent => {
            let owns_inside = |owner: &&Owner| {
                let manager = live.managers.get(&owner.identity());
                manager.is_some_and(|manager| !manager.fields.below(&place.path).is_empty())
            };
            let own: Vec<Owner> = place.owners.iter().filter(|owner| !owns_inside(owner)).cloned().collect();
            if own.is_empty() { Ownership::NotOwnable } else { Ownership::Owned(own) }
        }
    }
}
