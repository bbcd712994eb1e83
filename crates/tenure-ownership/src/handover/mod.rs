//! Changes of ownership that do not write values. A [`Handover`] is computed from a [`HandoverOutcome`] and becomes one JSON patch that
//! replaces `managedFields`; it is refused if the object is no longer the one it was computed from. Every handover has an
//! [`Undo`].

mod patch;
mod step;
mod undo;

pub use patch::replace_managers;
pub use step::{HandoverOutcome, Values, adopt, migrate, release, settle, transfer};
pub use undo::{Undo, read_undo_file, reverted, undo_file};

use crate::{LiveObject, plan::document};
use patch::{guard, operation};
use tenure_apply::{Managers, OwnershipChange, ownership_changes};
use tenure_fields::Path;
use tenure_schema::TypeRef;
use tenure_value::{Pointer, Value};

/// The name under which the patches are sent. It owns nothing afterwards, since it sets no values of its own.
pub const WRITER: &str = "tenure";

/// Returns the patch that sets the managers of the object with a resourceVersion.
pub fn managers_patch(version: Value, managers: &Managers) -> Value {
    Value::array([guard(version), replace_managers(managers)])
}

/// A change of ownership of one object.
#[derive(Clone, Debug)]
pub struct Handover {
    /// The object before.
    pub before: LiveObject,
    /// The object after.
    pub after: LiveObject,
    /// What each manager gains and loses.
    pub owners: Vec<OwnershipChange>,
    /// What could not be done, and why.
    pub notes: Vec<String>,
    /// The removed fields, the last first, so that a removal does not move those after it.
    removals: Vec<Removal>,
}

#[derive(Clone, Debug)]
struct Removal {
    path: Path,
    location: Pointer,
    value: Value,
}

