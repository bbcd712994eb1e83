//! Validation of admission configuration: webhooks have a reachable address, and the expressions of match
//! conditions and policies compile.

use super::{context::Context, policy_scope::PolicyScope};
use tenure_crd::rules::{Env, compile_expression};
use tenure_meta::{FieldErrorKind, FieldErrors, Seen, ValueExt, format, webhook};
use tenure_value::{Text, Value};

/// The supported versions of AdmissionReview.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];
/// The minimum number of segments of the name of a webhook.
const SEGMENTS: usize = 3;

/// Validates a webhook.
pub(crate) fn webhook(context: &Context<'_>, errors: &mut FieldErrors) {
    let name = context.text("name");
    if !name.is_empty() && name.split('.').count() < SEGMENTS {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(context.fault("name", FieldErrorKind::Invalid, &name.into(), detail));
    }
    let client = context.get("clientConfig").cloned().unwrap_or_default();
    let service = client.get("service").filter(|service| !service.is_null());
    match (client.text("url").as_str(), service) {
        ("", None) | (_, Some(_)) if client.text("url").is_empty() == service.is_none() => {
            let detail = "exactly one of url or service is required";
            errors.push(context.fault("clientConfig", FieldErrorKind::Required, &Value::Null, detail));
        }
        (_, Some(service)) => {
            let path = context.path_to("clientConfig.service");
            errors.extend(webhook::service_faults(&path, service));
        }
        (url, None) => {
            let path = context.path_to("clientConfig.url");
            errors.extend(webhook::url_faults(&path, url));
        }
    }
    let versions: Vec<&str> =
        context.items("admissionReviewVersions").iter().filter_map(Value::as_str).collect();
    if versions.is_empty() {
        let detail = format!("must specify one of {}", REVIEWS.join(", "));
        errors.push(context.fault(
            "admissionReviewVersions",
            FieldErrorKind::Required,
            &Value::Null,
            &detail,
        ));
    } else if !versions.iter().any(|version| REVIEWS.contains(version)) {
        let detail = format!("must include at least one of {}", REVIEWS.join(", "));
        let given = context.get("admissionReviewVersions").cloned().unwrap_or_default();
        errors.push(context.fault("admissionReviewVersions", FieldErrorKind::Invalid, &given, &detail));
    }
    let mut seen = Seen::default();
    for (at, version) in versions.iter().enumerate() {
        let again = (!seen.insert(version)).then(|| "duplicate version".to_string());
        for detail in format::dns1035(version).into_iter().chain(again) {
            let field = format!("admissionReviewVersions[{at}]");
            errors.push(context.fault(&field, FieldErrorKind::Invalid, &(*version).into(), &detail));
        }
    }
    match context.text("sideEffects") {
        "None" | "NoneOnDryRun" => {}
        "" => {
            let detail = "must specify one of None, NoneOnDryRun";
            errors.push(context.fault("sideEffects", FieldErrorKind::Required, &Value::Null, detail));
        }
        other => {
            let detail = "supported values: \"None\", \"NoneOnDryRun\"";
            errors.push(context.fault("sideEffects", FieldErrorKind::NotSupported, &other.into(), detail));
        }
    }
}

/// Validates a rule of a webhook or a policy.
pub(crate) fn rule(context: &Context<'_>, errors: &mut FieldErrors) {
    let lists = [("operations", "operations"), ("apiGroups", "API groups"), ("apiVersions", "API versions")];
    for (name, others) in lists {
        if context.items(name).is_empty() {
            errors.push(context.required(name, ""));
        }
        context.has_wildcard(name, others, errors);
    }
    if let Some(at) = context.items("apiVersions").iter().position(|item| item.as_str() == Some("")) {
        errors.push(context.required(&format!("apiVersions[{at}]"), ""));
    }
    resources(context, errors);
}

