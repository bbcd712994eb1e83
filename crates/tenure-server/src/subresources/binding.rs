//! Bindings: a scheduler posts one to assign a pod to a node. It sets the node once, records that in the conditions of the pod, and
//! copies its own labels and annotations to the pod.

use super::{Subresources, success};
use crate::write::{Next, ObjectUpdate, TextErrors, WriteRequest};
use tenure_builtin::role::PODS;
use tenure_catalog::{
    Target,
    object::{Stored, fields, meta_text, metadata, seconds, with_metadata},
};
use tenure_http::{Format, Request, Response, WriteOptions};
use tenure_meta::{ApiError, Cause, Endpoint, Timestamp, format};
use tenure_profile::Improvement;
use tenure_value::{Object, Value, go_text::Quoted};

/// The condition of a pod that has a node.
const SCHEDULED: &str = "PodScheduled";

/// The assignment of a pod to a node.
struct Bind<'a> {
    binding: &'a Value,
    node: &'a str,
}

impl ObjectUpdate for Bind<'_> {
    fn next(&self, write: &WriteRequest<'_>, live: Option<&Stored>) -> Result<Next, ApiError> {
        let live = live.ok_or_else(|| write.target.not_found())?;
        check(write.target, live, self.binding)?;
        let bound = bound(&live.object, self.binding, self.node, write.now);
        let body = write.decode(&bound, Some(live), &TextErrors::default())?;
        Ok(if write.profile.has(Improvement::OwnBindings) { Next::Whole(body) } else { Next::Unowned(body) })
    }
}

impl Subresources {
    /// Carries out a binding that is posted to the collection of bindings, where it names its pod.
    pub(super) async fn post_binding(
        &self,
        target: &Target,
        request: &Request,
        options: WriteOptions,
        (binding, version): (&Value, &str),
        format: Format,
    ) -> Result<Response, ApiError> {
        let pod = Target {
            handler: self.writer.objects.catalog.resource(PODS.group, PODS.version, PODS.resource)?,
            name: meta_text(binding, "name").into(),
            ..target.copy()
        };
        if pod.name.is_empty() {
            return Err(ApiError::bad_request("Name parameter required."));
        }
        // Here a uid is metadata of the binding, which only the server sets, and no condition; a version is one.
        let fields = metadata(binding).without("uid");
        let fields = match version.is_empty() {
            true => fields,
            false => fields.with("resourceVersion", version),
        };
        let binding = with_metadata(binding, fields);
        self.bind(&pod, request, options, &binding).await?;
        Ok(success(format))
    }

    /// Assigns a pod to a node.
    pub(super) async fn bind(
        &self,
        target: &Target,
        request: &Request,
        options: WriteOptions,
        binding: &Value,
    ) -> Result<(), ApiError> {
        let node = destination(binding)?;
        let pod = Target { subresource: "".into(), ..target.copy() };
        let write = WriteRequest::new(&self.writer, &pod, request, options);
        // At this endpoint a write may set fields that other writes of a pod may not.
        let write = write.at(Endpoint::Other("binding")).skip_admission();
        self.writer.write(&write, &Bind { binding, node }).await.map(|_| ())
    }
}

/// Returns the node that a binding names.
fn destination(binding: &Value) -> Result<&str, ApiError> {
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
    match target("name") {
        "" => {
            wrong("FieldValueRequired", "target.name", "Required value: the node that the pod goes to".into())
        }
        name => {
            for fault in format::dns_subdomain(name) {
                let message = format!("Invalid value: {}: {fault}", Quoted(name));
                wrong("FieldValueInvalid", "target.name", message);
            }
        }
    }
    if causes.is_empty() {
        return Ok(target("name"));
    }
    // Kubernetes lists the errors without saying of what, and has no more to say of a missing name.
    let plain = |cause: &Cause| match cause.field.as_str() {
        "target.name" if target("name").is_empty() => "target.name: Required value".to_owned(),
        field => format!("{field}: {}", cause.message),
    };
    let answer = match causes.as_slice() {
        [one] => plain(one),
        several => format!("[{}]", several.iter().map(plain).collect::<Vec<_>>().join(", ")),
    };
    let refused = ApiError::invalid("", "Binding", meta_text(binding, "name"), causes);
    Err(refused.or_in_kubernetes(ApiError::unclassified(answer)))
}

/// Checks that a pod is the target of the binding, and has no node yet.
fn check(pod: &Target, live: &Stored, binding: &Value) -> Result<(), ApiError> {
    let failed = |what: &str, wanted: &str, is: &str| {
        Err(pod.conflict(&format!(
            "StorageError: invalid object, Code: 4, Key: /registry/pods/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: \
             Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {is}",
            pod.namespace, pod.name
        )))
    };
    let (uid, is) = (meta_text(binding, "uid"), meta_text(&live.object, "uid"));
    if !uid.is_empty() && uid != is {
        return failed("UID", uid, is);
    }
    let (version, is) = (meta_text(binding, "resourceVersion"), live.revision.to_string());
    if !version.is_empty() && version != is {
        return failed("ResourceVersion", version, &is);
    }
    let refused = |why: String| Err(ApiError::conflict("", "pods/binding", &pod.name, &why));
    if live.object.at(["metadata", "deletionTimestamp"]).is_some() {
        return refused(format!("pod {} is being deleted, cannot be assigned to a host", pod.name));
    }
    let on = live.object.at(["spec", "nodeName"]).and_then(Value::as_str).unwrap_or_default();
    if !on.is_empty() {
        return refused(format!("pod {} is already assigned to node {on:?}", pod.name));
    }
    let gates = live.object.at(["spec", "schedulingGates"]).and_then(Value::as_array);
    if gates.is_some_and(|gates| !gates.is_empty()) {
        return refused(format!("pod {} has non-empty .spec.schedulingGates", pod.name));
    }
    Ok(())
}

/// Returns a pod that is assigned to a node.
fn bound(pod: &Value, binding: &Value, node: &str, now: Timestamp) -> Value {
    let merged = ["annotations", "labels"].iter().fold(metadata(pod), |metadata, name| {
        let given = fields(binding.at(["metadata", name]));
        match given.is_empty() {
            true => metadata,
            false => {
                let all = given.iter().fold(fields(metadata.get(name)), |all, (key, value)| {
                    all.with(key.clone(), value.clone())
                });
                metadata.with(*name, all)
            }
        }
    });
    let pod = with_metadata(pod, merged);
    let spec = fields(pod.get("spec")).with("nodeName", node);
    let status = scheduled(fields(pod.get("status")), now);
    fields(Some(&pod)).with("spec", spec).with("status", status).into()
}

/// Returns a status with the condition that the pod has a node.
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