impl Handover {
    /// Computes the effect of a step on an object.
    pub fn new(before: &LiveObject, step: HandoverOutcome, ty: TypeRef<'_>) -> Handover {
        let removal = |path: Path| {
            let location = path.pointer(&before.object, ty)?;
            let value = location.resolve(&before.object)?.clone();
            Some(Removal { path, location, value })
        };
        let mut removals: Vec<Removal> = step.removed.into_iter().filter_map(removal).collect();
        removals.sort_by(|a, b| b.location.cmp(&a.location));
        let object = removals.iter().fold(before.object.clone(), |object, removal| {
            removal.location.remove(&object).unwrap_or(object)
        });
        let after = LiveObject { object, managers: step.managers };
        let owners = ownership_changes(&before.state(), &after.state(), ty);
        let owners = owners.into_iter().filter(|change| !change.is_empty()).collect();
        Handover { before: before.clone(), after, owners, notes: step.notes, removals }
    }

    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.removals.is_empty() && self.before.managers.same_fields(&self.after.managers)
    }

    /// Returns the fields that leave the object, with their values.
    pub fn removals(&self) -> impl Iterator<Item = (&Path, &Value)> {
        self.removals.iter().rev().map(|removal| (&removal.path, &removal.value))
    }

    /// Whether another handover does the same at any time.
    pub fn does_the_same(&self, other: &Handover) -> bool {
        let timeless = |change: &OwnershipChange| {
            let mut change = change.clone();
            change.owner.time = None;
            change
        };
        self.owners.iter().map(timeless).eq(other.owners.iter().map(timeless))
            && self.removals().eq(other.removals())
    }

    /// Returns the handover as a document: what each manager gains and loses, what is removed, and the notes.
    pub fn to_value(&self) -> Value {
        let removed = self.removals().map(|(path, value)| {
            Value::object([("path", Value::from(path.quoted().to_string())), ("value", value.clone())])
        });
        Value::object([
            ("empty", Value::from(self.is_empty())),
            ("owners", Value::array(self.owners.iter().map(document::change))),
            ("removed", Value::array(removed)),
            ("notes", Value::array(self.notes.iter().map(|note| Value::from(note.as_str())))),
        ])
    }

    /// Returns the patch that carries it out, on exactly the object it was computed from.
    pub fn patch(&self) -> Value {
        let removals =
            self.removals.iter().map(|removal| operation("remove", &removal.location.to_string(), None));
        let managers = replace_managers(&self.after.managers);
        Value::array([guard(self.before.resource_version())].into_iter().chain(removals).chain([managers]))
    }

    /// Returns what reverts it; `left` is the object as the patch left it.
    pub fn undo(&self, left: &Value) -> Undo {
        let version = left.at(["metadata", "resourceVersion"]).cloned().unwrap_or_default();
        let added =
            self.removals.iter().rev().map(|removal| (removal.location.to_string(), removal.value.clone()));
        Undo::new(&self.before, &self.after, added.collect(), version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_schema::Schema;

    fn live() -> LiveObject {
        let shown = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"7",
            "annotations":{"x/y":"1"},
            "managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",
                "fieldsV1":{"f:data":{"f:k":{},"f:l":{}}}}]},
            "data":{"k":"v","l":"w"}}"#;
        LiveObject::read(&shown.parse().unwrap()).unwrap()
    }

    fn handover(before: &LiveObject) -> Handover {
        let ty = Schema::builtin().kind("v1", "ConfigMap").unwrap();
        let paths = [".data.k", r#".metadata.annotations."x/y""#].map(|text| Path::parse(text).unwrap());
        let managers = tenure_apply::release(&before.managers, &paths[..1], |_| true);
        Handover::new(before, HandoverOutcome { managers, removed: paths.to_vec(), notes: Vec::new() }, ty)
    }

    fn shown(patch: &Value) -> Vec<String> {
        let operations = patch.as_array().unwrap().iter();
        operations
            .map(|op| format!("{} {}", op.get("op").unwrap(), op.get("path").unwrap()).replace('"', ""))
            .collect()
    }

    #[test]
    fn a_handover_is_guarded_and_has_an_undo() {
        let before = live();
        let handover = handover(&before);
        assert_eq!(
            shown(&handover.patch()),
            [
                "replace /metadata/resourceVersion",
                "remove /metadata/annotations/x~1y",
                "remove /data/k",
                "replace /metadata/managedFields"
            ]
        );
        let undo = handover.undo(&r#"{"metadata":{"resourceVersion":"8"}}"#.parse().unwrap());
        let undo = read_undo_file(&undo_file(&[undo])).unwrap().pop().unwrap();
        let patch = undo.patch();
        let patch = patch.as_array().unwrap();
        assert_eq!(patch[0].get("value"), Some(&Value::from("8")));
        assert_eq!(patch[1].get("value"), Some(&Value::from("v")));
        assert_eq!(patch[3].get("value"), Some(&before.managers.to_value()));
    }

    #[test]
    fn an_undo_can_be_rebased_on_a_later_write() {
        let before = live();
        let undo = handover(&before).undo(&r#"{"metadata":{"resourceVersion":"8"}}"#.parse().unwrap());
        let later = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"9",
            "annotations":{"other":"1"},
            "managedFields":[{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1",
                "fieldsV1":{"f:data":{"f:l":{}}}},
                {"manager":"n","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1",
                "fieldsV1":{"f:metadata":{"f:annotations":{"f:other":{}}}}}]},
            "data":{"l":"changed"}}"#;
        let later = LiveObject::read(&later.parse().unwrap()).unwrap();
        let rebased = undo.rebased(&later);
        let patch = rebased.patch();
        let patch = patch.as_array().unwrap();
        assert_eq!(patch[0].get("value"), Some(&Value::from("9")));
        assert_eq!(
            shown(&rebased.patch()),
            [
                "replace /metadata/resourceVersion",
                "add /data/k",
                "add /metadata/annotations/x~1y",
                "replace /metadata/managedFields"
            ]
        );
        let fields: Vec<String> = rebased
            .managers()
            .iter()
            .map(|manager| format!("{} {:?}", manager.name, manager.fields))
            .collect();
        assert_eq!(rebased.managers().len(), 2, "{fields:?}");
        assert!(
            fields.iter().any(|text| text.starts_with("m ") && text.contains('k') && text.contains('l')),
            "{fields:?}"
        );
    }
}
