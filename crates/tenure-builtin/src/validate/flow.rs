//! Validation of flow schemas, in whose rules a list with `*` has no other items, and of the queues of priority levels.

use super::context::{Context, text};
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, format};
use tenure_value::Value;

/// The verbs of requests, as flow schemas name them.
const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

/// The bits of the hash by which shuffle sharding chooses the queues of a flow.
const HASH_BITS: f64 = 60.0;

/// The lowest precedence of a flow schema.
const MOST_PRECEDENCE: i64 = 10_000;
/// The most queues of a priority level.
const MOST_QUEUES: i64 = 10_000_000;
/// The name of the flow schema, and of the priority level, that nothing limits.
const EXEMPT: &str = "exempt";
/// How requests of a flow schema are told apart.
const DISTINGUISHERS: [&str; 2] = ["ByNamespace", "ByUser"];
/// What makes the requests of a flow schema, and its field.
const SUBJECTS: [(&str, &str); 3] =
    [("Group", "group"), ("ServiceAccount", "serviceAccount"), ("User", "user")];

/// Validates the precedence of a flow schema, and how it tells requests apart.
pub(crate) fn schema(context: &Context<'_>, errors: &mut FieldErrors) {
    let precedence = context.number("matchingPrecedence").unwrap_or(0);
    let is_exempt = context.root.at(["metadata", "name"]).and_then(Value::as_str) == Some(EXEMPT);
    let fault = match precedence {
        ..=0 => Some("must be a positive value".into()),
        1 if !is_exempt => Some("only the schema named 'exempt' may have matchingPrecedence 1".into()),
        _ if precedence > MOST_PRECEDENCE => Some(format!("must not be greater than {MOST_PRECEDENCE}")),
        _ => None,
    };
    context.invalid("matchingPrecedence", &precedence.into(), Vec::from_iter(fault), errors);
    if let Some(method) = context.get("distinguisherMethod") {
        let known = text(method, "type");
        if !DISTINGUISHERS.contains(&known) {
            let shown = Value::object([("Type", Value::from(known))]);
            let message =
                format!("Unsupported value: {shown}: supported values: \"ByNamespace\", \"ByUser\"");
            let path = context.path_to("distinguisherMethod.type");
            errors.push(FieldError::with_message(FieldErrorKind::NotSupported, path, message));
        }
    }
}

/// Validates who makes requests: exactly the field of the kind is there.
pub(crate) fn subject(context: &Context<'_>, errors: &mut FieldErrors) {
    let kind = context.text("kind");
    let Some((_, own)) = SUBJECTS.iter().find(|(known, _)| *known == kind) else {
        errors.push(context.not_supported("kind", kind, &SUBJECTS.map(|(known, _)| known)));
        return;
    };
    match context.get(own) {
        None => {
            errors.push(context.required(own, &format!("{own} is required when subject kind is '{kind}'")))
        }
        Some(named) => {
            let (path, name) = (format!("{own}.name"), text(named, "name"));
            if name.is_empty() {
                errors.push(context.required(&path, ""));
            } else if kind == "ServiceAccount" && name != "*" {
                context.invalid(&path, &name.into(), format::dns_subdomain(name), errors);
            }
            let (path, namespace) = (format!("{own}.namespace"), text(named, "namespace"));
            match kind {
                "ServiceAccount" if namespace.is_empty() => {
                    errors.push(context.required(&path, "must specify namespace for service account"));
                }
                "ServiceAccount" => {
                    context.invalid(&path, &namespace.into(), format::dns_label(namespace), errors);
                }
                _ => {}
            }
        }
    }
    for field in ["serviceAccount", "user", "group"] {
        let of_kind = SUBJECTS.iter().find(|(_, known)| *known == field).map_or("", |(kind, _)| kind);
        if field != *own && context.get(field).is_some() {
            let detail = format!("{field} is forbidden when subject kind is not '{of_kind}'");
            errors.push(context.fault(field, FieldErrorKind::Forbidden, &Value::Null, &detail));
        }
    }
}

/// Validates that only the priority level of that name is exempt.
pub(crate) fn level(context: &Context<'_>, errors: &mut FieldErrors) {
    let kind = context.text("type");
    let is_exempt = context.root.at(["metadata", "name"]).and_then(Value::as_str) == Some(EXEMPT);
    if is_exempt != (kind == "Exempt") {
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        context.invalid("type", &kind.into(), vec![detail.into()], errors);
    }
}

/// Validates the queues of a priority level, and the hand size of shuffle sharding: the number of queues that a flow may use.
pub(crate) fn queuing(context: &Context<'_>, errors: &mut FieldErrors) {
    let number = |name| context.number(name).unwrap_or(0);
    let (length, queues, hand) = (number("queueLengthLimit"), number("queues"), number("handSize"));
    let positive = || Some("must be positive".to_string());
    let too_short = if length <= 0 { positive() } else { None };
    context.invalid("queueLengthLimit", &length.into(), Vec::from_iter(too_short), errors);
    let wrong = match queues {
        ..=0 => positive(),
        _ if queues > MOST_QUEUES => Some(format!("must not be greater than {MOST_QUEUES}")),
        _ => None,
    };
    context.invalid("queues", &queues.into(), Vec::from_iter(wrong), errors);
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