/// Validates the resources of a rule, with or without their parts: none is named that another one stands for.
fn resources(context: &Context<'_>, errors: &mut FieldErrors) {
    let resources: Vec<&str> = context.items("resources").iter().filter_map(Value::as_str).collect();
    if resources.is_empty() {
        errors.push(context.required("resources", ""));
    }
    let (mut whole, mut parts) = (Seen::default(), Seen::default());
    for (at, resource) in resources.iter().enumerate() {
        let path = format!("resources[{at}]");
        let Some((name, part)) = resource.split_once('/') else {
            if resource.is_empty() {
                errors.push(context.required(&path, ""));
            }
            continue;
        };
        let covers =
            [(whole.contains(&name), format!("{name}/*")), (parts.contains(&part), format!("*/{part}"))];
        for (_, cover) in covers.iter().filter(|(is_covered, _)| *is_covered) {
            let detail = format!("if '{cover}' is present, must not specify {resource}");
            context.invalid(&path, &(*resource).into(), vec![detail], errors);
        }
        if part == "*" {
            whole.insert(name);
        }
        if name == "*" {
            parts.insert(part);
        }
    }
    let given = context.get("resources").cloned().unwrap_or_default();
    if resources.len() > 1 && resources.contains(&"*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        context.invalid("resources", &given, vec![detail.into()], errors);
    }
    // Only the last one without a part counts.
    let last = resources.iter().rfind(|resource| !resource.is_empty() && !resource.contains('/'));
    if resources.contains(&"*") && last.is_some_and(|last| *last != "*") {
        let detail = "if '*' is present, must not specify other resources without subresources";
        context.invalid("resources", &given, vec![detail.into()], errors);
    }
}

/// Validates a match condition of a webhook or a policy.
pub(crate) fn condition(context: &Context<'_>, errors: &mut FieldErrors) {
    let name = context.text("name");
    if name.is_empty() {
        errors.push(context.fault("name", FieldErrorKind::Required, &Value::Null, ""));
    } else {
        context.invalid("name", &name.into(), format::qualified_name(name), errors);
    }
    check_expression(
        context,
        ("expression", context.text("expression")),
        scope(context).conditions(),
        TRUTH,
        errors,
    );
}

/// Returns what the expressions of an object see.
fn scope<'c>(context: &Context<'c>) -> &'c PolicyScope {
    context.scope.get_or_init(|| PolicyScope::of(context.root))
}

/// Validates a validation expression of a policy.
pub(crate) fn validation(context: &Context<'_>, errors: &mut FieldErrors) {
    match context.text("expression").trim().is_empty() {
        true => {
            let detail = "expression is not specified";
            errors.push(context.fault("expression", FieldErrorKind::Required, &Value::Null, detail));
        }
        false => expression(context, "expression", TRUTH, errors),
    }
    let blank = "must be non-empty if specified".to_string();
    let message = context.text("messageExpression");
    if !message.trim().is_empty() {
        let env = scope(context).messages();
        check_expression(context, ("messageExpression", message), env, &["string"], errors);
    } else if !message.is_empty() {
        context.invalid("messageExpression", &message.into(), vec![blank.clone()], errors);
    }
    let message = context.text("message");
    let fault = match message.trim() {
        "" if !message.is_empty() => Some(blank),
        text if text.contains(['\n', '\r']) => Some("must not contain line breaks".into()),
        _ => None,
    };
    context.invalid("message", &message.into(), Vec::from_iter(fault), errors);
}

/// Validates a variable of a policy.
pub(crate) fn variable(context: &Context<'_>, errors: &mut FieldErrors) {
    let name = context.text("name");
    let mut letters = name.chars();
    let begins = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    if name.trim().is_empty() {
        errors.push(context.required("name", "name is not specified"));
    } else if !begins || !letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
        let detail = "must be a valid CEL identifier";
        errors.push(context.fault("name", FieldErrorKind::Invalid, &name.into(), detail));
    }
    if context.text("expression").trim().is_empty() {
        errors.push(context.required("expression", "expression is not specified"));
    } else if let Some(fault) = context.path.last_index().and_then(|at| scope(context).fault(at)) {
        let source = Value::from(context.text("expression"));
        errors.push(context.fault("expression", FieldErrorKind::Invalid, &source, fault));
    }
}

/// Validates a policy as a whole.
pub(crate) fn policy(context: &Context<'_>, errors: &mut FieldErrors) {
    matching(context, errors);
    if context.items("validations").is_empty() && context.items("auditAnnotations").is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        for list in ["validations", "auditAnnotations"] {
            errors.push(context.fault(list, FieldErrorKind::Required, &Value::Null, detail));
        }
    }
}

