//! Validation of flow schemas, in whose rules a list with `*` has no other items, and of the queues of priority levels.

use super::context::Context;
use tenure_meta::{FieldErrorKind, FieldErrors, format};
use tenure_value::Value;

/// The verbs of requests, as flow schemas name them.
const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

/// The bits of the hash by which shuffle sharding chooses the queues of a flow.
const HASH_BITS: f64 = 60.0;

/// Validates the hand size of shuffle sharding: the number of queues that a flow may use.
pub(crate) fn hand_size(context: &Context<'_>, errors: &mut FieldErrors) {
    let (queues, hand) = (context.number("queues").unwrap_or(0), context.number("handSize").unwrap_or(0));
    let detail = if hand <= 0 {
        "must be positive".to_string()
    } else if hand > queues {
        format!("should not be greater than queues ({queues})")
    } else if ((queues as f64).log2() * hand as f64).ceil() > HASH_BITS {
        format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS}"
        )
    } else {
        return;
    };
    errors.push(context.fault("handSize", FieldErrorKind::Invalid, &hand.into(), &detail));
}

/// Validates a rule for requests of resources.
pub(crate) fn resource_rule(context: &Context<'_>, errors: &mut FieldErrors) {
    verbs(context, errors);
    context.has_wildcard("apiGroups", "api groups", errors);
    context.has_wildcard("resources", "resources", errors);
    let namespaces = context.items("namespaces");
    if namespaces.is_empty() && context.get("clusterScope") != Some(&Value::Bool(true)) {
        let detail = "resource rules that are not cluster scoped must supply at least one namespace";
        errors.push(context.fault("namespaces", FieldErrorKind::Required, &Value::Null, detail));
    }
    if context.has_wildcard("namespaces", "namespaces", errors) {
        return;
    }
    for (at, namespace) in namespaces.iter().enumerate() {
        for fault in namespace.as_str().map(format::dns_label).unwrap_or_default() {
            let detail = format!("each member of this list must be '*' or a DNS-1123 label; {fault}");
            errors.push(context.fault(
                &format!("namespaces[{at}]"),
                FieldErrorKind::Invalid,
                namespace,
                &detail,
            ));
        }
    }
}

/// Validates a rule for requests of other paths.
pub(crate) fn path_rule(context: &Context<'_>, errors: &mut FieldErrors) {
    verbs(context, errors);
    if context.has_wildcard("nonResourceURLs", "non-resource URLs", errors) {
        return;
    }
    for (at, path) in context.items("nonResourceURLs").iter().enumerate() {
        if let Some(detail) = path.as_str().and_then(path_fault) {
            errors.push(context.fault(
                &format!("nonResourceURLs[{at}]"),
                FieldErrorKind::Invalid,
                path,
                detail,
            ));
        }
    }
}

fn path_fault(path: &str) -> Option<&'static str> {
    match path {
        "" => Some("must not be empty"),
        "/" => None,
        _ if !path.starts_with('/') => Some("must start with slash"),
        _ if path.contains(' ') => Some("must not contain white-space"),
        _ if path.contains("//") => Some("must not contain double slash"),
        _ if path.strip_suffix("/*").unwrap_or(path).contains('*') => {
            Some("wildcard can only do suffix matching")
        }
        _ => None,
    }
}

fn verbs(context: &Context<'_>, errors: &mut FieldErrors) {
    let is_known = |verb: &Value| verb.as_str().is_some_and(|verb| VERBS.contains(&verb));
    if !context.has_wildcard("verbs", "verbs", errors) && !context.items("verbs").iter().all(is_known) {
        let detail = format!("supported values: {}", VERBS.map(|verb| format!("\"{verb}\"")).join(", "));
        let given = context.get("verbs").cloned().unwrap_or_default();
        errors.push(context.fault("verbs", FieldErrorKind::NotSupported, &given, &detail));
    }
}
