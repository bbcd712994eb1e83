//! What each endpoint lets through: which parts of an object a create or an update takes from the request,
//! which it keeps, when the generation rises. The strategies are rows of data; services alone have values
//! that one update hands to the next (see `service`).

use super::{Kinds, object::Surroundings, part::Part, service};
use tenure_meta::{Refills, Resource, Timestamp, time::Precision};
use tenure_value::{Object, Text, Value};

/// Where an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The object's own path.
    Main,
    /// `/status`.
    Status,
    /// A path that writes one part of the object.
    Part(Part),
}

/// What the server gives an object at its creation.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The name, generated where the request gave a prefix only.
    pub name: Text,
    /// The namespace; none for objects of the cluster.
    pub namespace: Option<Text>,
    /// The uid.
    pub uid: Text,
    /// The time of creation.
    pub now: Timestamp,
}

/// Parts of metadata that no client writes.
const SERVER_OWNED: [&str; 3] = ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

impl Kinds {
    /// Returns a completed object with the metadata that the server gives it at creation.
    pub fn identify(&self, resource: &Resource, object: &Value, identity: &Identity) -> Value {
        let Some(fields) = object.as_object() else { return object.clone() };
        let metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        let metadata = SERVER_OWNED.iter().fold(metadata, |metadata, name| metadata.without(name));
        let metadata = metadata
            .with("name", identity.name.clone())
            .with("uid", identity.uid.clone())
            .with("creationTimestamp", identity.now.format(Precision::Seconds));
        let metadata = match &identity.namespace {
            Some(namespace) => metadata.with("namespace", namespace.clone()),
            None => metadata.without("namespace"),
        };
        let metadata = match resource.strategy.generation {
            true => metadata.with("generation", 1),
            false => metadata,
        };
        fields.with("metadata", metadata).into()
    }

    /// Returns what an update makes of an object: of the completed new content, what the endpoint lets
    /// through; of the old, the rest.
    pub fn prepare_update(
        &self,
        resource: &Resource,
        endpoint: Endpoint,
        old: &Value,
        new: &Value,
        around: &mut dyn Surroundings,
    ) -> Value {
        let (Some(old_fields), Some(new_fields)) = (old.as_object(), new.as_object()) else {
            return new.clone();
        };
        let mut result = match endpoint {
            Endpoint::Status => status_update(resource, old_fields, new_fields),
            Endpoint::Main if resource.has_status() => carry(new_fields, old_fields, "status"),
            Endpoint::Main => new_fields.clone(),
            Endpoint::Part(part) => part.taken(old_fields, new_fields, around.now()),
        };
        if endpoint == Endpoint::Main {
            for name in resource.strategy.resets.iter() {
                result = carry(&result, old_fields, name);
            }
        }
        result = carry_identity(&result, old_fields);
        if endpoint != Endpoint::Status {
            let object = keep(resource, old, Value::from(result.clone()));
            let object = match resource.strategy.refills {
                Refills::Nothing => object,
                Refills::Created => self.refill(resource, &object, around),
                Refills::Admitted => self.readmit(resource, &object, around),
                Refills::Allotted => {
                    let object = service::carry_allocated(old, &object);
                    service::drop_foreign(old, &self.refill(resource, &object, around))
                }
            };
            result = object.as_object().cloned().unwrap_or(result);
            result = count(resource, old_fields, &result);
            let counts = !matches!(endpoint, Endpoint::Part(part) if !part.counts());
            if counts && raises_generation(resource, old_fields, &result) {
                let generation = at(old_fields, &["metadata", "generation"]).and_then(Value::as_i64);
                result = with_metadata(&result, "generation", Some((generation.unwrap_or(0) + 1).into()));
            }
        }
        Value::from(result)
    }

    /// Returns the fields that an endpoint puts back whatever the request says, so that nobody who writes
    /// there holds them.
    pub fn reset_fields(&self, resource: &Resource, endpoint: Endpoint) -> Vec<Vec<Text>> {
        let path = |words: &[&str]| words.iter().map(Text::new).collect::<Vec<_>>();
        match endpoint {
            Endpoint::Main => {
                let status = resource.has_status().then(|| path(&["status"]));
                status.into_iter().chain(resource.strategy.resets.iter().map(|name| path(&[name]))).collect()
            }
            Endpoint::Status => {
                let kept = &resource.strategy.status_keeps;
                let metadata = match kept.is_empty() {
                    true => vec![path(&["metadata"])],
                    false => ["labels", "annotations", "finalizers", "ownerReferences"]
                        .iter()
                        .filter(|name| !kept.iter().any(|of| of == *name))
                        .map(|name| path(&["metadata", name]))
                        .collect(),
                };
                std::iter::once(path(&["spec"])).chain(metadata).collect()
            }
            Endpoint::Part(Part::Approval) => vec![path(&["spec"]), path(&["status", "certificate"])],
            Endpoint::Part(Part::Binding) => Vec::new(),
            Endpoint::Part(_) => vec![path(&["status"])],
        }
    }
}

fn at<'o>(object: &'o Object, path: &[&str]) -> Option<&'o Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(object.get(first)?, |value, name| value.get(name))
}