/// Validates the match constraints of a policy.
fn matching(context: &Context<'_>, errors: &mut FieldErrors) {
    match context.get("matchConstraints") {
        None => errors.push(context.fault("matchConstraints", FieldErrorKind::Required, &Value::Null, "")),
        Some(constraints) if constraints.items("resourceRules").is_empty() => {
            errors.push(context.fault(
                "matchConstraints.resourceRules",
                FieldErrorKind::Required,
                &Value::Null,
                "",
            ));
        }
        Some(_) => {}
    }
    if let Some(kind) = context.get("paramKind") {
        for name in ["apiVersion", "kind"] {
            if kind.text(name).is_empty() {
                errors.push(context.fault(
                    &format!("paramKind.{name}"),
                    FieldErrorKind::Required,
                    &Value::Null,
                    "",
                ));
            }
        }
        parameter_kind(context, &kind.text("apiVersion"), &kind.text("kind"), errors);
    }
}

/// Validates the names of the API version and the kind of parameters.
fn parameter_kind(context: &Context<'_>, api_version: &str, kind: &str, errors: &mut FieldErrors) {
    let mut report = |name: &str, value: &str, detail: &str| {
        errors.push(context.fault(
            &format!("paramKind.{name}"),
            FieldErrorKind::Invalid,
            &value.into(),
            detail,
        ));
    };
    if !api_version.is_empty() {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        for fault in
            Some(group).filter(|group| !group.is_empty()).map(format::dns_subdomain).unwrap_or_default()
        {
            report("apiVersion", group, &fault);
        }
        if version.is_empty() {
            report("apiVersion", api_version, "version must be specified");
        } else {
            format::dns1035(version).iter().for_each(|fault| report("apiVersion", version, fault));
        }
    }
    for fault in format::dns1035(&kind.to_lowercase()).iter().filter(|_| !kind.is_empty()) {
        report("kind", kind, &format!("may have mixed case, but should otherwise match: {fault}"));
    }
}

/// The maximum size of the expression of an audit annotation, in bytes.
const MOST_ANNOTATION: usize = 5 * 1024;

/// Validates an audit annotation of a policy: its key follows the name of the policy.
pub(crate) fn audit_annotation(context: &Context<'_>, errors: &mut FieldErrors) {
    let policy = context.root.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    if policy.is_empty() {
        let detail = "requires metadata.name be non-empty";
        context.invalid("key", &context.text("key").into(), vec![detail.into()], errors);
    } else {
        let key = format!("{policy}/{}", context.text("key"));
        let verdict = format::qualified_name(&key);
        context.invalid("key", &key.into(), verdict, errors);
    }
    let source = context.text("valueExpression").trim();
    if source.is_empty() {
        errors.push(context.required("valueExpression", "valueExpression is not specified"));
    } else if source.len() > MOST_ANNOTATION {
        let detail = format!("must not exceed {MOST_ANNOTATION} bytes in length");
        errors.push(context.fault("valueExpression", FieldErrorKind::Required, &Value::Null, &detail));
    } else {
        expression(context, "valueExpression", &["string", "null_type"], errors);
    }
}

/// Validates a mutating policy as a whole.
pub(crate) fn mutating_policy(context: &Context<'_>, errors: &mut FieldErrors) {
    matching(context, errors);
    mutated_operations(context, "matchConstraints", errors);
    if context.items("mutations").is_empty() {
        let detail = "mutations must contain at least one item";
        errors.push(context.fault("mutations", FieldErrorKind::Required, &Value::Null, detail));
    }
}

/// The types of patches of a mutation.
const PATCH_TYPES: [&str; 2] = ["ApplyConfiguration", "JSONPatch"];

