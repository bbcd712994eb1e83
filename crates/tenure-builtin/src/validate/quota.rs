//! Validation of quotas and limit ranges: names of resources, and their quantities.

use super::context::Context;
use tenure_meta::{
    FieldError, FieldErrorKind, FieldErrors, Quantity,
    format::{self, Verdict},
};
use tenure_value::Value;

/// Resources of a container without a domain in their name.
const OF_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Resources that are counted, and so are integers.
pub(super) const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Resources that are measured.
const MEASURED: [&str; 11] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "requests.storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];

/// Limits of pod resources that a scope can restrict.
const OF_PODS: [&str; 6] =
    ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];

/// Scopes that only support the operator `Exists`.
const PLAIN_SCOPES: [&str; 5] =
    ["Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity"];

/// Up to how many scopes each error shows all of them, as in Kubernetes; of more it shows its own, or the errors would grow with
/// the square of the list.
const MAX_SHOWN_SCOPES: usize = 64;

fn amount(context: &Context<'_>, list: &str, name: &str) -> Option<Quantity> {
    let found = context.fields(list).iter().find(|(key, _)| key == name)?;
    Quantity::parse(found.1.as_str()?)
}

fn is_huge(name: &str) -> bool {
    name.starts_with("hugepages-") || name.starts_with("requests.hugepages-")
}

/// Returns the error in the name of a resource of a namespace.
fn resource_name(name: &str) -> Verdict {
    let known = name.contains('/') || COUNTED.contains(&name) || MEASURED.contains(&name) || is_huge(name);
    or_else(format::qualified_name(name), !known, "must be a standard resource type or fully qualified")
}

/// Returns the error in the name of a resource of a container.
pub(super) fn container_resource_name(name: &str) -> Verdict {
    let known = name.contains('/') || OF_CONTAINERS.contains(&name) || name.starts_with("hugepages-");
    or_else(format::qualified_name(name), !known, "must be a standard resource for containers")
}

/// Returns a verdict, or if it is good another one under a condition.
fn or_else(verdict: Verdict, is_wrong: bool, detail: &str) -> Verdict {
    match verdict.is_empty() && is_wrong {
        true => vec![detail.into()],
        false => verdict,
    }
}

/// Validates the overhead of pods.
pub(super) fn overhead(context: &Context<'_>, name: &str, errors: &mut FieldErrors) {
    for (key, value) in context.fields(name) {
        for fault in container_resource_name(key) {
            errors.push(context.fault(name, FieldErrorKind::Invalid, &key.clone().into(), &fault));
        }
        if amount(context, name, key).is_some_and(|amount| amount.nanos() < 0) {
            // Kubernetes names the limits of a container here.
            let list = if name == "podFixed" { "limits" } else { name };
            let detail = "must be greater than or equal to 0";
            context.invalid(&format!("{list}[{key}]"), value, vec![detail.into()], errors);
        }
    }
}

/// Checks the overhead of a runtime class.
pub(crate) fn fixed_overhead(context: &Context<'_>, errors: &mut FieldErrors) {
    overhead(context, "podFixed", errors);
}

/// Validates the spec of a quota: its limits and scopes.
pub(crate) fn quota(context: &Context<'_>, errors: &mut FieldErrors) {
    amounts(context, "hard", errors);
    scopes(context, errors);
}

/// Validates the status of a quota.
pub(crate) fn status(context: &Context<'_>, errors: &mut FieldErrors) {
    amounts(context, "hard", errors);
    amounts(context, "used", errors);
}

fn amounts(context: &Context<'_>, list: &str, errors: &mut FieldErrors) {
    for (name, value) in context.fields(list) {
        let path = format!("{list}[{name}]");
        context.invalid(&path, &name.clone().into(), resource_name(name), errors);
        let is_quota = name.contains('/')
            || COUNTED.contains(&name.as_str())
            || MEASURED.contains(&name.as_str()) && name != "storage"
            || is_huge(name);
        if !is_quota {
            let detail = "must be a standard resource for quota";
            errors.push(context.fault(&path, FieldErrorKind::Invalid, &name.clone().into(), detail));
        }
        let Some(amount) = amount(context, list, name) else { continue };
        let whole =
            COUNTED.contains(&name.as_str()) || name.contains('/') && !name.contains("kubernetes.io/");
        if amount.nanos() < 0 {
            errors.push(context.fault(
                &path,
                FieldErrorKind::Invalid,
                value,
                "must be greater than or equal to 0",
            ));
        } else if whole && !amount.is_whole() {
            errors.push(context.fault(&path, FieldErrorKind::Invalid, value, "must be an integer"));
        }
    }
}

fn scopes(context: &Context<'_>, errors: &mut FieldErrors) {
    let scopes = context.items("scopes");
    let all = context.get("scopes").cloned().unwrap_or_default();
    for (at, scope) in scopes.iter().enumerate() {
        let shown = if scopes.len() <= MAX_SHOWN_SCOPES { &all } else { scope };
        let name = scope.as_str().unwrap_or_default();
        let known =
            name == "PriorityClass" || name == "VolumeAttributesClass" || PLAIN_SCOPES.contains(&name);
        if !known {
            errors.push(context.fault("scopes", FieldErrorKind::Invalid, shown, "unsupported scope"));
        }
        for _ in context.fields("hard").iter().filter(|(limit, _)| !is_scoped(name, limit)) {
            let detail = "unsupported scope applied to resource";
            errors.push(context.fault("scopes", FieldErrorKind::Invalid, shown, detail));
        }
        let opposite = match name {
            "Terminating" => "NotTerminating",
            "BestEffort" => "NotBestEffort",
            _ => continue,
        };
        if scopes.iter().enumerate().any(|(place, other)| place != at && other.as_str() == Some(opposite)) {
            errors.push(context.fault("scopes", FieldErrorKind::Invalid, shown, "conflicting scopes"));
        }
    }
}

