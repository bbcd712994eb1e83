//! Subresources that write only one part of an object, regardless of the rest of the request: which part, and
//! which changes of it are rejected. The update validation of the whole object does not apply to them; each
//! part has its own.

use crate::defaulting::qos_class;
use std::collections::HashMap;
use tenure_meta::{
    Endpoint, FieldError, FieldErrorKind, FieldErrors, Timestamp, time::Precision,
    update::carry_field as carry,
};
use tenure_value::{Object, Value};

/// The part of an object that a subresource writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Part of the spec: `/scale` and `/finalize`.
    Spec,
    /// The node of a pod: `/binding`. The new object is derived from the live one.
    Binding,
    /// The ephemeral containers of a pod: `/ephemeralcontainers`.
    EphemeralContainers,
    /// The resources of the containers of a pod: `/resize`.
    Resize,
    /// The approval of a certificate signing request: `/approval`.
    Approval,
}

/// The subresources that write a part.
const PARTS: [(&str, Part); 4] = [
    ("binding", Part::Binding),
    ("ephemeralcontainers", Part::EphemeralContainers),
    ("resize", Part::Resize),
    ("approval", Part::Approval),
];

/// The conditions that decide a certificate signing request; they are final.
const DECISIONS: [&str; 3] = ["Approved", "Denied", "Failed"];
/// The lists of containers that can be resized, and their resizable fields.
const RESIZED: [&str; 2] = ["containers", "initContainers"];
const SIZES: [&str; 2] = ["resources", "resizePolicy"];
/// The annotation of a pod that a node runs from a file.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// The resources that can change while a container is running.
const RESIZABLE: [&str; 2] = ["cpu", "memory"];

impl Part {
    /// Returns the part that an endpoint writes; `None` for the object itself or its status.
    pub fn of(endpoint: Endpoint<'_>) -> Option<Part> {
        match endpoint {
            Endpoint::Main | Endpoint::Status => None,
            Endpoint::Scale => Some(Part::Spec),
            Endpoint::Other(subresource) => {
                let row = PARTS.iter().find(|(name, _)| *name == subresource);
                Some(row.map_or(Part::Spec, |(_, part)| *part))
            }
        }
    }

    /// Whether the update validation of the whole object applies to a change of the part.
    pub(super) fn is_checked_as_whole(self) -> bool {
        self == Part::Spec
    }

    /// Whether a change of the part increments the generation.
    pub(crate) fn counts(self) -> bool {
        self != Part::Binding
    }

    /// Returns the old object with the part of the new one.
    pub(super) fn taken(self, old: &Object, new: &Object, now: Timestamp) -> Object {
        match self {
            Part::Spec => carry(new, old, "status"),
            Part::Binding => new.clone(),
            Part::EphemeralContainers => {
                with_spec(old, |spec| carry(spec, &object_at(new, "spec"), "ephemeralContainers"))
            }
            Part::Resize => with_spec(old, |spec| {
                let wanted = object_at(new, "spec");
                let spec = carry(spec, &wanted, "resources");
                RESIZED.iter().fold(spec, |spec, list| resized(&spec, &wanted, list))
            }),
            Part::Approval => {
                let status = carry(&object_at(old, "status"), &object_at(new, "status"), "conditions");
                with_stamped_conditions(&carry(new, old, "spec").with("status", status), now)
            }
        }
    }

    /// Validates a change of the part.
    pub(super) fn check(self, old: &Value, new: &Value, errors: &mut FieldErrors) {
        match self {
            Part::Spec | Part::Binding => {}
            Part::EphemeralContainers => check_joined(old, new, errors),
            Part::Resize => check_sizes(old, new, errors),
            Part::Approval => check_decisions(old, new, errors),
        }
    }
}

/// Returns an object whose conditions have the times at which they were set.
pub(crate) fn with_stamped_conditions(object: &Object, now: Timestamp) -> Object {
    let status = object_at(object, "status");
    let conditions = items(status.get("conditions"));
    if conditions.is_empty() {
        return object.clone();
    }
    let stamped = conditions.iter().map(|condition| stamped(condition, now));
    object.with("status", status.with("conditions", Value::array(stamped)))
}

fn object_at(object: &Object, name: &str) -> Object {
    object.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
}

fn items(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map(|list| list.items()).unwrap_or_default()
}

fn with_spec(object: &Object, change: impl FnOnce(&Object) -> Object) -> Object {
    object.with("spec", change(&object_at(object, "spec")))
}

