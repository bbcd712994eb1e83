//! Who holds what, line by line and path by path. Every path of every manager is here exactly once: at a line, at
//! the object or list around lines, or among those that the object does not show.

use crate::live::LiveObject;
use std::collections::HashMap;
use tenure_apply::{Holder, holdings};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_schema::{ListTopology, Relation, Type, TypeRef};
use tenure_value::{Object, Step, Value, yaml};

/// What tells an object apart or is kept by the server; nobody can hold it.
const NOBODYS: [&[&str]; 10] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "uid"],
    &["metadata", "resourceVersion"],
    &["metadata", "generation"],
    &["metadata", "creationTimestamp"],
    &["metadata", "deletionTimestamp"],
    &["metadata", "selfLink"],
];

/// An object with the holders of all its parts.
pub struct Sheet {
    /// Which object it is.
    pub subject: Value,
    /// The lines of the object.
    pub lines: Vec<Line>,
    /// Every part with its holders.
    pub parts: Vec<Part>,
    /// What is held, but not shown by the object: zeros that were left out, fields of other versions.
    pub absent: Vec<(Path, Vec<Holder>)>,
    /// The names of all managers, in their order: the order of their colours.
    pub names: Vec<String>,
}

/// A line of the object.
pub struct Line {
    /// The line itself.
    pub text: String,
    /// How it stands with holders.
    pub tenure: Tenure,
    /// The way to what it shows.
    at: Vec<Step>,
}

/// How a line stands with holders.
#[derive(Clone, Debug, PartialEq)]
pub enum Tenure {
    /// These hold it.
    Held(Vec<Holder>),
    /// Nobody does, though one could.
    Unheld,
    /// It is not for anyone to hold: what is around other lines, and what the server keeps.
    Nobodys,
}

/// A part that is held as one.
pub struct Part {
    /// Where it stands.
    pub path: Path,
    /// What stands there; nothing for what has parts with holders of their own.
    pub value: Option<Value>,
    /// Who holds it.
    pub holders: Vec<Holder>,
}

impl Sheet {
    /// Works out who holds what.
    pub fn of(live: &LiveObject, ty: TypeRef<'_>) -> Sheet {
        let places = holdings(&live.object, &live.managers, ty);
        let holders: HashMap<&Path, &Vec<Holder>> =
            places.iter().map(|place| (&place.path, &place.holders)).collect();
        let lines = yaml::to_lines(&live.object);
        let lines = lines.into_iter().map(|line| {
            let (path, part) = locate(&live.object, &line.at, ty);
            let own = holders.get(&path).map(|holders| holders.to_vec()).unwrap_or_default();
            let tenure = match part {
                _ if is_nobodys(&path) => Tenure::Nobodys,
                Kind::Leaf if own.is_empty() => Tenure::Unheld,
                Kind::Leaf => Tenure::Held(own),
                // Whoever holds something inside is shown there.
                Kind::Around => {
                    let inside = |holder: &Holder| {
                        let manager = live.managers.get(&holder.identity());
                        manager.is_some_and(|manager| !manager.fields.below(&path).is_empty())
                    };
                    let own: Vec<Holder> = own.into_iter().filter(|holder| !inside(holder)).collect();
                    if own.is_empty() { Tenure::Nobodys } else { Tenure::Held(own) }
                }
            };
            Line { text: line.text, tenure, at: line.at }
        });
        let lines = lines.collect();
        let mut shown = FieldSet::default();
        for place in &places {
            shown.insert(&place.path);
        }
        let parts = parts(places);
        Sheet { subject: subject(live), lines, parts, absent: absent(live, &shown), names: names(live) }
    }

    /// Keeps only what some managers hold, and the lines that lead there; everything where none is named.
    pub fn only(mut self, managers: &[String]) -> Sheet {
        if managers.is_empty() {
            return self;
        }
        let meant = |holders: &[Holder]| {
            holders.iter().any(|holder| managers.iter().any(|name| *name == holder.name.as_str()))
        };
        let held: Vec<Vec<Step>> = self
            .lines
            .iter()
            .filter(|line| matches!(&line.tenure, Tenure::Held(holders) if meant(holders)))
            .map(|line| line.at.clone())
            .collect();
        self.lines.retain(|line| held.iter().any(|held| held.starts_with(&line.at)));
        self.parts.retain(|part| meant(&part.holders));
        self.absent.retain(|(_, holders)| meant(holders));
        self
    }

