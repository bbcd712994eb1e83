//! What deserves attention in many objects: fields without an owner, owners that client-side apply left behind, and objects with large
//! `managedFields`, beside the [`Survey`] of their managers. Memory is bounded, whatever the number of objects.

use crate::{LiveObject, Summary, Survey, Target, client_side::is_left_over};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};
use tenure_apply::Timestamp;
use tenure_schema::TypeRef;
use tenure_value::{Object, Value};

/// How many objects each list names.
const NAMED: usize = 10;

/// What deserves attention in many objects.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    survey: Survey,
    unowned: BTreeMap<Kind, Unowned>,
    client_side: Vec<(Subject, Vec<String>)>,
    client_side_objects: usize,
    /// The largest, with the smallest of them on top.
    largest: BinaryHeap<Reverse<(usize, Subject)>>,
    fields: usize,
    unowned_fields: usize,
}

/// A kind, as addresses name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    kind: String,
    api_version: String,
    resource: String,
}

/// An object with the plural name of its resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Subject {
    kind: Kind,
    namespace: String,
    name: String,
}

#[derive(Clone, Copy, Debug, Default)]
struct Unowned {
    objects: usize,
    fields: usize,
}

impl Overview {
    /// Adds an object, whose resource has this plural name.
    pub fn add(&mut self, live: &LiveObject, target: &Target, resource: &str, ty: TypeRef<'_>) {
        self.survey.add(live, &target.word);
        let summary = Summary::of(live, ty);
        let kind = Kind {
            kind: target.kind.clone(),
            api_version: target.api_version.clone(),
            resource: resource.to_owned(),
        };
        self.fields += summary.fields;
        self.unowned_fields += summary.unowned;
        if summary.unowned > 0 {
            let unowned = self.unowned.entry(kind.clone()).or_default();
            unowned.objects += 1;
            unowned.fields += summary.unowned;
        }
        let subject = Subject { kind, namespace: target.namespace.clone(), name: target.name.clone() };
        let mut left: Vec<String> = live
            .managers
            .iter()
            .filter(|manager| is_left_over(manager))
            .map(|manager| manager.name.to_string())
            .collect();
        left.dedup();
        if !left.is_empty() {
            self.client_side_objects += 1;
            if self.client_side.len() < NAMED {
                self.client_side.push((subject.clone(), left));
            }
        }
        self.largest.push(Reverse((summary.bytes, subject)));
        if self.largest.len() > NAMED {
            self.largest.pop();
        }
    }

    /// Returns the overview as a document.
    pub fn to_value(&self, now: Timestamp) -> Value {
        let mut kinds: Vec<(&Kind, &Unowned)> = self.unowned.iter().collect();
        kinds.sort_by_key(|(_, unowned)| Reverse(unowned.fields));
        let unowned = kinds.into_iter().take(NAMED).map(|(kind, unowned)| {
            Value::Object(
                kind.shown().with("objects", unowned.objects as i64).with("fields", unowned.fields as i64),
            )
        });
        let client_side = self.client_side.iter().map(|(subject, managers)| {
            let managers = managers.iter().map(|name| Value::from(name.as_str()));
            Value::Object(subject.shown().with("managers", Value::array(managers)))
        });
        let mut largest: Vec<&(usize, Subject)> = self.largest.iter().map(|Reverse(one)| one).collect();
        largest.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        let largest = largest
            .into_iter()
            .map(|(bytes, subject)| Value::from(subject.shown().with("bytes", *bytes as i64)));
        let survey = self.survey.to_value(now).as_object().cloned().unwrap_or_default();
        Value::Object(
            survey
                .with("fields", self.fields as i64)
                .with("unownedFields", self.unowned_fields as i64)
                .with("unowned", Value::array(unowned))
                .with("clientSideObjects", self.client_side_objects as i64)
                .with("clientSide", Value::array(client_side))
                .with("largest", Value::array(largest)),
        )
    }
}

impl Kind {
    fn shown(&self) -> Object {
        Object::default()
            .with("kind", self.kind.as_str())
            .with("apiVersion", self.api_version.as_str())
            .with("resource", self.resource.as_str())
    }
}

impl Subject {
    fn shown(&self) -> Object {
        self.kind.shown().with("namespace", self.namespace.as_str()).with("name", self.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_schema::Schema;

    #[test]
    fn lists_are_bounded_and_numbers_are_not() {
        let ty = Schema::builtin().kind("v1", "ConfigMap").unwrap();
        let mut overview = Overview::default();
        for number in 0..50 {
            let name = format!("map-{number:02}");
            let fields: Vec<String> = (0..=number).map(|at| format!("\"f:k{at}\":{{}}")).collect();
            let shown = format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","managedFields":[
                    {{"manager":"kubectl-client-side-apply","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1",
                     "fieldsV1":{{"f:data":{{{}}}}}}}]}},"data":{{"other":"1"}}}}"#,
                fields.join(",")
            );
            let live = LiveObject::read(&shown.parse().unwrap()).unwrap();
            let target = Target {
                word: "configmap".into(),
                api_version: "v1".into(),
                kind: "ConfigMap".into(),
                namespace: String::new(),
                name,
            };
            overview.add(&live, &target, "configmaps", ty);
        }
        let shown = overview.to_value(Timestamp::from_unix(0));
        let length = |name: &str| shown.get(name).and_then(Value::as_array).map_or(0, |list| list.len());
        assert_eq!((length("clientSide"), length("largest"), length("unowned")), (NAMED, NAMED, 1));
        assert_eq!(shown.get("clientSideObjects").and_then(Value::as_i64), Some(50));
        assert_eq!(shown.get("unownedFields").and_then(Value::as_i64), Some(50));
        let first = shown.get("largest").and_then(Value::as_array).and_then(|list| list.first()).unwrap();
        assert_eq!(first.get("name").and_then(Value::as_str), Some("map-49"), "the largest comes first");
    }
}
