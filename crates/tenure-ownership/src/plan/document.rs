//! Plans as documents for programs and pages. Values of a Secret are not shown.

use super::{Conflict, Difference, Lingering, Plan, Verdict, ZeroValue};
use crate::{Cause, diagnosis::CommandLine, owner};
use tenure_apply::OwnershipChange;
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_value::{Object, Value};

impl Plan {
    /// Returns the plan as a document.
    pub fn to_value(&self) -> Value {
        self.to_value_for(&CommandLine::default())
    }

    /// Returns the plan as a document, with commands for a command line.
    pub fn to_value_for(&self, line: &CommandLine<'_>) -> Value {
        let zero = |zero: &ZeroValue| Value::Object(at(&zero.path).with("value", zero.value.clone()));
        let lingering =
            |field: &Lingering| Value::Object(at(&field.path).with("owners", owner::list(&field.owners)));
        let object = Object::default()
            .with("object", self.target.to_value())
            .with("action", self.action().word())
            .with("values", Value::array(self.shown_values().iter().map(value)))
            .with("owners", Value::array(self.owners.iter().map(change)))
            .with("conflicts", Value::array(self.shown_conflicts().iter().map(conflict)))
            .with("causes", Value::array(self.causes.iter().map(|cause| cause.to_value(line))))
            .with("zeros", Value::array(self.zeros.iter().map(zero)))
            .with("lingering", Value::array(self.lingering.iter().map(lingering)))
            .with("warnings", Value::array(self.warnings.iter().map(|text| Value::from(text.as_str()))));
        let object = match self.problems.as_slice() {
            [] => object,
            problems => object.with("problems", Value::array(problems.iter().map(cause))),
        };
        Value::Object(match &self.verdict {
            Verdict::Refused(problem) => object.with("error", problem.as_str()),
            _ => object,
        })
    }

    /// Returns the values that change, with those of a Secret redacted.
    pub fn shown_values(&self) -> Vec<Difference> {
        self.values.iter().map(|difference| redacted(difference, &self.target.word)).collect()
    }

    /// Returns the conflicts, with the values of a Secret redacted.
    pub fn shown_conflicts(&self) -> Vec<Conflict> {
        let shown = |conflict: &Conflict| {
            let mut conflict = conflict.clone();
            if is_secret(&self.target.word, &conflict.path) {
                conflict.live = conflict.live.map(|_| Value::from("*** (theirs)"));
                conflict.proposed = conflict.proposed.map(|_| Value::from("*** (mine)"));
            }
            conflict
        };
        self.conflicts().iter().map(shown).collect()
    }
}

/// Returns a difference without the values of a Secret.
pub(crate) fn redacted(difference: &Difference, word: &str) -> Difference {
    if !is_secret(word, &difference.path) {
        return difference.clone();
    }
    Difference {
        path: difference.path.clone(),
        before: difference.before.as_ref().map(|_| Value::from("*** (before)")),
        after: difference.after.as_ref().map(|_| Value::from("*** (after)")),
    }
}

fn is_secret(word: &str, path: &Path) -> bool {
    let is_in = |name: &str| path.first() == Some(&PathElement::field(name));
    word == "secret" && (is_in("data") || is_in("stringData"))
}

fn at(path: &Path) -> Object {
    Object::default().with("path", path.quoted().to_string())
}

fn with(object: Object, name: &'static str, value: &Option<Value>) -> Object {
    match value {
        Some(value) => object.with(name, value.clone()),
        None => object,
    }
}

pub(crate) fn value(difference: &Difference) -> Value {
    let object = with(at(&difference.path), "before", &difference.before);
    Value::Object(with(object, "after", &difference.after))
}

pub(crate) fn change(change: &OwnershipChange) -> Value {
    let paths =
        |set: &FieldSet| Value::array(set.leaves().iter().map(|path| Value::from(path.quoted().to_string())));
    let owner = owner::to_value(&change.owner).as_object().cloned().unwrap_or_default();
    Value::Object(
        owner
            .with("gained", paths(&change.gained))
            .with("lost", paths(&change.lost))
            .with("removed", paths(&change.removed))
            .with("shared", paths(&change.shared)),
    )
}

fn cause(cause: &Cause) -> Value {
    let Cause { reason, field, message } = cause;
    let parts = [("reason", reason), ("field", field), ("message", message)];
    let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
    Value::object(parts.map(|(name, text)| (name, Value::from(text.as_str()))))
}

fn conflict(conflict: &Conflict) -> Value {
    let object = with(at(&conflict.path), "live", &conflict.live);
    let object = with(object, "proposed", &conflict.proposed);
    Value::Object(object.with("owners", owner::list(&conflict.owners)))
}
