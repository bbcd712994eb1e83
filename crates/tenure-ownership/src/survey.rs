//! The managers of many objects: how many objects and fields each manager owns, and when it was last active.

use crate::{LiveObject, client_side::is_left_over, owner, path::is_last_applied};
use std::collections::{BTreeMap, BTreeSet};
use tenure_apply::{LAST_APPLIED, Managers, Operation, Timestamp};
use tenure_value::{Object, Text, Value, json};

/// A manager is stale if none of its fields changed for this long while the object it owns them in was written by others.
const STALE_SECONDS: i64 = 90 * 86_400;

/// The managers of many objects, in numbers.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    managers: BTreeMap<(Text, Operation, Text), ManagerActivity>,
    objects: usize,
    without_managers: usize,
    last_applied: usize,
    bytes: usize,
}

/// One manager, in numbers.
#[derive(Clone, Debug, Default)]
pub struct ManagerActivity {
    /// The objects in which it owns fields.
    pub objects: usize,
    /// The fields that it owns.
    pub fields: usize,
    /// The size of its entries in `managedFields` as JSON.
    pub bytes: usize,
    /// When its fields last changed.
    pub last: Option<Timestamp>,
    /// The kinds of the objects, as `kubectl` prints them.
    pub kinds: BTreeSet<String>,
    /// Whether client-side apply left it behind in one of the objects.
    pub is_left_over: bool,
}

impl Survey {
    /// Adds an object, whose kind is printed as `word`.
    pub fn add(&mut self, live: &LiveObject, word: &str) {
        self.objects += 1;
        self.without_managers += usize::from(live.managers.is_empty());
        let annotation = live.object.at(["metadata", "annotations", LAST_APPLIED]);
        self.last_applied += usize::from(annotation.is_some());
        for manager in &live.managers {
            let key = (manager.name.clone(), manager.operation, manager.subresource.clone());
            let activity = self.managers.entry(key).or_default();
            let entry = Managers::new([manager.clone()]).to_value();
            let bytes = json::to_vec(&entry).len().saturating_sub("[]".len());
            activity.objects += 1;
            activity.fields += manager.fields.leaves().iter().filter(|path| !is_last_applied(path)).count();
            activity.bytes += bytes;
            activity.last = activity.last.max(manager.time);
            activity.is_left_over |= is_left_over(manager);
            if !activity.kinds.contains(word) {
                activity.kinds.insert(word.to_owned());
            }
            self.bytes += bytes;
        }
    }

    /// Returns the managers with their names, operations and subresources.
    pub fn managers(&self) -> impl Iterator<Item = (&(Text, Operation, Text), &ManagerActivity)> {
        self.managers.iter()
    }

    /// Returns the survey as a document.
    pub fn to_value(&self, now: Timestamp) -> Value {
        let count = |count: usize| Value::from(count as i64);
        let manager =
            |((name, operation, subresource), activity): (&(Text, Operation, Text), &ManagerActivity)| {
                let stale = activity.last.is_some_and(|last| now.unix() - last.unix() > STALE_SECONDS);
                let kinds = activity.kinds.iter().map(|kind| Value::from(kind.as_str()));
                let mut shown = Object::default()
                    .with("manager", name.clone())
                    .with("operation", operation.as_str())
                    .with("objects", count(activity.objects))
                    .with("fields", count(activity.fields))
                    .with("bytes", count(activity.bytes))
                    .with("kinds", Value::array(kinds))
                    .with("stale", stale)
                    .with("clientSide", activity.is_left_over);
                if !subresource.is_empty() {
                    shown = shown.with("subresource", subresource.clone());
                }
                if let Some(last) = activity.last {
                    shown = shown.with("last", last.to_string()).with("age", owner::age(Some(last), now));
                }
                Value::Object(shown)
            };
        Value::Object(
            Object::default()
                .with("objects", count(self.objects))
                .with("withoutManagers", count(self.without_managers))
                .with("lastApplied", count(self.last_applied))
                .with("bytes", count(self.bytes))
                .with("managers", Value::array(self.managers().map(manager))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Summary;
    use tenure_schema::Schema;

    #[test]
    fn objects_and_managers_are_counted() {
        let shown = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a",
            "annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"},"managedFields":[
            {"manager":"kubectl-client-side-apply","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z",
             "fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{},"f:b":{}}}},
            {"manager":"ci","operation":"Apply","apiVersion":"v1","time":"2026-06-01T00:00:00Z",
             "fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:b":{}}}}]},"data":{"a":"1","b":"2","c":"3"}}"#;
        let live = LiveObject::read(&shown.parse().unwrap()).unwrap();
        let ty = Schema::builtin().kind("v1", "ConfigMap").unwrap();
        let summary = Summary::of(&live, ty);
        // The annotation and .data.c have no owner.
        assert_eq!((summary.fields, summary.unowned, summary.shared), (4, 2, 1));
        let mut survey = Survey::default();
        survey.add(&live, "configmap");
        survey.add(&live, "configmap");
        let now = Timestamp::parse("2026-06-02T00:00:00Z").unwrap();
        let shown = survey.to_value(now);
        let managers = shown.get("managers").and_then(Value::as_array).unwrap();
        let seen: Vec<String> = managers
            .iter()
            .map(|manager| {
                let number = |name: &str| manager.get(name).and_then(Value::as_i64).unwrap();
                let flag = |name: &str| manager.get(name).and_then(Value::as_bool).unwrap();
                format!(
                    "{} {} {} {} {}",
                    manager.get("manager").and_then(Value::as_str).unwrap(),
                    number("objects"),
                    number("fields"),
                    flag("stale"),
                    flag("clientSide")
                )
            })
            .collect();
        assert_eq!(seen, ["ci 2 2 false false", "kubectl-client-side-apply 2 4 true true"]);
        assert_eq!(shown.get("lastApplied").and_then(Value::as_i64), Some(2));
    }
}