/// Takes one field from the old object.
pub(super) fn carry(to: &Object, from: &Object, name: &str) -> Object {
    match (from.get(name), to.get(name)) {
        (Some(old), Some(new)) if old == new => to.clone(),
        (Some(value), _) => to.with(name, value.clone()),
        (None, _) => to.without(name),
    }
}

fn with_metadata(object: &Object, name: &str, value: Option<Value>) -> Object {
    let metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    if metadata.get(name) == value.as_ref() {
        return object.clone();
    }
    let metadata = match value {
        Some(value) => metadata.with(name, value),
        None => metadata.without(name),
    };
    object.with("metadata", metadata)
}

/// Takes the status of the new object, and of its metadata what the endpoint lets through.
fn status_update(resource: &Resource, old: &Object, new: &Object) -> Object {
    let mut result = carry(old, new, "status");
    for name in resource.strategy.status_keeps.iter() {
        let value = at(new, &["metadata", name]).cloned();
        result = with_metadata(&result, name, value);
    }
    for name in ["uid", "resourceVersion", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"]
    {
        if let Some(value) = at(new, &["metadata", name]) {
            result = with_metadata(&result, name, Some(value.clone()));
        }
    }
    result
}

/// Returns an object with what its kind keeps and the request left out.
fn keep(resource: &Resource, old: &Value, new: Value) -> Value {
    resource.strategy.keeps.iter().fold(new, |new, path| {
        let steps: Vec<&str> = path.split('.').collect();
        let find = |of: &Value| of.at(steps.iter().copied()).filter(|value| !value.is_null()).cloned();
        match (find(old), find(&new)) {
            (Some(value), None) => put(&new, &steps, value),
            _ => new,
        }
    })
}

/// Returns an object with a value at a path whose parents are there.
fn put(of: &Value, steps: &[&str], value: Value) -> Value {
    match (steps, of.as_object()) {
        ([], _) => value,
        ([step, rest @ ..], Some(fields)) => match fields.get(step) {
            Some(below) => fields.with(*step, put(below, rest, value)).into(),
            None if rest.is_empty() => fields.with(*step, value).into(),
            None => of.clone(),
        },
        (_, None) => of.clone(),
    }
}

/// Keeps the metadata that an update never changes.
fn carry_identity(new: &Object, old: &Object) -> Object {
    let held = |name: &str| at(old, &["metadata", name]).cloned();
    let mut result = new.clone();
    for name in ["generation", "creationTimestamp"] {
        result = with_metadata(&result, name, held(name));
    }
    result = with_metadata(&result, "selfLink", None);
    if let Some(time) = held("deletionTimestamp") {
        result = with_metadata(&result, "deletionTimestamp", Some(time));
    }
    for name in ["uid", "namespace", "deletionGracePeriodSeconds"] {
        if at(&result, &["metadata", name]).is_none_or(|value| value.as_str() == Some("")) {
            result = with_metadata(&result, name, held(name));
        }
    }
    result
}

/// Keeps the annotation that counts changes of a part.
fn count(resource: &Resource, old: &Object, new: &Object) -> Object {
    let Some((annotation, of)) = &resource.strategy.counter else { return new.clone() };
    let path: Vec<&str> = of.split('.').collect();
    let counted = at(old, &["metadata", "annotations", annotation]).and_then(Value::as_str);
    let counted: i64 = counted.and_then(|text| text.parse().ok()).unwrap_or(0);
    let changes = i64::from(at(old, &path) != at(new, &path));
    let annotations = at(new, &["metadata", "annotations"]).and_then(Value::as_object).cloned();
    let annotations =
        annotations.unwrap_or_default().with(annotation.clone(), (counted + changes).to_string());
    with_metadata(new, "annotations", Some(annotations.into()))
}

/// Walks what is neither metadata nor status nor the names of the kind.
fn content(object: &Object) -> impl Iterator<Item = &(Text, Value)> {
    let outside = ["apiVersion", "kind", "metadata", "status"];
    object.fields().iter().filter(move |(name, _)| !outside.contains(&name.as_str()))
}

/// Whether a change touches what raises the generation.
fn raises_generation(resource: &Resource, old: &Object, new: &Object) -> bool {
    let bumps = resource.strategy.bumps;
    bumps.content && !content(old).eq(content(new))
        || bumps.status && old.get("status") != new.get("status")
        || bumps.annotations && at(old, &["metadata", "annotations"]) != at(new, &["metadata", "annotations"])
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Surroundings for Nothing {
        fn now(&self) -> Timestamp {
            Timestamp::default()
        }
        fn uid(&self) -> Text {
            "u".into()
        }
        fn priority_class(&self, _: &str) -> Option<(i64, Text)> {
            None
        }
        fn cluster_ip(&mut self) -> Option<Text> {
            Some("10.0.0.7".into())
        }
        fn node_port(&mut self) -> Option<u16> {
            Some(30_007)
        }
        fn requester(&self) -> (Text, Text, Vec<Text>) {
            Default::default()
        }
    }

    fn update(kind: (&str, &str), endpoint: Endpoint, old: &str, new: &str) -> Value {
        let resource = crate::registry().of_kind(kind.0, kind.1).unwrap();
        let parse = |text: &str| text.parse::<Value>().unwrap();
        Kinds::builtin().prepare_update(resource, endpoint, &parse(old), &parse(new), &mut Nothing)
    }

    #[test]
    fn the_main_endpoint_keeps_the_status_and_counts_changes_of_the_spec() {
        let old = r#"{"metadata":{"generation":3,"uid":"u"},"spec":{"replicas":1},"status":{"replicas":1}}"#;
        let new = r#"{"metadata":{"generation":9},"spec":{"replicas":2},"status":{"replicas":7}}"#;
        let result = update(("apps/v1", "Deployment"), Endpoint::Main, old, new);
        let expected =
            r#"{"metadata":{"generation":4,"uid":"u"},"spec":{"replicas":2},"status":{"replicas":1}}"#;
        assert_eq!(result, expected.parse().unwrap());
    }

    #[test]
    fn the_status_endpoint_takes_the_status_and_what_it_lets_through() {
        let old = r#"{"metadata":{"generation":3,"labels":{"a":"1"}},"spec":{"replicas":1}}"#;
        let new = r#"{"metadata":{"labels":{"a":"2"},"annotations":{"b":"1"}},"spec":{"replicas":2},"status":{"replicas":7}}"#;
        let expected = r#"{"metadata":{"annotations":{"b":"1"},"generation":3,"labels":{"a":"1"}},"spec":{"replicas":1},"status":{"replicas":7}}"#;
        assert_eq!(update(("apps/v1", "Deployment"), Endpoint::Status, old, new), expected.parse().unwrap());
    }

    #[test]
    fn annotations_raise_the_generation_of_deployments_alone() {
        let old = r#"{"metadata":{"generation":1},"spec":{}}"#;
        let new = r#"{"metadata":{"annotations":{"a":"b"}},"spec":{}}"#;
        for (kind, generation) in [("Deployment", 2), ("ReplicaSet", 1)] {
            let result = update(("apps/v1", kind), Endpoint::Main, old, new);
            assert_eq!(result.at(["metadata", "generation"]), Some(&generation.into()), "{kind}");
        }
    }

    #[test]
    fn a_changed_template_is_counted_on_daemon_sets() {
        let old = r#"{"metadata":{"generation":1,"annotations":{"deprecated.daemonset.template.generation":"1"}},"spec":{"template":{}}}"#;
        let new = r#"{"metadata":{},"spec":{"template":{"metadata":{}}}}"#;
        let result = update(("apps/v1", "DaemonSet"), Endpoint::Main, old, new);
        let counter = result.at(["metadata", "annotations", "deprecated.daemonset.template.generation"]);
        assert_eq!(counter, Some(&"2".into()));
        let same = update(("apps/v1", "DaemonSet"), Endpoint::Main, old, old);
        assert_eq!(same, old.parse().unwrap());
    }

    #[test]
    fn an_update_without_change_is_the_same_object() {
        let old: Value =
            r#"{"metadata":{"generation":1,"uid":"u"},"spec":{"replicas":1},"status":{}}"#.parse().unwrap();
        let resource = crate::registry().of_kind("apps/v1", "Deployment").unwrap();
        let result = Kinds::builtin().prepare_update(resource, Endpoint::Main, &old, &old, &mut Nothing);
        assert!(result.ptr_eq(&old));
    }

    #[test]
    fn a_service_keeps_its_address_and_ports_and_loses_them_with_its_type() {
        let old = r#"{"metadata":{},"spec":{"type":"NodePort","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","externalTrafficPolicy":"Cluster","ports":[{"port":80,"protocol":"TCP","nodePort":30001}]}}"#;
        let put = r#"{"metadata":{},"spec":{"type":"NodePort","externalTrafficPolicy":"Cluster","ports":[{"port":80,"protocol":"TCP"},{"port":81,"protocol":"TCP"}]}}"#;
        let result = update(("v1", "Service"), Endpoint::Main, old, put);
        assert_eq!(result.at(["spec", "clusterIPs"]), Some(&Value::array(["10.0.0.1".into()])));
        let ports = result.at(["spec", "ports"]).and_then(Value::as_array).unwrap();
        assert_eq!(ports[0].get("nodePort"), Some(&30_001.into()));
        assert_eq!(ports[1].get("nodePort"), Some(&30_007.into()));
        let plain = old.replace("NodePort\",\"clusterIP", "ClusterIP\",\"clusterIP");
        let result = update(("v1", "Service"), Endpoint::Main, old, &plain);
        assert_eq!(result.at(["spec", "externalTrafficPolicy"]), None);
        assert_eq!(result.at(["spec", "ports"]).and_then(Value::as_array).unwrap()[0].get("nodePort"), None);
        let external = old.replace("NodePort\",\"clusterIP", "ExternalName\",\"clusterIP");
        let result = update(("v1", "Service"), Endpoint::Main, old, &external);
        assert_eq!(result.at(["spec", "clusterIP"]), None);
        assert_eq!(result.at(["spec", "ipFamilies"]), None);
    }
}