/// Validates a mutation of a policy.
pub(crate) fn mutation(context: &Context<'_>, errors: &mut FieldErrors) {
    for (kind, name, wanted) in [
        ("ApplyConfiguration", "applyConfiguration", "Object"),
        ("JSONPatch", "jsonPatch", "list(JSONPatch)"),
    ] {
        match (context.text("patchType") == kind, context.get(name)) {
            (true, Some(given)) => {
                let source = given.text("expression");
                let field = format!("{name}.expression");
                check_expression(context, (&field, source.trim()), scope(context).all(), &[wanted], errors);
            }
            (true, None) => {
                let detail = format!("must be specified when patchType is {kind}");
                errors.push(context.required(name, &detail));
            }
            (false, Some(_)) if PATCH_TYPES.contains(&context.text("patchType")) => {
                let detail = format!("must not be specified when patchType is {}", context.text("patchType"));
                context.invalid(name, &format!("{{{name}}}").into(), vec![detail], errors);
            }
            (false, _) => {}
        }
    }
}

/// What a policy can mutate.
const MUTATED: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

/// Validates that a mutating policy is for requests that can be mutated.
fn mutated_operations(context: &Context<'_>, matched: &str, errors: &mut FieldErrors) {
    for rule in context.get(matched).map(|matched| matched.items("resourceRules")).unwrap_or_default() {
        for operation in rule.items("operations").iter().filter_map(Value::as_str) {
            if !MUTATED.contains(&operation) {
                let path = format!("{matched}.resourceRules.operations");
                errors.push(context.not_supported(&path, operation, &MUTATED));
            }
        }
    }
}

/// Validates a binding of a mutating policy.
pub(crate) fn mutating_binding(context: &Context<'_>, errors: &mut FieldErrors) {
    binding(context, errors);
    mutated_operations(context, "matchResources", errors);
}

/// Validates a policy binding.
fn binding(context: &Context<'_>, errors: &mut FieldErrors) {
    if context.text("policyName").is_empty() {
        errors.push(context.fault("policyName", FieldErrorKind::Required, &Value::Null, ""));
    }
    if let Some(parameters) = context.get("paramRef") {
        let name = parameters.text("name");
        let (is_named, is_chosen) =
            (!name.is_empty(), parameters.get("selector").is_some_and(|part| !part.is_null()));
        if is_named {
            let value = Value::from(name.to_string());
            context.invalid("paramRef.name", &value, format::path_segment(&name), errors);
        }
        match (is_named, is_chosen) {
            (true, true) => {
                for field in ["paramRef.name", "paramRef.selector"] {
                    let detail = "name and selector are mutually exclusive";
                    errors.push(context.fault(field, FieldErrorKind::Forbidden, &Value::Null, detail));
                }
            }
            (false, false) => {
                errors.push(context.required("paramRef", "one of name or selector must be specified"));
            }
            _ => {}
        }
        let action = parameters.text("parameterNotFoundAction");
        if action.is_empty() {
            errors.push(context.required("paramRef.parameterNotFoundAction", ""));
        } else if !["Deny", "Allow"].contains(&&*action) {
            errors.push(context.not_supported(
                "paramRef.parameterNotFoundAction",
                &action,
                &["Deny", "Allow"],
            ));
        }
    }
}

/// Validates the actions of a binding of a validating policy.
pub(crate) fn validating_binding(context: &Context<'_>, errors: &mut FieldErrors) {
    binding(context, errors);
    let actions: Vec<Text> =
        context.items("validationActions").iter().filter_map(Value::as_str).map(Text::new).collect();
    let has = |word: &str| actions.iter().any(|action| action == word);
    if has("Deny") && has("Warn") {
        let given = context.get("validationActions").cloned().unwrap_or_default();
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        errors.push(context.fault("validationActions", FieldErrorKind::Invalid, &given, detail));
    }
}

/// The type of conditions.
const TRUTH: &[&str] = &["bool"];

/// Validates an expression that sees the variables of its policy; its result has one of these types.
fn expression(context: &Context<'_>, field: &str, types: &[&str], errors: &mut FieldErrors) {
    check_expression(context, (field, context.text(field)), scope(context).all(), types, errors);
}

fn check_expression(
    context: &Context<'_>,
    (field, source): (&str, &str),
    env: Option<&Env>,
    types: &[&str],
    errors: &mut FieldErrors,
) {
    if source.trim().is_empty() {
        errors.push(context.fault(field, FieldErrorKind::Required, &Value::Null, ""));
        return;
    }
    if let Some(detail) = env.and_then(|env| compile_expression(env, source, types).err()) {
        errors.push(context.fault(field, FieldErrorKind::Invalid, &source.into(), &detail));
    }
}
