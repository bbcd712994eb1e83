//! Validation of resources: requests within limits, known resource names, required storage.

use super::{context::Context, quota::COUNTED};
use tenure_meta::{FieldErrorKind, FieldErrors, Previous, Quantity, format};
use tenure_value::{Object, Value};

/// Resources that a container may request without a domain in their name.
const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Other resources without a domain in their name, which quotas know.
const QUOTA: [&str; 17] = [
    "configmaps",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
    "storage",
];

fn map<'c>(context: &'c Context<'_>, name: &str) -> &'c [(tenure_value::Text, Value)] {
    context.get(name).and_then(Value::as_object).map(Object::fields).unwrap_or_default()
}

fn amount(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?)
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Validates the resources of a container or a pod.
pub(crate) fn requirements(context: &Context<'_>, errors: &mut FieldErrors) {
    // Those of a pod as a whole are not below an item of a list.
    let is_of_container = || context.path.to_string().ends_with("].resources");
    for list in ["limits", "requests"] {
        for (name, value) in map(context, list) {
            let path = || format!("{list}[{name}]");
            let verdict = format::qualified_name(name);
            let is_valid = verdict.is_empty();
            context.invalid(&path(), &name.clone().into(), verdict, errors);
            let is_plain =
                !name.contains('/') && !STANDARD.contains(&name.as_str()) && !name.starts_with("hugepages-");
            let mut refuse = |detail: &str| {
                errors.push(context.fault(&path(), FieldErrorKind::Invalid, &name.clone().into(), detail));
            };
            if is_valid && is_plain && !QUOTA.contains(&name.as_str()) {
                refuse("must be a standard resource type or fully qualified");
            }
            if is_plain && is_of_container() {
                refuse("must be a standard resource for containers");
            }
            let Some(quantity) = amount(value) else { continue };
            if quantity.nanos() < 0 {
                errors.push(context.fault(
                    &path(),
                    FieldErrorKind::Invalid,
                    value,
                    "must be greater than or equal to 0",
                ));
            }
            if !is_native(name) && !quantity.is_whole() {
                errors.push(context.fault(&path(), FieldErrorKind::Invalid, value, "must be an integer"));
            }
        }
    }
    for (name, value) in map(context, "requests") {
        let limit = context.at(&["limits", name]);
        let exact = !is_native(name) || name.starts_with("hugepages-");
        match (amount(value), limit.and_then(amount)) {
            (Some(request), Some(most)) if request > most => {
                let detail = format!("must be less than or equal to {name} limit of {}", most.canonical());
                errors.push(context.fault("requests", FieldErrorKind::Invalid, value, &detail));
            }
            (Some(request), Some(most)) if exact && request != most => {
                errors.push(context.fault(
                    "requests",
                    FieldErrorKind::Invalid,
                    value,
                    &format!("must be equal to {name} limit"),
                ));
            }
            (Some(_), None) if exact => {
                let detail = "Limit must be set for non overcommitable resources";
                errors.push(context.fault("limits", FieldErrorKind::Required, &Value::Null, detail));
            }
            _ => {}
        }
    }
}

/// Validates what a node has: no amount is negative, and only those of Kubernetes' own resources have fractions.
pub(crate) fn of_node(context: &Context<'_>, errors: &mut FieldErrors) {
    for list in ["capacity", "allocatable"] {
        for (name, value) in map(context, list) {
            let Some(quantity) = amount(value) else { continue };
            let is_whole = COUNTED.contains(&name.as_str()) || !is_native(name);
            let details = [
                (quantity.nanos() < 0, "must be greater than or equal to 0"),
                (is_whole && !quantity.is_whole(), "must be an integer"),
            ];
            for (_, detail) in details.into_iter().filter(|(is_wrong, _)| *is_wrong) {
                errors.push(context.fault(&format!("{list}.{name}"), FieldErrorKind::Invalid, value, detail));
            }
        }
    }
}

/// Validates what a new node has: its status is kept, while that of other objects is written at its own endpoint.
pub(crate) fn of_whole_node(context: &Context<'_>, errors: &mut FieldErrors) {
    if let Some(status) = context.get("status").and_then(Value::as_object) {
        let path = context.path.field("status");
        of_node(&Context { node: status, path: &path, before: Previous::UNKNOWN, ..*context }, errors);
    }
}

fn storage(context: &Context<'_>, path: &[&str], name: &str, errors: &mut FieldErrors) {
    match context.at(path).map(|value| (value, amount(value))) {
        None => errors.push(context.fault(name, FieldErrorKind::Required, &Value::Null, "")),
        Some((value, Some(amount))) if amount.nanos() <= 0 => {
            errors.push(context.fault(name, FieldErrorKind::Invalid, value, "must be greater than zero"));
        }
        _ => {}
    }
}

/// Validates that a claim requests storage.
pub(crate) fn volume_requirements(context: &Context<'_>, errors: &mut FieldErrors) {
    storage(context, &["resources", "requests", "storage"], "resources[storage]", errors);
}

/// Validates that a volume has a capacity.
pub(crate) fn capacity(context: &Context<'_>, errors: &mut FieldErrors) {
    let capacity = context.fields("capacity");
    if capacity.is_empty() {
        errors.push(context.fault("capacity", FieldErrorKind::Required, &Value::Null, ""));
    }
    let has_storage = capacity.iter().any(|(name, _)| name == "storage");
    if capacity.len() != 1 || !has_storage {
        let value = context.get("capacity").cloned().unwrap_or_default();
        let detail = "supported values: \"storage\"";
        errors.push(context.fault("capacity", FieldErrorKind::NotSupported, &value, detail));
    }
    if has_storage {
        let amount = context.at(&["capacity", "storage"]).and_then(Value::as_str).and_then(Quantity::parse);
        if let Some(amount) = amount.filter(|amount| amount.nanos() < 0) {
            let number = Value::from((amount.nanos() / 1_000_000_000) as i64);
            let detail = "must be a valid resource quantity";
            context.invalid("capacity[storage]", &number, vec![detail.into()], errors);
        }
        storage(context, &["capacity", "storage"], "capacity[storage]", errors);
    }
}
