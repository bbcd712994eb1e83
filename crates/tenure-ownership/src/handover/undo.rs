//! The undo of a handover: the JSON patch that restores the object, valid for the object as the handover left it. After a
//! later write it can be rebased: what the handover moved is moved back, and everything else stays as it is now.

use super::patch::{guard, operation, replace_managers};
use crate::{LiveObject, OwnershipError};
use tenure_apply::{Manager, Managers};
use tenure_fields::FieldSet;
use tenure_value::{Object, Pointer, Value};

/// The undo of a handover of one object.
#[derive(Clone, Debug)]
pub struct Undo {
    /// The object: apiVersion, kind, namespace and name, as a document.
    object: Value,
    /// The managers to restore.
    before: Managers,
    /// The managers that the handover left.
    after: Managers,
    /// JSON pointers and values of the fields to restore.
    added: Vec<(String, Value)>,
    /// The resourceVersion that the handover left.
    version: Value,
}

impl Undo {
    pub(super) fn new(
        before: &LiveObject,
        after: &LiveObject,
        added: Vec<(String, Value)>,
        version: Value,
    ) -> Undo {
        let names = [
            ("apiVersion", before.api_version()),
            ("kind", before.kind()),
            ("namespace", before.namespace()),
            ("name", before.name()),
        ];
        let names = names.into_iter().filter(|(_, text)| !text.is_empty());
        Undo {
            object: Value::object(names.map(|(name, text)| (name, Value::from(text)))),
            before: before.managers.clone(),
            after: after.managers.clone(),
            added,
            version,
        }
    }

    /// Returns the apiVersion of the object.
    pub fn api_version(&self) -> &str {
        self.text("apiVersion")
    }

    /// Returns the kind of the object.
    pub fn kind(&self) -> &str {
        self.text("kind")
    }

    /// Returns the namespace of the object; empty if it has none.
    pub fn namespace(&self) -> &str {
        self.text("namespace")
    }

    /// Returns the name of the object.
    pub fn name(&self) -> &str {
        self.text("name")
    }