/// Returns the first item of each name.
fn by_name(list: &[Value]) -> HashMap<Option<&Value>, &Value> {
    // The first of equal names is the last one to be collected.
    list.iter().rev().map(|item| (item.get("name"), item)).collect()
}

/// Returns a spec with the container sizes of another. Containers that are not the same are taken as they are, to be refused.
fn resized(spec: &Object, wanted: &Object, list: &str) -> Object {
    let (live, wanted) = (items(spec.get(list)), items(wanted.get(list)));
    let is_same = |(live, wanted): (&Value, &Value)| live.get("name") == wanted.get("name");
    if live.len() != wanted.len() || !live.iter().zip(wanted).all(is_same) {
        return spec.with(list, Value::array(wanted.iter().cloned()));
    }
    if live.is_empty() {
        return spec.clone();
    }
    let changed = live.iter().zip(wanted).map(|(container, wanted)| {
        match (container.as_object(), wanted.as_object()) {
            (Some(container), Some(wanted)) => Value::from(
                SIZES.iter().fold(container.clone(), |container, size| carry(&container, wanted, size)),
            ),
            _ => container.clone(),
        }
    });
    spec.with(list, Value::array(changed))
}

/// Returns a condition with its missing times filled in.
fn stamped(condition: &Value, now: Timestamp) -> Value {
    let Some(fields) = condition.as_object() else { return condition.clone() };
    let stamp = |fields: Object, name: &str| match fields.get(name) {
        None | Some(Value::Null) => fields.with(name, now.format(Precision::Seconds)),
        Some(_) => fields,
    };
    ["lastTransitionTime", "lastUpdateTime"]
        .iter()
        .fold(fields.clone(), |fields, name| stamp(fields, name))
        .into()
}

/// Existing ephemeral containers are immutable.
fn check_joined(old: &Value, new: &Value, errors: &mut FieldErrors) {
    const PATH: &str = "spec.ephemeralContainers";
    let list = |pod: &Value| items(pod.at(["spec", "ephemeralContainers"])).to_vec();
    let after = list(new);
    let after = by_name(&after);
    for container in &list(old) {
        let lost = match after.get(&container.get("name")) {
            // Kubernetes ends the line here.
            None => "removed\n",
            Some(same) if *same != container => "changed",
            Some(_) => continue,
        };
        let name = container.get("name").cloned().unwrap_or_default();
        let detail = format!("existing ephemeral containers {name} may not be {lost}");
        errors.push(FieldError::new(FieldErrorKind::Forbidden, PATH, &Value::Null, detail));
    }
}