    /// Returns the sheet as a document for programs.
    pub fn to_value(&self) -> Value {
        let part = |part: &Part| {
            let place = Object::default().with("path", part.path.quoted().to_string());
            let place = place.with("holders", Value::array(part.holders.iter().map(holder)));
            Value::Object(match &part.value {
                Some(value) => place.with("value", value.clone()),
                None => place,
            })
        };
        let absent = |(path, holders): &(Path, Vec<Holder>)| {
            Value::object([
                ("path", Value::from(path.quoted().to_string())),
                ("holders", Value::array(holders.iter().map(holder))),
            ])
        };
        Value::object([
            ("object", self.subject.clone()),
            ("fields", Value::array(self.parts.iter().map(part))),
            ("absent", Value::array(self.absent.iter().map(absent))),
        ])
    }
}

/// Returns a holder as a document.
pub fn holder(holder: &Holder) -> Value {
    let mut shown = Object::default()
        .with("manager", holder.name.clone())
        .with("operation", holder.operation.as_str())
        .with("apiVersion", holder.api_version.clone());
    if !holder.subresource.is_empty() {
        shown = shown.with("subresource", holder.subresource.clone());
    }
    if let Some(time) = holder.time {
        shown = shown.with("time", time.to_string());
    }
    Value::Object(shown)
}

fn subject(live: &LiveObject) -> Value {
    let names = [
        ("apiVersion", live.api_version()),
        ("kind", live.kind()),
        ("namespace", live.namespace()),
        ("name", live.name()),
    ];
    Value::object(names.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name, Value::from(text))))
}

fn names(live: &LiveObject) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for manager in &live.managers {
        if names.iter().all(|name| *name != manager.name.as_str()) {
            names.push(manager.name.to_string());
        }
    }
    names
}

fn parts(places: Vec<tenure_apply::Leaf>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::with_capacity(places.len());
    let mut places = places.into_iter().peekable();
    while let Some(place) = places.next() {
        let around = places.peek().is_some_and(|next| next.path.starts_with(&place.path));
        if around && place.holders.is_empty() {
            continue;
        }
        let value = (!around).then_some(place.value);
        parts.push(Part { path: place.path, value, holders: place.holders });
    }
    parts
}

fn absent(live: &LiveObject, shown: &FieldSet) -> Vec<(Path, Vec<Holder>)> {
    let mut absent: Vec<(Path, Vec<Holder>)> = Vec::new();
    for manager in &live.managers {
        for path in manager.fields.difference(shown).iter() {
            match absent.iter_mut().find(|(other, _)| *other == path) {
                Some((_, holders)) => holders.push(Holder::from(manager)),
                None => absent.push((path, vec![Holder::from(manager)])),
            }
        }
    }
    absent.sort_by(|(a, _), (b, _)| a.cmp(b));
    absent
}

/// Whether a place is held as one.
enum Kind {
    /// It is.
    Leaf,
    /// Its parts have holders of their own.
    Around,
}

/// Returns the path to what a line shows, or to the whole that it is an inseparable part of.
fn locate(object: &Value, steps: &[Step], ty: TypeRef<'_>) -> (Path, Kind) {
    let (mut path, mut value, mut ty) = (Path::default(), Some(object), ty);
    for step in steps {
        if matches!(kind(value, ty), Kind::Leaf) && !path.is_empty() {
            return (path, Kind::Leaf);
        }
        match step {
            Step::Field(name) => {
                path.push(PathElement::Field(name.clone()));
                (value, ty) = (value.and_then(|value| value.get(name)), ty.below(name).unwrap_or_else(TypeRef::untyped));
            }
            Step::Item(at) => {
                let item = value.and_then(Value::as_array).and_then(|items| items.get(*at));
                let element = match (ty.get(), item) {
                    (Type::List(list), Some(item)) => PathElement::of_item(item, list).ok(),
                    _ => None,
                };
                path.push(element.unwrap_or(PathElement::Index(*at as i64)));
                (value, ty) = (item, ty.item().unwrap_or_else(TypeRef::untyped));
            }
        }
    }
    let kind = kind(value, ty);
    (path, kind)
}

fn kind(value: Option<&Value>, ty: TypeRef<'_>) -> Kind {
    let has_parts = match value {
        Some(Value::Object(object)) => !object.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        _ => false,
    };
    let granular = match ty.get() {
        Type::Struct(of) => of.relation == Relation::Granular,
        Type::Map(of) => of.relation == Relation::Granular,
        Type::List(of) => of.topology != ListTopology::Atomic,
        Type::Untyped => matches!(value, Some(Value::Object(_))),
        Type::Scalar(_) => false,
    };
    if has_parts && granular { Kind::Around } else { Kind::Leaf }
}

fn is_nobodys(path: &Path) -> bool {
    NOBODYS.iter().any(|names| {
        names.len() == path.len()
            && names.iter().zip(path.iter()).all(|(name, element)| {
                matches!(element, PathElement::Field(field) if field == *name)
            })
    })
}
