//! Bindings: a scheduler posts one to say where a pod goes. It sets the pod's node once and for all, says so in its
//! conditions, and hands its own labels and annotations on to the pod.

use crate::{
    Cause, Failure, WriteOptions,
    kinds::scalar::Timestamp,
    object::{Stored, fields, meta_text, metadata, with_metadata},
    server::{Request, Server},
    target::Target,
    write::{
        create::seconds,
        pipeline::{Next, Writing},
        strict_decoding::Complaints,
    },
};
use tenure_value::{Object, Value};

/// The condition that says that a pod has a node.
const SCHEDULED: &str = "PodScheduled";

impl Server {
    /// Puts a pod on a node.
    pub(crate) async fn bind(
        &self,
        target: &Target,
        request: &Request,
        options: WriteOptions,
        binding: &Value,
    ) -> Result<(), Failure> {
        let node = destination(binding)?;
        let pod = Target { subresource: "".into(), ..target.copy() };
        let writing = Writing::binding(self, &pod, request, options);
        let written = writing.change(|live| {
            let live = live.ok_or_else(|| pod.not_found())?;
            check(&pod, live, binding)?;
            let bound = bound(&live.object, binding, node, writing.now);
            writing.body(&bound, Some(live), &Complaints::default()).map(Next::Whole)
        });
        written.await.map(|_| ())
    }
}

/// Returns the node that a binding names.
fn destination(binding: &Value) -> Result<&str, Failure> {
    let target = |name: &str| binding.at(["target", name]).and_then(Value::as_str).unwrap_or_default();
    let mut causes = Vec::new();
    let mut wrong = |reason: &str, field: &str, message: String| {
        causes.push(Cause { reason: reason.into(), message, field: field.into(), extension: None });
    };
    let kind = target("kind");
    if !matches!(kind, "" | "Node") {
        let message = format!("Unsupported value: {kind:?}: supported values: \"Node\", \"<empty>\"");
        wrong("FieldValueNotSupported", "target.kind", message);
    }
    if target("name").is_empty() {
        wrong("FieldValueRequired", "target.name", "Required value: the node that the pod goes to".into());
    }
    match causes.is_empty() {
        true => Ok(target("name")),
        false => Err(Failure::invalid("", "Binding", meta_text(binding, "name"), causes)),
    }
}

/// Checks that a pod is the one that the binding means, and waits for a node.
fn check(pod: &Target, live: &Stored, binding: &Value) -> Result<(), Failure> {
    let uid = meta_text(binding, "uid");
    if !uid.is_empty() && uid != meta_text(&live.object, "uid") {
        let is = meta_text(&live.object, "uid");
        return Err(pod.conflict(&format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {is}"
        )));
    }
    let version = meta_text(binding, "resourceVersion");
    if !version.is_empty() && version != live.revision.to_string() {
        let is = live.revision;
        return Err(pod.conflict(&format!(
            "Precondition failed: ResourceVersion in precondition: {version}, ResourceVersion in object meta: {is}"
        )));
    }
    if live.object.at(["metadata", "deletionTimestamp"]).is_some() {
        return Err(pod.conflict(&format!("pod {} is being deleted, cannot be assigned to a host", pod.name)));
    }
    let on = live.object.at(["spec", "nodeName"]).and_then(Value::as_str).unwrap_or_default();
    if !on.is_empty() {
        return Err(pod.conflict(&format!("pod {} is already assigned to node {on:?}", pod.name)));
    }
    let gates = live.object.at(["spec", "schedulingGates"]).and_then(Value::as_array);
    if gates.is_some_and(|gates| !gates.is_empty()) {
        return Err(pod.conflict(&format!("pod {} has non-empty .spec.schedulingGates", pod.name)));
    }
    Ok(())
}

/// Returns a pod that is on a node.
fn bound(pod: &Value, binding: &Value, node: &str, now: Timestamp) -> Value {
    let handed_on = ["annotations", "labels"].iter().fold(metadata(pod), |metadata, name| {
        let given = fields(binding.at(["metadata", name]));
        match given.is_empty() {
            true => metadata,
            false => {
                let merged = given.iter().fold(fields(metadata.get(name)), |all, (key, value)| {
                    all.with(key.clone(), value.clone())
                });
                metadata.with(*name, merged)
            }
        }
    });
    let pod = with_metadata(pod, handed_on);
    let spec = fields(pod.get("spec")).with("nodeName", node);
    let status = scheduled(fields(pod.get("status")), now);
    fields(Some(&pod)).with("spec", spec).with("status", status).into()
}

/// Returns a status that says that the pod has a node.
fn scheduled(status: Object, now: Timestamp) -> Object {
    let is = |condition: &&Value| condition.get("type").and_then(Value::as_str) == Some(SCHEDULED);
    let conditions = status.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let others = conditions.iter().filter(|condition| !is(condition)).cloned();
    let condition = Value::object([
        ("type", Value::from(SCHEDULED)),
        ("status", Value::from("True")),
        ("lastProbeTime", Value::Null),
        ("lastTransitionTime", seconds(now).into()),
    ]);
    let conditions = Value::array(others.chain([condition]));
    status.with("conditions", conditions)
}
