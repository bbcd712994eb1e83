//! Who holds what, line by line and path by path. Every path of every manager is here exactly once: at a line, at
//! the object or list around lines, or among those that the object does not show.

use crate::{holder, live::LiveObject};
use std::collections::HashMap;
use tenure_apply::{FieldOwners, Owner, ownership_by_place};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_schema::TypeRef;
use tenure_value::{Object, Pointer, Value, yaml};

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
    pub absent: Vec<(Path, Vec<Owner>)>,
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
    at: Pointer,
}

/// How a line stands with holders.
#[derive(Clone, Debug, PartialEq)]
pub enum Tenure {
    /// These hold it.
    Held(Vec<Owner>),
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
    pub holders: Vec<Owner>,
}

impl Sheet {
    /// Works out who holds what.
    pub fn of(live: &LiveObject, ty: TypeRef<'_>) -> Sheet {
        let places = ownership_by_place(&live.object, &live.managers, ty);
        let mut shown = FieldSet::default();
        let mut ways: HashMap<Pointer, (&FieldOwners, Kind)> = HashMap::with_capacity(places.len());
        for (at, place) in places.iter().enumerate() {
            shown.insert(&place.path);
            let around = places.get(at + 1).is_some_and(|next| next.path.starts_with(&place.path));
            let kind = if around { Kind::Around } else { Kind::Leaf };
            if let Some(way) = place.path.pointer(&live.object, ty) {
                ways.insert(way, (place, kind));
            }
        }
        let lines = yaml::to_lines(&live.object).into_iter().map(|line| {
            // What a line shows may be an inseparable part of something larger, which is what is held.
            let found = line.at.ancestors().find_map(|at| ways.get(&at));
            let tenure = found.map_or(Tenure::Nobodys, |(place, kind)| tenure(place, *kind, live));
            Line { text: line.text, tenure, at: line.at }
        });
        let lines = lines.collect();
        let absent = absent(live, &shown);
        Sheet { subject: subject(live), lines, parts: parts(places), absent, names: names(live) }
    }

    /// Keeps only what some managers hold, and the lines that lead there; everything where none is named.
    pub fn only(mut self, managers: &[String]) -> Sheet {
        if managers.is_empty() {
            return self;
        }
        let meant = |holders: &[Owner]| {
            holders.iter().any(|holder| managers.iter().any(|name| *name == holder.name.as_str()))
        };
        let held: Vec<Pointer> = self
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
            let place = place.with("holders", holder::list(&part.holders));
            Value::Object(match &part.value {
                Some(value) => place.with("value", value.clone()),
                None => place,
            })
        };
        let absent = |(path, holders): &(Path, Vec<Owner>)| {
            Value::object([
                ("path", Value::from(path.quoted().to_string())),
                ("holders", holder::list(holders)),
            ])
        };
        Value::object([
            ("object", self.subject.clone()),
            ("fields", Value::array(self.parts.iter().map(part))),
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

fn parts(places: Vec<FieldOwners>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::with_capacity(places.len());
    let mut places = places.into_iter().peekable();
    while let Some(place) = places.next() {
        let around = places.peek().is_some_and(|next| next.path.starts_with(&place.path));
        if around && place.owners.is_empty() {
            continue;
        }
        let value = (!around).then_some(place.value);
        parts.push(Part { path: place.path, value, holders: place.owners });
    }
    parts
}

fn absent(live: &LiveObject, shown: &FieldSet) -> Vec<(Path, Vec<Owner>)> {
    let mut absent: Vec<(Path, Vec<Owner>)> = Vec::new();
    for manager in &live.managers {
        for path in manager.fields.difference(shown).iter() {
            match absent.iter_mut().find(|(other, _)| *other == path) {
                Some((_, holders)) => holders.push(Owner::from(manager)),
                None => absent.push((path, vec![Owner::from(manager)])),
            }
        }
    }
    absent.sort_by(|(a, _), (b, _)| a.cmp(b));
    absent
}

/// Whether a place is held as one.
#[derive(Clone, Copy)]
enum Kind {
    /// It is.
    Leaf,
    /// Its parts have holders of their own.
    Around,
}

/// Returns how a place stands with holders, as its first line shows it.
fn tenure(place: &FieldOwners, kind: Kind, live: &LiveObject) -> Tenure {
    if is_nobodys(&place.path) {
        return Tenure::Nobodys;
    }
    match kind {
        Kind::Leaf if place.owners.is_empty() => Tenure::Unheld,
        Kind::Leaf => Tenure::Held(place.owners.clone()),
        // Whoever holds something inside is shown there.
        Kind::Around => {
            let inside = |holder: &&Owner| {
                let manager = live.managers.get(&holder.identity());
                manager.is_some_and(|manager| !manager.fields.below(&place.path).is_empty())
            };
            let own: Vec<Owner> = place.owners.iter().filter(|holder| !inside(holder)).cloned().collect();
            if own.is_empty() { Tenure::Nobodys } else { Tenure::Held(own) }
        }
    }
}

fn is_nobodys(path: &Path) -> bool {
    NOBODYS.iter().any(|names| {
        names.len() == path.len()
            && names.iter().zip(path.iter()).all(|(name, element)| {
                matches!(element, PathElement::Field(field) if field == *name)
            })
    })
}
