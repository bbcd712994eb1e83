//! Updates of built-in kinds: what comes from the request and what is carried over from the live object. Most
//! of it is data; only services have allocated values.

use crate::{
    Kinds,
    part::{Part, with_stamped_conditions},
    service, status,
};
use tenure_meta::{
    CreateContext, Endpoint, Refills, Resource,
    update::{at, carry_field, carry_system_metadata, status_update, with_generation, with_metadata},
};
use tenure_value::{Object, Text, Value};

impl Kinds {
    /// Returns the updated object: the parts of the decoded new object that the endpoint may write, and the
    /// rest of the live one.
    pub fn prepare_update(
        &self,
        resource: &Resource,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
        context: &mut dyn CreateContext,
    ) -> Value {
        if let (Some((hub, old)), Some((_, new))) = (self.in_hub(resource, old), self.in_hub(resource, new)) {
            let updated = self.prepare_update(hub, endpoint, &old, &new, context);
            return self.out_of_hub(updated, hub, resource);
        }
        let (Some(old_fields), Some(new_fields)) = (old.as_object(), new.as_object()) else {
            return new.clone();
        };
        let part = Part::of(endpoint);
        let mut result = match (endpoint, part) {
            (Endpoint::Status, _) => status_update(resource, old_fields, new_fields),
            (_, Some(part)) => part.taken(old_fields, new_fields, context.now()),
            (_, None) if resource.has_status() => carry_field(new_fields, old_fields, "status"),
            (_, None) => new_fields.clone(),
        };
        if endpoint == Endpoint::Main {
            for name in resource.strategy.resets.iter().chain(&resource.strategy.carries) {
                result = carry_field(&result, old_fields, name);
            }
        }
        result = carry_system_metadata(&result, old_fields);
        if endpoint == Endpoint::Status {
            // Conditions that an approval sets have times, at every endpoint.
            return Value::from(match &*resource.kind {
                "PersistentVolume" => status::volume(old_fields, result, context.now()),
                "Pod" => status::pod(old_fields, result),
                _ if resource.subresource("approval").is_some() => {
                    with_stamped_conditions(&result, context.now())
                }
                _ => result,
            });
        }
        let object = keep(resource, old, Value::from(result.clone()));
        let object = match resource.strategy.refills {
            Refills::Nothing => object,
            Refills::Created => self.refill(resource, &object, context),
            Refills::Admitted => self.readmit(resource, &object, context),
            Refills::Allotted => {
                let object = service::updated(old, &object, context);
                let object = service::drop_foreign(old, &self.refill(resource, &object, context));
                service::without_foreign_status(object)
            }
        };
        result = object.as_object().cloned().unwrap_or(result);
        result = count(resource, old_fields, &result);
        if part.is_none_or(Part::counts) {
            result = with_generation(resource, old_fields, result);
        }
        Value::from(result)
    }

    /// Returns the paths of the fields that an endpoint always takes from the live object, so that no manager
    /// that writes there owns them.
    pub fn reset_fields(&self, resource: &Resource, endpoint: Endpoint<'_>) -> Vec<Vec<Text>> {
        let path = |words: &[&str]| words.iter().map(Text::new).collect::<Vec<_>>();
        match (endpoint, Part::of(endpoint)) {
            (Endpoint::Status, _) => {
                let kept = &resource.strategy.status_keeps;
                let metadata = match kept.is_empty() {
                    true => vec![path(&["metadata"])],
                    false => ["labels", "annotations", "finalizers", "ownerReferences"]
                        .iter()
                        .filter(|name| !kept.iter().any(|kept_name| kept_name == *name))
                        .map(|name| path(&["metadata", name]))
                        .collect(),
                };
                std::iter::once(path(&["spec"])).chain(metadata).collect()
            }
            (_, Some(Part::Approval)) => vec![path(&["spec"]), path(&["status", "certificate"])],
            (_, Some(Part::Binding)) => Vec::new(),
            (_, Some(_)) => vec![path(&["status"])],
            (_, None) => {
                let status = resource.has_status().then(|| path(&["status"]));
                status.into_iter().chain(resource.strategy.resets.iter().map(|name| path(&[name]))).collect()
            }
        }
    }
}

