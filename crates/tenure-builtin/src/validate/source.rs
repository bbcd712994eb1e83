//! Validation of sources of values and files in pods: fields of the pod, resources of a container, projected
//! volumes. Environment variables and files support different fields.

use super::{
    context::{Context, text},
    projection::CERTIFICATE_PATHS,
};
use tenure_meta::{FieldErrorKind, FieldErrors, Quantity, Seen};
use tenure_value::Value;

/// Fields of a pod that a file may refer to.
const FILE_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// Fields of a pod that can be referred to.
const POD_FIELDS: [&str; 16] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.hostNetwork",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.nominatedNodeName",
    "status.phase",
    "status.podIP",
    "status.podIPs",
];

/// Resources of a container that can be referred to, without huge pages.
const AMOUNTS: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Divisors of CPU.
const PROCESSOR_UNITS: [&str; 2] = ["1m", "1"];

/// Divisors of bytes.
const BYTE_UNITS: [&str; 13] =
    ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// Whether a path refers to a single label or annotation.
pub(super) fn is_subscript(path: &str) -> bool {
    ["metadata.labels['", "metadata.annotations['"].iter().any(|start| path.starts_with(start))
        && path.ends_with("']")
}

/// Validates a downward API file.
pub(crate) fn file(context: &Context<'_>, errors: &mut FieldErrors) {
    let part = |name: &str| context.get(name);
    match (part("fieldRef"), part("resourceFieldRef")) {
        (None, None) => errors.push(context.required("", "one of fieldRef and resourceFieldRef is required")),
        (Some(_), Some(_)) => {
            let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
            context.invalid("", &"resource".into(), vec![detail.into()], errors);
        }
        _ => {}
    }
    if let Some(path) = context.at(&["fieldRef", "fieldPath"]) {
        let named = path.as_str().unwrap_or_default();
        field_path(context, "fieldRef.fieldPath", named, &FILE_FIELDS, errors);
    }
    if let Some(reference) = part("resourceFieldRef") {
        // What is missing is reported one by one.
        let missing = ["containerName", "resource"].into_iter().find(|name| text(reference, name).is_empty());
        if let Some(name) = missing {
            errors.push(context.required(&format!("resourceFieldRef.{name}"), ""));
        }
    }
}

/// Validates the path of a field of a pod, which is one that can be referred to at all, and from here.
pub(super) fn field_path(
    context: &Context<'_>,
    at: &str,
    path: &str,
    known: &[&str],
    errors: &mut FieldErrors,
) {
    if path.is_empty() || is_subscript(path) || known.contains(&path) {
        return;
    }
    if POD_FIELDS.contains(&path) {
        errors.push(context.not_supported(at, path, known));
    } else {
        let detail = format!("error converting fieldPath: field label not supported: {path}");
        context.invalid(at, &path.into(), vec![detail], errors);
    }
}

/// Validates the resource and its divisor.
pub(crate) fn amount(context: &Context<'_>, errors: &mut FieldErrors) {
    let name = context.text("resource");
    if name.is_empty() {
        return;
    }
    let huge = ["limits.hugepages-", "requests.hugepages-"].iter().any(|start| name.starts_with(start));
    if !huge && !AMOUNTS.contains(&name) {
        errors.push(context.not_supported("resource", name, &AMOUNTS));
        return;
    }
    let units: &[&str] = if name.ends_with(".cpu") { &PROCESSOR_UNITS } else { &BYTE_UNITS };
    let Some(divisor) = context.get("divisor").and_then(Value::as_str).and_then(Quantity::parse) else {
        return;
    };
    let known = units.iter().filter_map(|unit| Quantity::parse(unit)).any(|unit| unit == divisor);
    if divisor.nanos() != 0 && !known {
        let resource = match name {
            _ if huge => "hugepages",
            _ if name.ends_with(".cpu") => "cpu",
            _ if name.ends_with(".memory") => "memory",
            _ => "local ephemeral storage",
        };
        let units = if resource == "cpu" { units.join(" and ") } else { units.join(", ") };
        let detail = format!("only divisor's values {units} are supported with the {resource} resource");
        errors.push(context.fault("divisor", FieldErrorKind::Invalid, &name.into(), &detail));
    }
}

/// Validates that no two sources of a projected volume have the same path.
pub(crate) fn projected(context: &Context<'_>, errors: &mut FieldErrors) {
    let mut taken: Seen<&str> = Seen::default();
    for source in context.items("sources") {
        let listed = ["secret", "configMap", "downwardAPI"].into_iter().flat_map(|name| {
            let items = source.at([name, "items"]).and_then(Value::as_array);
            items.map(|items| items.items()).unwrap_or_default().iter().map(|item| item.get("path"))
        });
        let bundle = source.at(["clusterTrustBundle", "path"]);
        let certificate = CERTIFICATE_PATHS.map(|field| source.at(["podCertificate", field]));
        for path in listed.chain([bundle]).chain(certificate).flatten().filter_map(Value::as_str) {
            if !path.is_empty() && !taken.insert(path) {
                errors.push(context.fault(
                    "",
                    FieldErrorKind::Invalid,
                    &path.into(),
                    "conflicting duplicate paths",
                ));
            }
        }
    }
}

/// Validates that a pod without a service account does not project a token.
pub(super) fn tokens(context: &Context<'_>, errors: &mut FieldErrors) {
    if !context.text("serviceAccountName").is_empty() {
        return;
    }
    for (at, volume) in context.items("volumes").iter().enumerate() {
        let sources = volume.at(["projected", "sources"]).and_then(Value::as_array);
        for (number, source) in sources.map(|list| list.items()).unwrap_or_default().iter().enumerate() {
            if source.get("serviceAccountToken").is_some_and(|token| !token.is_null()) {
                let path = format!("volumes[{at}].projected.sources[{number}].serviceAccountToken");
                let detail = "must not be specified when serviceAccountName is not set";
                errors.push(context.fault(&path, FieldErrorKind::Forbidden, &Value::Null, detail));
            }
        }
    }
}
