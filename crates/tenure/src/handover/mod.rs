//! Ownership that moves by itself, without a write to the values: one patch replaces who holds what, and is refused if
//! the object is no longer the one that was looked at. Every such step is shown before it is taken and leaves a file
//! with which it can be taken back.

mod carry_out;
mod undo;

pub use carry_out::{Carry, carry_out, name};
pub use undo::take_back;

use crate::{
    Error,
    cluster::{Cluster, JSON_PATCH, Reply},
    live::LiveObject,
};
use tenure_apply::{Managers, OwnershipChange, State, ownership_changes};
use tenure_fields::Path;
use tenure_schema::TypeRef;
use tenure_value::{Pointer, Value};

/// What is to become of one object.
#[derive(Clone, Debug)]
pub struct Intent {
    /// The managers afterwards.
    pub managers: Managers,
    /// What leaves the object with the ownership.
    pub removed: Vec<Path>,
    /// What could not be done, and why.
    pub notes: Vec<String>,
}

/// What becomes of one object, worked out.
#[derive(Clone, Debug)]
pub struct Handover {
    /// The object as it is.
    pub before: LiveObject,
    /// The object as it becomes.
    pub after: LiveObject,
    /// Pointers to what leaves the object, the last first, so that each is still valid when its turn comes.
    removed: Vec<Pointer>,
    /// What could not be done, and why.
    pub notes: Vec<String>,
    ty: TypeRef<'static>,
}

impl Handover {
    /// Works a step out.
    pub fn new(before: &LiveObject, step: Intent, ty: TypeRef<'static>) -> Handover {
        let mut removed: Vec<Pointer> =
            step.removed.iter().filter_map(|path| path.pointer(&before.object, ty)).collect();
        removed.sort();
        removed.reverse();
        let object =
            removed.iter().fold(before.object.clone(), |object, at| at.remove(&object).unwrap_or(object));
        let after = LiveObject { object, managers: step.managers };
        Handover { before: before.clone(), after, removed, notes: step.notes, ty }
    }

    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.before.managers.same_fields(&self.after.managers)
    }

    /// Returns what becomes of each manager.
    pub fn changes(&self) -> Vec<OwnershipChange> {
        let state =
            |live: &LiveObject| State { object: live.object.clone(), managers: live.managers.clone() };
        let all = ownership_changes(&state(&self.before), &state(&self.after), self.ty);
        all.into_iter().filter(|change| !change.is_empty()).collect()
    }

    /// Returns what leaves the object.
    pub fn removals(&self) -> impl Iterator<Item = (String, &Value)> {
        let shown = |at: &Pointer| Some((at.to_string(), at.resolve(&self.before.object)?));
        self.removed.iter().rev().filter_map(shown)
    }

    /// Returns the patch that takes the step, on the object as it was looked at and on no other.
    pub fn patch(&self) -> Value {
        let version = version(&self.before.object);
        let removals = self.removed.iter().map(|at| operation("remove", &at.to_string(), None));
        let managers = operation("replace", MANAGED_FIELDS, Some(self.after.managers.to_value()));
        let guard = operation("replace", "/metadata/resourceVersion", Some(version));
        Value::array([guard].into_iter().chain(removals).chain([managers]))
    }

    /// Returns the patch that takes the step back, on the object as the step left it and on no other.
    pub fn undo(&self, left: &Value) -> Value {
        let additions = self.removed.iter().rev().filter_map(|at| {
            Some(operation("add", &at.to_string(), Some(at.resolve(&self.before.object)?.clone())))
        });
        let managers = operation("replace", MANAGED_FIELDS, Some(self.before.managers.to_value()));
        let guard = operation("replace", "/metadata/resourceVersion", Some(version(left)));
        Value::array([guard].into_iter().chain(additions).chain([managers]))
    }
}

/// The name under which patches are sent; in the end it holds nothing, since what it writes is not its own.
const WRITER: &str = "tenure";

/// Sends a patch. Where the server counts a value as written by the sender (one that was put back, or a default in the
/// place of one that went), a second patch says again who is to hold what.
async fn send(path: &str, patch: &Value, wanted: &Managers, cluster: &Cluster) -> Result<Reply, Error> {
    let path = format!("{path}?fieldManager={WRITER}");
    let reply = cluster.patch(&path, JSON_PATCH, patch).await?;
    let managers = reply.value.at(["metadata", "managedFields"]).map(Managers::from_value);
    if !reply.is_success() || managers.is_some_and(|left| left.is_ok_and(|left| left.same_fields(wanted))) {
        return Ok(reply);
    }
    let guard = operation("replace", "/metadata/resourceVersion", Some(version(&reply.value)));
    let again = Value::array([guard, operation("replace", MANAGED_FIELDS, Some(wanted.to_value()))]);
    cluster.patch(&path, JSON_PATCH, &again).await
}

const MANAGED_FIELDS: &str = "/metadata/managedFields";

fn version(object: &Value) -> Value {
    object.at(["metadata", "resourceVersion"]).cloned().unwrap_or_default()
}

fn operation(op: &str, path: &str, value: Option<Value>) -> Value {
    let fields = [("op", Value::from(op)), ("path", Value::from(path))];
    Value::object(fields.into_iter().chain(value.map(|value| ("value", value))))
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

    #[test]
    fn a_step_is_guarded_and_can_be_taken_back() {
        let ty = Schema::builtin().kind("v1", "ConfigMap").unwrap();
        let before = live();
        let paths = [".data.k", r#".metadata.annotations."x/y""#].map(|text| Path::parse(text).unwrap());
        let managers = tenure_apply::release(&before.managers, &paths[..1], |_| true);
        let step = Intent { managers, removed: paths.to_vec(), notes: Vec::new() };
        let handover = Handover::new(&before, step, ty);
        let operations: Vec<String> = handover
            .patch()
            .as_array()
            .unwrap()
            .iter()
            .map(|op| format!("{} {}", op.get("op").unwrap(), op.get("path").unwrap()).replace('"', ""))
            .collect();
        assert_eq!(
            operations,
            [
                "replace /metadata/resourceVersion",
                "remove /metadata/annotations/x~1y",
                "remove /data/k",
                "replace /metadata/managedFields"
            ]
        );
        let undo = handover.undo(&r#"{"metadata":{"resourceVersion":"8"}}"#.parse().unwrap());
        let undo = undo.as_array().unwrap();
        assert_eq!(undo[0].get("value"), Some(&Value::from("8")));
        assert_eq!(undo[1].get("value"), Some(&Value::from("v")));
        assert_eq!(undo[3].get("value"), Some(&before.managers.to_value()));
    }
}
