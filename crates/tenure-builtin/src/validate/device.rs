//! Validation of device selectors, pools, claimed devices, and the features of nodes.

use super::context::{Context, items, text};
use std::collections::HashSet;
use tenure_crd::rules::{Type, expression_fault};
use tenure_meta::{
    FieldError, FieldErrorKind, FieldErrors, Seen,
    format::{self, Verdict},
};
use tenure_value::Value;

/// The maximum size of an expression, in bytes.
const MOST_EXPRESSION: usize = 10 * 1024;

/// Validates the expression that selects devices.
pub(crate) fn selector(context: &Context<'_>, errors: &mut FieldErrors) {
    let Some(expression) = context.at(&["cel", "expression"]) else { return };
    let source = expression.as_str().unwrap_or_default();
    if source.len() > MOST_EXPRESSION {
        let detail = format!("may not be more than {MOST_EXPRESSION} bytes");
        errors.push(context.fault("cel.expression", FieldErrorKind::TooLong, &Value::Null, &detail));
    } else if let Some(fault) =
        expression_fault(source, &["device"], |result| matches!(result, Type::Bool | Type::Dyn))
    {
        errors.push(context.fault("cel.expression", FieldErrorKind::Invalid, expression, &fault));
    }
}

/// Returns the error in the name of a pool: subdomains between slashes.
pub(crate) fn pool_name(text: &str) -> Verdict {
    text.split('/').flat_map(format::dns_subdomain).collect()
}

/// Returns the error in the name of a feature of a node: segments of letters and digits, the first in upper camel case.
pub(crate) fn feature_name(text: &str) -> Verdict {
    let is_segment =
        |segment: &str| !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_valid =
        text.starts_with(|first: char| first.is_ascii_uppercase()) && text.split('/').all(is_segment);
    let wrong = (!is_valid).then(|| {
        format!("invalid feature name {text:?}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters")
    });
    Vec::from_iter(wrong)
}

/// Validates that the resource claims in the status of a pod are those of its spec.
pub(crate) fn pod_claims(context: &Context<'_>, errors: &mut FieldErrors) {
    fn names<'v>(root: &'v Value, list: &str) -> Seen<&'v str> {
        items(root.at(["spec", list])).iter().map(|item| text(item, "name")).collect()
    }
    let claims = names(context.root, "resourceClaims");
    for (at, status) in context.items("resourceClaimStatuses").iter().enumerate() {
        let name = text(status, "name");
        if !claims.contains(&name) {
            let path = format!("resourceClaimStatuses[{at}].name");
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            errors.push(context.fault(&path, FieldErrorKind::Invalid, &name.into(), detail));
        }
    }
    let mappings = items(context.at(&["extendedResourceClaimStatus", "requestMappings"]));
    let (containers, first) = (names(context.root, "containers"), names(context.root, "initContainers"));
    for (at, mapping) in mappings.iter().enumerate() {
        let name = text(mapping, "containerName");
        if !containers.contains(&name) && !first.contains(&name) {
            let path = format!("extendedResourceClaimStatus.requestMappings[{at}].containerName");
            let detail =
                "must match the name of an entry in spec.initContainers.name or spec.containers.name";
            errors.push(context.fault(&path, FieldErrorKind::Invalid, &name.into(), detail));
        }
    }
}

/// Validates the status of a claim: who it is reserved for and what is reported of its devices follow from its allocation.
pub(super) fn claim_status(old: &Value, new: &Value) -> Vec<FieldError> {
    fn device(value: &Value) -> [Option<&str>; 4] {
        ["driver", "pool", "device", "shareID"].map(|name| value.get(name).and_then(Value::as_str))
    }
    let mut errors = Vec::new();
    let is_allocated = new.at(["status", "allocation"]).is_some_and(|value| !value.is_null());
    let is_deleted = new.at(["metadata", "deletionTimestamp"]).is_some_and(|value| !value.is_null());
    let (was, is) = (items(old.at(["status", "reservedFor"])), items(new.at(["status", "reservedFor"])));
    let former: Seen<&Value> = was.iter().collect();
    let detail = match () {
        () if is.is_empty() => "",
        () if !is_allocated => "may not be specified when `allocated` is not set",
        () if is_deleted && is.iter().any(|consumer| !former.contains(&consumer)) => {
            "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        }
        () => "",
    };
    if !detail.is_empty() {
        errors.push(FieldError::new(FieldErrorKind::Forbidden, "status.reservedFor", &Value::Null, detail));
    }
    allocated_requests(old, new, &mut errors);
    let allocated: Seen<_> =
        items(new.at(["status", "allocation", "devices", "results"])).iter().map(device).collect();
    for (at, status) in items(new.at(["status", "devices"])).iter().enumerate() {
        if !allocated.contains(&device(status)) {
            let detail = "must be an allocated device in the claim";
            errors.push(FieldError::invalid(format!("status.devices[{at}]"), status, detail));
        }
    }
    errors
}

/// Validates that a new allocation is of requests of the claim.
fn allocated_requests(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    if old.at(["status", "allocation"]).is_some_and(|allocation| !allocation.is_null()) {
        return;
    }
    let mut names = HashSet::new();
    for request in items(new.at(["spec", "devices", "requests"])) {
        let name = text(request, "name");
        names.insert(name.to_string());
        let alternatives = items(request.get("firstAvailable")).iter().map(|request| text(request, "name"));
        names.extend(alternatives.map(|alternative| format!("{name}/{alternative}")));
    }
    let mut check = |path: String, name: &Value| {
        if !name.as_str().is_some_and(|name| names.contains(name)) {
            let detail = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
            errors.push(FieldError::invalid(path, name, detail));
        }
    };
    let allocated = |list| items(new.at(["status", "allocation", "devices", list]));
    for (at, result) in allocated("results").iter().enumerate() {
        let request = result.get("request").cloned().unwrap_or_default();
        check(format!("status.allocation.devices.results[{at}].request"), &request);
    }
    for (at, config) in allocated("config").iter().enumerate() {
        for (number, request) in items(config.get("requests")).iter().enumerate() {
            check(format!("status.allocation.devices.config[{at}].requests[{number}]"), request);
        }
    }
}