/// Whether a scope applies to a limit of a quota. Limits unknown to Kubernetes are accepted.
fn is_scoped(scope: &str, limit: &str) -> bool {
    let is_known = COUNTED.contains(&limit) || MEASURED.contains(&limit);
    let is_compute = OF_PODS.contains(&limit);
    !is_known
        || match scope {
            "BestEffort" => limit == "pods",
            "VolumeAttributesClass" => matches!(limit, "persistentvolumeclaims" | "requests.storage"),
            "Terminating"
            | "NotTerminating"
            | "NotBestEffort"
            | "PriorityClass"
            | "CrossNamespacePodAffinity" => limit == "pods" || is_compute,
            _ => true,
        }
}

/// Validates a scope selector requirement.
pub(crate) fn scope_requirement(context: &Context<'_>, errors: &mut FieldErrors) {
    // Errors name the list, not its item.
    let path = context.path.to_string();
    let list = path.rsplit_once('[').map_or(path.as_str(), |(list, _)| list);
    let fault = |name: &str, kind: FieldErrorKind, value: &Value, detail: &str| {
        FieldError::new(kind, format!("{list}.{name}"), value, detail)
    };
    let (operator, given) = (context.text("operator"), !context.items("values").is_empty());
    if PLAIN_SCOPES.contains(&context.text("scopeName")) && operator != "Exists" {
        let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
        errors.push(fault("operator", FieldErrorKind::Invalid, &operator.into(), detail));
    }
    match operator {
        "In" | "NotIn" if !given => {
            let detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            errors.push(fault("values", FieldErrorKind::Required, &Value::Null, detail));
        }
        "Exists" | "DoesNotExist" if given => {
            let detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            let value = context.get("values").cloned().unwrap_or_default();
            errors.push(fault("values", FieldErrorKind::Invalid, &value, detail));
        }
        _ => {}
    }
}

/// The lists of a limit range item, in ascending order.
const LIMITS: [&str; 4] = ["min", "defaultRequest", "default", "max"];

/// Validates a limit range item: names, minimum ≤ defaults ≤ maximum, and the ratio.
pub(crate) fn limit(context: &Context<'_>, errors: &mut FieldErrors) {
    let kind = context.text("type");
    let name_fault: fn(&str) -> Verdict =
        if matches!(kind, "Pod" | "Container") { container_resource_name } else { resource_name };
    for list in LIMITS.iter().chain(&["maxLimitRequestRatio"]) {
        for (name, _) in context.fields(list) {
            for fault in name_fault(name) {
                let path = format!("{list}[{name}]");
                errors.push(context.fault(&path, FieldErrorKind::Invalid, &name.clone().into(), &fault));
            }
        }
    }
    order(context, errors);
    ratio(context, errors);
    let storage = ["min", "max"].iter().any(|list| amount(context, list, "storage").is_some());
    if kind == "PersistentVolumeClaim" && !storage {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        errors.push(context.fault("limits", FieldErrorKind::Required, &Value::Null, detail));
    }
    if kind == "Pod" {
        for list in ["default", "defaultRequest"].into_iter().filter(|list| !context.fields(list).is_empty())
        {
            let detail = "may not be specified when `type` is 'Pod'";
            errors.push(context.fault(list, FieldErrorKind::Forbidden, &Value::Null, detail));
        }
    }
}

fn order(context: &Context<'_>, errors: &mut FieldErrors) {
    for (at, low) in LIMITS.iter().enumerate() {
        for (name, value) in context.fields(low) {
            let Some(less) = amount(context, low, name) else { continue };
            for high in &LIMITS[at + 1..] {
                let Some(more) = amount(context, high, name).filter(|more| less > *more) else { continue };
                let detail = format!(
                    "{low} value {} is greater than {high} value {}",
                    less.canonical(),
                    more.canonical()
                );
                errors.push(context.fault(
                    &format!("{low}[{name}]"),
                    FieldErrorKind::Invalid,
                    value,
                    &detail,
                ));
            }
        }
    }
}

fn ratio(context: &Context<'_>, errors: &mut FieldErrors) {
    const ONE: i128 = 1_000_000_000;
    for (name, value) in context.fields("maxLimitRequestRatio") {
        let path = format!("maxLimitRequestRatio[{name}]");
        let Some(ratio) = amount(context, "maxLimitRequestRatio", name) else { continue };
        if ratio.nanos() < ONE {
            let detail = format!("ratio {} is less than 1", ratio.canonical());
            errors.push(context.fault(&path, FieldErrorKind::Invalid, value, &detail));
        }
        if let (Some(least), Some(most)) = (amount(context, "min", name), amount(context, "max", name)) {
            // In floats, since the product of two quantities may overflow.
            let widest = most.nanos() as f64 / least.nanos() as f64;
            if ratio.nanos() as f64 / ONE as f64 > widest {
                let detail = format!("ratio {} is greater than max/min = {widest:.6}", ratio.canonical());
                errors.push(context.fault(&path, FieldErrorKind::Invalid, value, &detail));
            }
        }
    }
}