/// Only CPU and memory can change; requests and limits cannot be removed, and the QoS class must not change.
fn check_sizes(old: &Value, new: &Value, errors: &mut FieldErrors) {
    let mut forbid = |path: &str, detail: &str| {
        errors.push(FieldError::new(FieldErrorKind::Forbidden, path, &Value::Null, detail));
    };
    if old.at(["metadata", "annotations", MIRROR]).is_some() {
        return forbid("", "static pods cannot be resized");
    }
    if old.at(["spec", "os", "name"]).and_then(Value::as_str) == Some("windows") {
        return forbid("", "windows pods cannot be resized");
    }
    let class = |pod: &Value| pod.get("spec").map(qos_class);
    if class(old) != class(new) {
        let class = Value::from(class(old).unwrap_or_default());
        let detail = "Pod QOS Class may not change as a result of resizing";
        errors.push(FieldError::invalid("spec", &class, detail));
    }
    check_node_resizes(old, errors);
    check_pod_sizes(old, new, errors);
    if !check_container_order(old, new, errors) {
        return;
    }
    let pairs = |list: &str| {
        let before = items(old.at(["spec", list])).iter();
        before.zip(items(new.at(["spec", list]))).enumerate()
    };
    let amounts = |container: &Value, kind: &str| {
        container.at(["resources", kind]).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let mut forbid = |path: String, detail: &str| {
        errors.push(FieldError::new(FieldErrorKind::Forbidden, path, &Value::Null, detail));
    };
    for list in ["initContainers", "containers"] {
        for (at, (was, is)) in pairs(list) {
            for kind in ["requests", "limits"] {
                let kept = amounts(is, kind);
                if amounts(was, kind).iter().any(|(name, _)| !kept.contains(name)) {
                    let path = format!("spec.{list}[{at}].resources.{kind}");
                    forbid(path, &format!("resource {kind} cannot be removed"));
                }
            }
        }
    }
    // What is not resized: other resources, claims and what a resize does to the container.
    let fixed = |container: &Value| {
        let kinds = ["limits", "requests"].map(|kind| {
            RESIZABLE.iter().fold(amounts(container, kind), |amounts, name| amounts.without(name))
        });
        let list = |path: &[&str]| items(container.at(path.iter().copied())).to_vec();
        (kinds, list(&["resources", "claims"]), list(&["resizePolicy"]))
    };
    for (_, (was, is)) in pairs("containers") {
        if fixed(was) != fixed(is) {
            forbid("spec".into(), "only cpu and memory resources are mutable");
        }
    }
    for (at, (was, is)) in pairs("initContainers") {
        let path = || format!("spec.initContainers[{at}]");
        if fixed(was) != fixed(is) {
            forbid(path(), "only cpu and memory resources for init or sidecar containers are mutable");
        }
        let is_sidecar = is.get("restartPolicy").and_then(Value::as_str) == Some("Always");
        let restarts =
            |policy: &&Value| policy.get("restartPolicy").and_then(Value::as_str) == Some("RestartContainer");
        if was != is && !is_sidecar {
            for _ in items(is.get("resizePolicy")).iter().filter(restarts) {
                forbid(
                    path(),
                    "non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
                );
            }
        }
    }
}

/// A node that shows no resources of a running container cannot resize it.
fn check_node_resizes(pod: &Value, errors: &mut FieldErrors) {
    let statuses = items(pod.at(["status", "containerStatuses"])).iter();
    let is_given = |value: Option<&Value>| value.is_some_and(|value| !value.is_null());
    let running = statuses.into_iter().find(|status| is_given(status.at(["state", "running"])));
    if running.is_some_and(|status| !is_given(status.get("resources"))) {
        let detail = "Pod running on node without support for resize";
        errors.push(FieldError::new(FieldErrorKind::Forbidden, "spec", &Value::Null, detail));
    }
}

/// Containers are not added, removed, renamed or reordered; whether they are the same.
fn check_container_order(old: &Value, new: &Value, errors: &mut FieldErrors) -> bool {
    let mut is_same = true;
    let mut forbid = |path: String, detail: String| {
        is_same = false;
        errors.push(FieldError::new(FieldErrorKind::Forbidden, path, &Value::Null, detail));
    };
    for list in RESIZED {
        let (before, after) = (items(old.at(["spec", list])), items(new.at(["spec", list])));
        if before.len() != after.len() {
            forbid(format!("spec.{list}"), format!("{list} may not be added or removed on resize"));
            continue;
        }
        for (at, (was, is)) in before.iter().zip(after).enumerate() {
            if was.get("name") != is.get("name") {
                let path = format!("spec.{list}[{at}].name");
                forbid(path, format!("{list} may not be renamed or reordered on resize"));
            }
        }
    }
    is_same
}

/// The resources of a whole pod follow the same rules as those of a container.
fn check_pod_sizes(old: &Value, new: &Value, errors: &mut FieldErrors) {
    let mut forbid = |path: &str, detail: String| {
        errors.push(FieldError::new(FieldErrorKind::Forbidden, path, &Value::Null, detail))
    };
    let Some(before) = old.at(["spec", "resources"]).filter(|resources| !resources.is_null()) else { return };
    let Some(after) = new.at(["spec", "resources"]).filter(|resources| !resources.is_null()) else {
        return forbid("spec.resources", "pod-level resources cannot be removed".into());
    };
    let amounts = |resources: &Value, kind: &str| {
        resources.get(kind).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    for kind in ["requests", "limits"] {
        let (was, is) = (amounts(before, kind), amounts(after, kind));
        if was.iter().any(|(name, _)| !is.contains(name)) {
            forbid(&format!("spec.resources.{kind}"), format!("pod-level resource {kind} cannot be removed"));
        }
    }
    let is_fixed = ["requests", "limits"].iter().any(|kind| {
        let was = amounts(before, kind);
        amounts(after, kind)
            .iter()
            .any(|(name, amount)| !RESIZABLE.contains(&name.as_str()) && was.get(name) != Some(amount))
    });
    if is_fixed {
        forbid("spec", "only cpu and memory resources are mutable at pod-level".into());
    }
}

/// Decisions are final, and opposite ones are mutually exclusive.
fn check_decisions(old: &Value, new: &Value, errors: &mut FieldErrors) {
    const PATH: &str = "status.conditions";
    let of_type = |request: &Value, decision: &str| {
        let all = items(request.at(["status", "conditions"])).iter();
        all.filter(|condition| condition.get("type").and_then(Value::as_str) == Some(decision)).count()
    };
    let mut forbid =
        |detail: String| errors.push(FieldError::new(FieldErrorKind::Forbidden, PATH, &Value::Null, detail));
    for decision in DECISIONS {
        if of_type(new, decision) < of_type(old, decision) {
            forbid(format!("updates may not remove a condition of type {decision:?}"));
        }
    }
    if of_type(new, "Approved") > 0 && of_type(new, "Denied") > 0 {
        forbid("Approved and Denied conditions are mutually exclusive".into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Value {
        text.parse().unwrap()
    }

    fn taken(part: Part, old: &str, new: &str) -> Value {
        let (old, new) = (parse(old), parse(new));
        let now = Timestamp { seconds: 0, nanos: 0 };
        part.taken(old.as_object().unwrap(), new.as_object().unwrap(), now).into()
    }

    fn faults(part: Part, old: &str, new: &str) -> Vec<String> {
        let mut errors = FieldErrors::default();
        part.check(&parse(old), &parse(new), &mut errors);
        errors.iter().map(|error| format!("{}: {}", error.path, error.message)).collect()
    }

    const POD: &str = r#"{"metadata":{"labels":{"a":"1"}},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}],"ephemeralContainers":[{"name":"e","image":"i"}]},"status":{"phase":"Running"}}"#;

    #[test]
    fn only_the_part_is_written() {
        let other = POD.replace("\"a\":\"1\"", "\"a\":\"2\"").replace("Running", "Failed");
        let more =
            other.replace("{\"name\":\"e\"", "{\"name\":\"f\"},{\"name\":\"e\"").replace("\"1\"", "\"2\"");
        let joined = POD.replace("{\"name\":\"e\"", "{\"name\":\"f\"},{\"name\":\"e\"");
        assert_eq!(taken(Part::EphemeralContainers, POD, &more), parse(&joined));
        let larger = POD.replace("\"cpu\":\"1\"", "\"cpu\":\"2\"");
        assert_eq!(
            taken(Part::Resize, POD, &more.replace("\"image\":\"i\"", "\"image\":\"j\"")),
            parse(&larger)
        );
    }

    #[test]
    fn an_approval_gets_times_and_no_certificate() {
        let old = r#"{"metadata":{},"spec":{"signerName":"s"},"status":{"certificate":"c"}}"#;
        let new = r#"{"metadata":{"labels":{"a":"b"}},"spec":{},"status":{"certificate":"x","conditions":[{"type":"Approved"}]}}"#;
        let expected = r#"{"metadata":{"labels":{"a":"b"}},"spec":{"signerName":"s"},"status":{"certificate":"c","conditions":[{"lastTransitionTime":"1970-01-01T00:00:00Z","lastUpdateTime":"1970-01-01T00:00:00Z","type":"Approved"}]}}"#;
        assert_eq!(taken(Part::Approval, old, new), parse(expected));
    }

    #[test]
    fn ephemeral_containers_decisions_and_limits_are_final() {
        let none = POD.replace(r#","ephemeralContainers":[{"name":"e","image":"i"}]"#, "");
        let other = POD.replace(r#""e","image":"i""#, r#""e","image":"j""#);
        let joined = "spec.ephemeralContainers: Forbidden: existing ephemeral containers \"e\" may not be";
        assert_eq!(faults(Part::EphemeralContainers, POD, &none), [format!("{joined} removed\n")]);
        assert_eq!(faults(Part::EphemeralContainers, POD, &other), [format!("{joined} changed")]);
        assert_eq!(faults(Part::EphemeralContainers, &none, POD), Vec::<String>::new());

        let removed = POD.replace(r#"{"cpu":"1"}"#, "{}");
        assert_eq!(
            faults(Part::Resize, POD, &removed),
            [
                "spec: Invalid value: \"Burstable\": Pod QOS Class may not change as a result of resizing",
                "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"
            ]
        );
        let disk = POD.replace(r#"{"cpu":"1"}"#, r#"{"cpu":"2","ephemeral-storage":"1"}"#);
        assert_eq!(
            faults(Part::Resize, POD, &disk),
            ["spec: Forbidden: only cpu and memory resources are mutable"]
        );
        let claimed =
            POD.replace(r#""requests":{"cpu":"1"}"#, r#""claims":[{"name":"x"}],"requests":{"cpu":"1"}"#);
        let restarted = POD.replace(
            r#""image":"i","resources""#,
            r#""image":"i","resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"}],"resources""#,
        );
        let renamed = POD.replace(r#"[{"name":"c""#, r#"[{"name":"d""#);
        let more = POD.replace(r#"[{"name":"c""#, r#"[{"name":"b"},{"name":"c""#);
        let init = |amount: &str| {
            POD.replace(
                r#""containers""#,
                &format!(
                    r#""initContainers":[{{"name":"i","resizePolicy":[{{"resourceName":"cpu","restartPolicy":"RestartContainer"}}],"resources":{{"requests":{{"cpu":"{amount}"}}}}}}],"containers""#
                ),
            )
        };
        let with = |part: &str| POD.replace(r#""status":{"#, &format!(r#""status":{{{part},"#));
        let running = with(r#""containerStatuses":[{"state":{"running":{}}}]"#);
        let mirror =
            POD.replace(r#""labels""#, r#""annotations":{"kubernetes.io/config.mirror":"h"},"labels""#);
        let windows = POD.replace(r#""containers""#, r#""os":{"name":"windows"},"containers""#);
        let (one, two) = (init("1"), init("2"));
        for (old, new, expected) in [
            (POD, &*claimed, vec!["spec: Forbidden: only cpu and memory resources are mutable"]),
            (POD, &*restarted, vec!["spec: Forbidden: only cpu and memory resources are mutable"]),
            (
                POD,
                &*renamed,
                vec![
                    "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
                ],
            ),
            (
                POD,
                &*more,
                vec!["spec.containers: Forbidden: containers may not be added or removed on resize"],
            ),
            (&*one, &*one, vec![]),
            (
                &*one,
                &*two,
                vec![
                    "spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
                ],
            ),
            (&*running, &*running, vec!["spec: Forbidden: Pod running on node without support for resize"]),
            (&*mirror, &*mirror, vec![": Forbidden: static pods cannot be resized"]),
            (&*windows, &*windows, vec![": Forbidden: windows pods cannot be resized"]),
        ] {
            assert_eq!(faults(Part::Resize, old, new), expected, "{new}");
        }
        assert_eq!(
            taken(Part::Resize, POD, &more).at(["spec", "containers"]).cloned(),
            parse(&more).at(["spec", "containers"]).cloned()
        );

        let sized = |resources: &str| {
            format!(r#"{{"spec":{{{resources}"containers":[{{"name":"c","image":"i"}}]}}}}"#)
        };
        let guaranteed = sized(
            r#""resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}},"#,
        );
        let class =
            "spec: Invalid value: \"Guaranteed\": Pod QOS Class may not change as a result of resizing";
        for (new, expected) in [
            (guaranteed.replace(r#""1""#, r#""2""#), vec![]),
            (sized(""), vec![class, "spec.resources: Forbidden: pod-level resources cannot be removed"]),
            (
                guaranteed.replace(r#""cpu":"1","#, ""),
                vec![
                    class,
                    "spec.resources.requests: Forbidden: pod-level resource requests cannot be removed",
                    "spec.resources.limits: Forbidden: pod-level resource limits cannot be removed",
                ],
            ),
            (
                guaranteed.replace(r#""1Gi""#, r#""1Gi","hugepages-2Mi":"2Mi""#),
                vec!["spec: Forbidden: only cpu and memory resources are mutable at pod-level"],
            ),
        ] {
            assert_eq!(faults(Part::Resize, &guaranteed, &new), expected, "{new}");
        }
        assert_eq!(faults(Part::Resize, &sized(""), &guaranteed).len(), 1, "the class changes");
        let resized = taken(Part::Resize, &guaranteed, &guaranteed.replace(r#""1""#, r#""2""#));
        assert_eq!(resized.at(["spec", "resources", "limits", "cpu"]), Some(&"2".into()));

        let csr = |types: &[&str]| {
            let conditions: Vec<_> = types.iter().map(|name| format!(r#"{{"type":"{name}"}}"#)).collect();
            format!(r#"{{"status":{{"conditions":[{}]}}}}"#, conditions.join(","))
        };
        assert_eq!(
            faults(Part::Approval, &csr(&["Approved"]), &csr(&[])),
            ["status.conditions: Forbidden: updates may not remove a condition of type \"Approved\""]
        );
        assert_eq!(
            faults(Part::Approval, &csr(&["Approved"]), &csr(&["Approved", "Denied"])),
            ["status.conditions: Forbidden: Approved and Denied conditions are mutually exclusive"]
        );
    }
}
