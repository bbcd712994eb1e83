//! Validation of device selectors, pools, claimed devices, and the features of nodes.

use super::context::{Context, items, text};
use std::collections::HashSet;
use tenure_crd::rules::{admission_env, compile_expression};
use tenure_meta::{
    FieldError, FieldErrorKind, FieldErrors, Seen,
    format::{self, Verdict},
};
use tenure_value::Value;

/// The maximum size of an expression, in bytes.
const MOST_EXPRESSION: usize = 10 * 1024;

/// Validates the expression that selects devices.
pub(crate) fn selector(context: &Context<'_>, errors: &mut FieldErrors) {
    let empty = Value::from("");
    let Some(selector) = context.get("cel") else { return };
    let expression = selector.get("expression").filter(|value| !value.is_null()).unwrap_or(&empty);
    let source = expression.as_str().unwrap_or_default();
    if source.len() > MOST_EXPRESSION {
        let detail = format!("may not be more than {MOST_EXPRESSION} bytes");
        errors.push(context.fault("cel.expression", FieldErrorKind::TooLong, &Value::Null, &detail));
    } else if let Err(fault) = admission_env(&["device"])
        .map_err(|error| error.to_string())
        .and_then(|env| compile_expression(&env, source, &["bool", "dyn"]))
    {
        let detail = match fault.rsplit_once(" but got ") {
            Some((wanted, found)) if wanted.starts_with("must evaluate to") => {
                format!("must evaluate to bool or the unknown type, not {found}")
            }
            // Nothing has no first column, and no line that is shown.
            _ if source.is_empty() => {
                fault.lines().next().unwrap_or_default().replace("<input>:1:1:", "<input>:1:0:")
            }
            _ => fault,
        };
        errors.push(context.fault("cel.expression", FieldErrorKind::Invalid, expression, &detail));
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

/// The values of an attribute of a device: of one item, and since 1.37 of lists.
const ATTRIBUTE_VALUES: [&str; 8] =
    ["int", "bool", "string", "version", "ints", "bools", "strings", "versions"];

/// Validates that an attribute has one value.
pub(crate) fn attribute(context: &Context<'_>, errors: &mut FieldErrors) {
    if ATTRIBUTE_VALUES.iter().filter(|name| context.get(name).is_some()).count() != 1 {
        context.invalid("", &"".into(), vec!["exactly one value must be specified".into()], errors);
    }
}

/// The same, as a declared check reports it.
pub(crate) fn attributes(context: &Context<'_>, errors: &mut FieldErrors) {
    let given: Vec<&str> = ATTRIBUTE_VALUES.into_iter().filter(|name| context.get(name).is_some()).collect();
    let quoted = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let (shown, detail) = match given.len() {
        0 => (String::new(), format!("must specify one of: {}", quoted(&ATTRIBUTE_VALUES))),
        1 => return,
        _ => (
            format!("{{{}}}", given.join(", ")),
            format!("must specify exactly one of: {}", quoted(&ATTRIBUTE_VALUES)),
        ),
    };
    context.invalid("", &shown.into(), vec![detail], errors);
}

/// How many devices a request is for.
const ALLOCATION_MODES: [&str; 2] = ["All", "ExactCount"];

/// Validates how many devices a request is for.
pub(crate) fn count(context: &Context<'_>, errors: &mut FieldErrors) {
    let count = context.number("count").unwrap_or(0);
    let detail = match context.text("allocationMode") {
        "All" if count != 0 => "must not be specified when allocationMode is 'All'",
        "ExactCount" if count <= 0 => "must be greater than zero",
        mode if !ALLOCATION_MODES.contains(&mode) => {
            errors.push(context.not_supported("allocationMode", mode, &ALLOCATION_MODES));
            return;
        }
        _ => return,
    };
    context.invalid("count", &count.into(), vec![detail.into()], errors);
}

/// Validates the requests that constraints and configurations of a claim name.
pub(crate) fn request_references(context: &Context<'_>, errors: &mut FieldErrors) {
    let known = request_names(items(context.get("requests")));
    let detail = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
    for list in ["constraints", "config"] {
        for (at, part) in context.items(list).iter().enumerate() {
            let mut seen = Seen::default();
            for (number, request) in items(part.get("requests")).iter().enumerate() {
                let (path, name) =
                    (format!("{list}[{at}].requests[{number}]"), request.as_str().unwrap_or_default());
                let segments: Vec<&str> = name.split('/').collect();
                if segments.len() <= 2 {
                    for segment in &segments {
                        context.invalid(&path, &(*segment).into(), format::dns_label(segment), errors);
                    }
                }
                if segments.len() > 2 || !known.contains(name) {
                    context.invalid(&path, &name.into(), vec![detail.into()], errors);
                }
                if !seen.insert(name) {
                    errors.push(context.fault(&path, FieldErrorKind::Duplicate, &name.into(), ""));
                }
            }
        }
    }
}

/// Returns the names of requests, and of their alternatives.
fn request_names(requests: &[Value]) -> HashSet<String> {
    let mut names = HashSet::new();
    for request in requests {
        let name = text(request, "name");
        names.insert(name.to_string());
        let alternatives = items(request.get("firstAvailable")).iter().map(|request| text(request, "name"));
        names.extend(alternatives.map(|alternative| format!("{name}/{alternative}")));
    }
    names
}

/// Validates a pool of devices.
pub(crate) fn pool(context: &Context<'_>, errors: &mut FieldErrors) {
    for part in context.text("name").split('/').filter(|_| !context.text("name").is_empty()) {
        context.invalid("name", &part.into(), format::dns_subdomain(part), errors);
    }
    let (slices, generation) =
        (context.number("resourceSliceCount").unwrap_or(0), context.number("generation").unwrap_or(0));
    if slices <= 0 {
        context.invalid(
            "resourceSliceCount",
            &slices.into(),
            vec!["must be greater than zero".into()],
            errors,
        );
    }
    if generation < 0 {
        let detail = "must be greater than or equal to zero";
        context.invalid("generation", &generation.into(), vec![detail.into()], errors);
    }
}

/// Validates where the devices of a slice can be used, which is said in one way.
pub(crate) fn slice(context: &Context<'_>, errors: &mut FieldErrors) {
    let mut given = Vec::new();
    if let Some(node) = context.get("nodeName") {
        let name = node.as_str().unwrap_or_default();
        match name {
            "" => {
                let detail = "must be either unset or set to a non-empty string";
                context.invalid("nodeName", node, vec![detail.into()], errors);
            }
            _ => {
                given.push("`nodeName`");
                context.invalid("nodeName", node, format::dns_subdomain(name), errors);
            }
        }
    }
    if let Some(selector) = context.get("nodeSelector") {
        given.push("`nodeSelector`");
        let terms = selector.get("nodeSelectorTerms").cloned().unwrap_or_default();
        if items(Some(&terms)).len() != 1 {
            let detail = "must have exactly one node selector term";
            context.invalid("nodeSelector.nodeSelectorTerms", &terms, vec![detail.into()], errors);
        }
    }
    for (name, quoted) in [("allNodes", "`allNodes`"), ("perDeviceNodeSelection", "`perDeviceNodeSelection`")]
    {
        match context.get(name) {
            Some(Value::Bool(true)) => given.push(quoted),
            Some(value) => {
                context.invalid(name, value, vec!["must be either unset or set to true".into()], errors);
            }
            None => {}
        }
    }
    let detail =
        "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    match given.len() {
        0 => errors.push(context.required("", detail)),
        1 => {}
        _ => {
            let (shown, detail) =
                (format!("{{{}}}", given.join(", ")), format!("{detail}, but multiple fields are set"));
            context.invalid("", &shown.into(), vec![detail], errors);
        }
    }
    if context.get("sharedCounters").is_some() && context.get("devices").is_some() {
        let detail = "only one of `sharedCounters` or `devices` is allowed";
        context.invalid("", &"".into(), vec![detail.into()], errors);
    }
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
    let names = request_names(items(new.at(["spec", "devices", "requests"])));
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
