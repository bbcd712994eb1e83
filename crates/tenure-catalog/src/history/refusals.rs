//! Applies that were refused because of conflicts, the latest of each manager and object. They are remembered while the server runs:
//! they tell who cannot do what it wants, which nothing else shows. Values are not part of them.

use std::collections::VecDeque;
use tenure_meta::time::{Precision, Timestamp};
use tenure_value::{Object, Text, Value};

/// The most refusals that are remembered.
const MOST: usize = 200;
/// The most fields of one that are named.
const MOST_FIELDS: usize = 20;
/// After how many milliseconds a refusal is no longer shown.
const MEMORY: u64 = 24 * 60 * 60 * 1000;

/// An apply that was refused because of conflicts.
#[derive(Clone, Debug)]
pub struct RefusedApply {
    /// The apiVersion of the object.
    pub api_version: Text,
    /// Its kind.
    pub kind: Text,
    /// The plural name of its resource.
    pub resource: Text,
    /// Its namespace; empty if it has none.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// The manager that applied.
    pub manager: Text,
    /// The user who applied.
    pub user: Text,
    /// The fields, each with the managers that own it.
    pub fields: Vec<(String, Vec<Text>)>,
    /// When it was, in milliseconds since 1970.
    pub time: u64,
}

impl RefusedApply {
    fn is_again(&self, other: &RefusedApply) -> bool {
        let identity = |one: &RefusedApply| {
            [&one.kind, &one.api_version, &one.namespace, &one.name, &one.manager].map(Clone::clone)
        };
        identity(self) == identity(other)
    }
}

/// The latest refusals, newest last, each with how often it happened.
#[derive(Debug, Default)]
pub(super) struct Refusals(VecDeque<(RefusedApply, u64)>);

impl Refusals {
    /// Adds a refusal; one of the same manager and object takes the place of the one before.
    pub fn add(&mut self, mut refused: RefusedApply) {
        refused.fields.truncate(MOST_FIELDS);
        let before = self.0.iter().position(|(known, _)| known.is_again(&refused));
        let count = before.and_then(|at| self.0.remove(at)).map_or(0, |(_, count)| count);
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back((refused, count + 1));
    }

    /// Returns those of the last day, newest first, as a document.
    pub fn document(&self, now: u64) -> Value {
        let recent = self.0.iter().rev().filter(|(one, _)| now.saturating_sub(one.time) <= MEMORY);
        Value::object([
            ("apiVersion", Value::from("tenure.dev/v1")),
            ("kind", Value::from("RefusedApplyList")),
            ("items", Value::array(recent.map(|(one, count)| item(one, *count)))),
        ])
    }
}

fn item(one: &RefusedApply, count: u64) -> Value {
    let object = Value::object([
        ("apiVersion", Value::from(one.api_version.clone())),
        ("kind", Value::from(one.kind.clone())),
        ("resource", Value::from(one.resource.clone())),
        ("name", Value::from(one.name.clone())),
        ("namespace", Value::from(one.namespace.clone())),
    ]);
    let field = |(path, owners): &(String, Vec<Text>)| {
        let owners = owners.iter().map(|owner| Value::from(owner.clone()));
        Value::object([("path", Value::from(path.as_str())), ("owners", Value::array(owners))])
    };
    let time = Timestamp { seconds: i64::try_from(one.time / 1000).unwrap_or_default(), nanos: 0 };
    Object::default()
        .with("object", object)
        .with("manager", one.manager.clone())
        .with("user", one.user.clone())
        .with("fields", Value::array(one.fields.iter().map(field)))
        .with("count", Value::unsigned(count))
        .with("time", time.format(Precision::Seconds))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str, time: u64) -> RefusedApply {
        RefusedApply {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            resource: "configmaps".into(),
            namespace: "default".into(),
            name: name.into(),
            manager: "ci".into(),
            user: "robot".into(),
            fields: vec![(".data.a".to_owned(), vec!["alice".into()])],
            time,
        }
    }

    #[test]
    fn the_latest_of_each_object_are_kept_and_counted() {
        let mut refusals = Refusals::default();
        for number in 0..1000 {
            refusals.add(refused(&number.to_string(), number));
            refusals.add(refused("same", number));
        }
        assert_eq!(refusals.0.len(), MOST);
        let shown = refusals.document(1000);
        let newest = shown.get("items").and_then(Value::as_array).and_then(|items| items.first()).unwrap();
        assert_eq!(newest.at(["object", "name"]).and_then(Value::as_str), Some("same"));
        assert_eq!(newest.get("count").and_then(Value::as_i64), Some(1000));
        let later = refusals.document(2 * MEMORY);
        assert_eq!(later.get("items").and_then(Value::as_array).map(|items| items.len()), Some(0));
    }
}