    fn text(&self, name: &str) -> &str {
        self.object.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the managers after the undo.
    pub fn managers(&self) -> &Managers {
        &self.before
    }

    /// Returns the patch that carries it out, on exactly the object that the handover left.
    pub fn patch(&self) -> Value {
        let added = self.added.iter().map(|(at, value)| operation("add", at, Some(value.clone())));
        Value::array(
            [guard(self.version.clone())].into_iter().chain(added).chain([replace_managers(&self.before)]),
        )
    }

    /// Returns the undo for an object that was changed after the handover: each manager gets back the fields that it lost
    /// and gives up those that it gained, and removed values return where nothing took their place.
    pub fn rebased(&self, live: &LiveObject) -> Undo {
        let managers = reverted(&self.before, &self.after, &live.managers, &FieldSet::default());
        let mut added = Vec::new();
        for (at, value) in &self.added {
            let tokens: Vec<&str> = at.split('/').skip(1).collect();
            missing_parts(Some(&live.object), String::new(), &tokens, value, &mut added);
        }
        Undo {
            object: self.object.clone(),
            before: managers,
            after: live.managers.clone(),
            added,
            version: live.resource_version(),
        }
    }

    fn to_value(&self) -> Value {
        Value::Object(
            Object::default()
                .with("object", self.object.clone())
                .with("patch", self.patch())
                .with("left", self.after.to_value()),
        )
    }

    fn read(value: &Value) -> Result<Undo, OwnershipError> {
        let wrong = |problem: &str| OwnershipError::Undo { problem: problem.to_owned() };
        let operations =
            value.get("patch").and_then(Value::as_array).ok_or_else(|| wrong("an entry has no patch"))?;
        let value_of = |operation: &Value| operation.get("value").cloned().unwrap_or_default();
        let [first, added @ .., last] = operations.items() else {
            return Err(wrong("a patch must have at least two operations"));
        };
        let managers = |value: &Value| {
            Managers::from_value(value).map_err(|error| OwnershipError::Undo { problem: error.to_string() })
        };
        let added = added.iter().map(|operation| {
            let path = operation.get("path").and_then(Value::as_str).unwrap_or_default();
            (path.to_owned(), value_of(operation))
        });
        Ok(Undo {
            object: value.get("object").cloned().ok_or_else(|| wrong("an entry names no object"))?,
            before: managers(&value_of(last))?,
            after: managers(
                value.get("left").ok_or_else(|| wrong("an entry has no managers under \"left\""))?,
            )?,
            added: added.collect(),
            version: value_of(first),
        })
    }
}

/// Returns the managers of an object from which a change of managers is taken back: each gets back the fields that it lost and gives
/// up those that it gained, but for those that are `kept`. A manager that then owns what it owned before is as it was, with its time.
pub fn reverted(before: &Managers, after: &Managers, live: &Managers, kept: &FieldSet) -> Managers {
    let fields = |managers: &Managers, manager: &Manager| {
        managers.get(&manager.identity()).map(|manager| manager.fields.clone()).unwrap_or_default()
    };
    let involved = before.iter().filter(|manager| live.get(&manager.identity()).is_none());
    let managers = live.iter().chain(involved).filter_map(|manager| {
        let (old, left) = (fields(before, manager), fields(after, manager));
        let (gained, lost) = (left.difference(&old), old.difference(&left));
        let now: FieldSet = fields(live, manager);
        let restored =
            now.difference(&gained.recursive_difference(kept)).union(&lost.recursive_difference(kept));
        let former = before.get(&manager.identity()).filter(|former| former.fields == restored);
        let manager = former.unwrap_or(manager);
        (!restored.is_empty()).then(|| Manager { fields: restored, ..manager.clone() })
    });
    managers.collect()
}

/// Collects the additions that restore a value at a place: missing parents, and the missing fields of an object that exists.
/// A value that has replaced it stays.
fn missing_parts(
    now: Option<&Value>,
    at: String,
    tokens: &[&str],
    value: &Value,
    out: &mut Vec<(String, Value)>,
) {
    match (now, tokens) {
        // A removed list has no position to restore.
        (None, tokens) if tokens.iter().any(|token| token.parse::<usize>().is_ok()) => {}
        (None, tokens) => {
            let nested = |value: Value, token: &&str| Value::object([(unescaped(token), value)]);
            out.push((at, tokens.iter().rev().fold(value.clone(), nested)));
        }
        (Some(Value::Array(items)), [index, rest @ ..]) => {
            let index = index.parse().unwrap_or(usize::MAX).min(items.len());
            let below = format!("{at}/{index}");
            match rest {
                [] if items.items().contains(value) => {}
                [] => out.push((below, value.clone())),
                rest => missing_parts(items.items().get(index), below, rest, value, out),
            }
        }
        (Some(now), [token, rest @ ..]) => {
            missing_parts(now.get(unescaped(token).as_str()), format!("{at}/{token}"), rest, value, out);
        }
        (Some(Value::Object(now)), []) => {
            for (name, value) in value.as_object().into_iter().flatten() {
                let below = format!("{at}{}", Pointer::default().field(name.clone()));
                missing_parts(now.get(name), below, &[], value, out);
            }
        }
        (Some(_), []) => {}
    }
}

fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// Returns the document that undoes handovers of several objects.
pub fn undo_file(undos: &[Undo]) -> Value {
    Value::object([("undo", Value::array(undos.iter().map(Undo::to_value)))])
}

/// Reads such a document.
pub fn read_undo_file(document: &Value) -> Result<Vec<Undo>, OwnershipError> {
    let entries = document.get("undo").and_then(Value::as_array);
    let entries =
        entries.ok_or_else(|| OwnershipError::Undo { problem: "there is no such list".to_owned() })?;
    entries.iter().map(Undo::read).collect()
}
