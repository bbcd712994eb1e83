//! What one manager owns of one object, in numbers.

use crate::{LiveObject, owner, path::is_last_applied};
use tenure_apply::Timestamp;
use tenure_value::{Object, Value};

/// The fields of an object that a manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedFields {
    /// How it writes them, such as `Apply` and `Update/status`.
    pub operations: Vec<String>,
    /// How many they are.
    pub fields: usize,
    /// When they last changed.
    pub last: Option<Timestamp>,
}

impl OwnedFields {
    /// Counts the fields of a manager; `None` if it owns none.
    pub fn of(live: &LiveObject, manager: &str) -> Option<OwnedFields> {
        let mut owned = OwnedFields { operations: Vec::new(), fields: 0, last: None };
        for entry in live.managers.iter().filter(|entry| entry.name == manager) {
            owned.operations.push(owner::operation(&owner::Owner::from(entry)));
            owned.fields += entry.fields.leaves().iter().filter(|path| !is_last_applied(path)).count();
            owned.last = owned.last.max(entry.time);
        }
        (!owned.operations.is_empty()).then_some(owned)
    }

    /// Returns the numbers as a document.
    pub fn to_value(&self) -> Value {
        let operations = self.operations.iter().map(|operation| Value::from(operation.as_str()));
        let shown =
            Object::default().with("operations", Value::array(operations)).with("fields", self.fields as i64);
        Value::Object(match self.last {
            Some(last) => shown.with("last", last.to_string()),
            None => shown,
        })
    }
}
