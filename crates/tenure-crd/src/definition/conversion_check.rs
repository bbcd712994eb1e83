//! Validation of how a definition converts its objects.

use tenure_meta::{FieldError, FieldErrors, Seen, ValueExt, format::dns1035, webhook};
use tenure_value::Value;

const CLIENT: &str = "spec.conversion.webhookClientConfig";
const VERSIONS: &str = "spec.conversion.conversionReviewVersions";

/// Validates the conversion of a definition; without one there is none to do.
pub(super) fn check(spec: &Value, errors: &mut FieldErrors) {
    let Some(conversion) = spec.get("conversion").filter(|conversion| !conversion.is_null()) else { return };
    let strategy = conversion.text("strategy");
    if strategy != "None" && spec.flag("preserveUnknownFields") {
        let detail = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid("spec.conversion.strategy", &strategy.clone().into(), detail));
    }
    match strategy.as_str() {
        "" => errors.push(FieldError::required("spec.conversion.strategy", "")),
        "None" | "Webhook" => {}
        other => {
            let allowed = ["None", "Webhook"].map(Value::from);
            errors.push(FieldError::not_supported("spec.conversion.strategy", &other.into(), &allowed));
        }
    }
    let webhook = conversion.get("webhook").unwrap_or(&Value::Null);
    let client = webhook.get("clientConfig").filter(|client| !client.is_null());
    if strategy == "Webhook" {
        match client {
            Some(client) => check_client(client, errors),
            None => errors.push(FieldError::required(CLIENT, "required when strategy is set to Webhook")),
        }
        return check_review_versions(webhook, errors);
    }
    let detail = "should not be set when strategy is not set to Webhook";
    if client.is_some() {
        errors.push(FieldError::forbidden(CLIENT, detail));
    }
    if !webhook.items("conversionReviewVersions").is_empty() {
        errors.push(FieldError::forbidden(VERSIONS, detail));
    }
}

fn check_client(client: &Value, errors: &mut FieldErrors) {
    let given = |name: &str| client.get(name).filter(|value| !value.is_null());
    match (given("url"), given("service")) {
        (Some(url), None) => {
            let url = url.as_str().unwrap_or_default();
            errors.extend(webhook::url_faults(&format!("{CLIENT}.url"), url));
        }
        (None, Some(service)) => {
            errors.extend(webhook::service_faults(&format!("{CLIENT}.service"), service));
        }
        _ => errors.push(FieldError::required(CLIENT, "exactly one of url or service is required")),
    }
}

fn check_review_versions(webhook: &Value, errors: &mut FieldErrors) {
    let versions = webhook.texts("conversionReviewVersions");
    if versions.is_empty() {
        return errors.push(FieldError::required(VERSIONS, ""));
    }
    let mut seen = Seen::default();
    for (at, version) in versions.iter().enumerate() {
        let field = format!("{VERSIONS}[{at}]");
        if !seen.insert(version) {
            errors.push(FieldError::invalid(field, &version.clone().into(), "duplicate version"));
            continue;
        }
        let faults = dns1035(version).into_iter();
        errors.extend(faults.map(|fault| FieldError::invalid(&field, &version.clone().into(), fault)));
    }
    if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        let shown = Value::array(versions.iter().map(|version| Value::from(version.clone())));
        errors.push(FieldError::invalid(VERSIONS, &shown, "must include at least one of v1, v1beta1"));
    }
}