/// Returns an object with the fields that its kind preserves if the request omits them.
fn keep(resource: &Resource, old: &Value, new: Value) -> Value {
    resource.strategy.keeps.iter().fold(new, |new, path| {
        let steps: Vec<&str> = path.split('.').collect();
        let find =
            |object: &Value| object.at(steps.iter().copied()).filter(|value| !value.is_null()).cloned();
        match (find(old), find(&new)) {
            (Some(value), None) => put(&new, &steps, value),
            _ => new,
        }
    })
}

/// Returns an object with a value at a path whose parents exist.
fn put(given: &Value, steps: &[&str], value: Value) -> Value {
    match (steps, given.as_object()) {
        ([], _) => value,
        ([step, rest @ ..], Some(fields)) => match fields.get(step) {
            Some(below) => fields.with(*step, put(below, rest, value)).into(),
            None if rest.is_empty() => fields.with(*step, value).into(),
            None => given.clone(),
        },
        (_, None) => given.clone(),
    }
}

/// Maintains the annotation that counts changes of a part.
fn count(resource: &Resource, old: &Object, new: &Object) -> Object {
    let Some((annotation, counted_path)) = &resource.strategy.counter else { return new.clone() };
    let path: Vec<&str> = counted_path.split('.').collect();
    let counted = at(old, &["metadata", "annotations", annotation]).and_then(Value::as_str);
    let counted: i64 = counted.and_then(|text| text.parse().ok()).unwrap_or(0);
    let changes = i64::from(at(old, &path) != at(new, &path));
    let annotations = at(new, &["metadata", "annotations"]).and_then(Value::as_object).cloned();
    let annotations =
        annotations.unwrap_or_default().with(annotation.clone(), (counted + changes).to_string());
    with_metadata(new, "annotations", Some(annotations.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_meta::Timestamp;

    struct Nothing;

    impl CreateContext for Nothing {
        fn now(&self) -> Timestamp {
            Timestamp::default()
        }
        fn uid(&self) -> Text {
            "u".into()
        }
        fn priority_class(&self, _: &str) -> Option<(i64, Text)> {
            None
        }
        fn cluster_ip(&mut self, _: tenure_meta::IpFamily) -> Option<Text> {
            Some("10.0.0.7".into())
        }
        fn node_port(&mut self) -> Option<u16> {
            Some(30_007)
        }
        fn requester(&self) -> (Text, Text, Vec<Text>) {
            Default::default()
        }
    }

    fn update(kind: (&str, &str), endpoint: Endpoint<'_>, old: &str, new: &str) -> Value {
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
    fn the_status_endpoint_writes_the_status_and_allowed_metadata() {
        let old = r#"{"metadata":{"generation":3,"labels":{"a":"1"}},"spec":{"replicas":1}}"#;
        let new = r#"{"metadata":{"labels":{"a":"2"},"annotations":{"b":"1"}},"spec":{"replicas":2},"status":{"replicas":7}}"#;
        let expected = r#"{"metadata":{"annotations":{"b":"1"},"generation":3,"labels":{"a":"1"}},"spec":{"replicas":1},"status":{"replicas":7}}"#;
        assert_eq!(update(("apps/v1", "Deployment"), Endpoint::Status, old, new), expected.parse().unwrap());
    }

    #[test]
    fn annotations_increment_the_generation_of_deployments_only() {
        let old = r#"{"metadata":{"generation":1},"spec":{}}"#;
        let new = r#"{"metadata":{"annotations":{"a":"b"}},"spec":{}}"#;
        for (kind, generation) in [("Deployment", 2), ("ReplicaSet", 1)] {
            let result = update(("apps/v1", kind), Endpoint::Main, old, new);
            assert_eq!(result.at(["metadata", "generation"]), Some(&generation.into()), "{kind}");
        }
    }

    #[test]
    fn daemon_sets_count_changes_of_their_template() {
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
    fn a_service_keeps_allocated_values_while_its_type_uses_them() {
        let old = r#"{"metadata":{},"spec":{"type":"NodePort","clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack","externalTrafficPolicy":"Cluster","ports":[{"name":"a","port":80,"protocol":"TCP","nodePort":30001}]}}"#;
        let put = r#"{"metadata":{},"spec":{"type":"NodePort","externalTrafficPolicy":"Cluster","ports":[{"name":"a","port":80,"protocol":"TCP"},{"name":"b","port":81,"protocol":"TCP"}]}}"#;
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
