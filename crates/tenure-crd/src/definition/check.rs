//! Validation of definitions: names, versions, columns, paths and conversion; schemas are in `schema_check`.
//! The metadata is validated like that of every kind.

use super::schema_check;
use crate::{json_path::JsonPath, path::SimplePath};
use tenure_meta::{FieldError, FieldErrors, Seen, ValueExt, format::webhook_url_faults};
use tenure_profile::Profile;
use tenure_value::{Text, Value};

const LABEL_FAULT: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const DOMAIN_FAULT: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const APPROVAL: &str = "api-approved.kubernetes.io";
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["int32", "int64", "float", "double", "byte", "date", "date-time", "password"];
/// The maximum number of selectable fields of a version.
const MOST_SELECTABLE: usize = 8;

/// Returns the errors of a new definition.
pub fn check_create(object: &Value, profile: Profile) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    check_spec(object, profile, &mut errors);
    check_approval(object, &mut errors);
    errors.into_vec()
}

/// Returns the errors of an updated definition.
pub fn check_update(new: &Value, old: &Value, profile: Profile) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    check_spec(new, profile, &mut errors);
    let established = old
        .get("status")
        .unwrap_or(&Value::Null)
        .items("conditions")
        .iter()
        .any(|condition| condition.text("type") == "Established" && condition.text("status") == "True");
    for (path, only_established) in [
        (["group", ""], false),
        (["names", "plural"], false),
        (["scope", ""], true),
        (["names", "kind"], true),
    ] {
        let names = || path.iter().copied().filter(|name| !name.is_empty());
        let at = |definition: &Value| {
            definition.get("spec").and_then(|spec| spec.at(names())).cloned().unwrap_or_default()
        };
        if at(new) != at(old) && (established || !only_established) {
            let field = format!("spec.{}", names().collect::<Vec<_>>().join("."));
            errors.push(FieldError::invalid(field, &at(new), "field is immutable"));
        }
    }
    let spec = new.get("spec").unwrap_or(&Value::Null);
    let status = new.get("status").or(old.get("status")).unwrap_or(&Value::Null);
    let names: Seen<Text> = spec.items("versions").iter().map(|version| version.text("name")).collect();
    for (at, stored) in status.texts("storedVersions").iter().enumerate() {
        if !names.contains(stored) {
            let detail = format!(
                "missing from spec.versions; {stored} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {stored} and removes {stored} from status.storedVersions"
            );
            errors.push(FieldError::invalid(
                format!("status.storedVersions[{at}]"),
                &stored.clone().into(),
                &detail,
            ));
        }
    }
    errors.into_vec()
}

fn check_spec(object: &Value, profile: Profile, errors: &mut FieldErrors) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let group = spec.text("group");
    match group.as_str() {
        "" => errors.push(FieldError::required("spec.group", "")),
        text if !is_subdomain(text) => {
            errors.push(FieldError::invalid("spec.group", &text.into(), DOMAIN_FAULT))
        }
        text if !text.contains('.') => errors.push(FieldError::invalid(
            "spec.group",
            &text.into(),
            "should be a domain with at least one dot",
        )),
        _ => {}
    }
    match spec.text("scope").as_str() {
        "" => errors.push(FieldError::required("spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => {
            let allowed = ["Cluster", "Namespaced"].map(Value::from);
            errors.push(FieldError::not_supported("spec.scope", &other.into(), &allowed));
        }
    }
    if spec.flag("preserveUnknownFields") {
        let detail = "must be false in order to use defaults and structural schemas; set x-kubernetes-preserve-unknown-fields in the schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", &true.into(), detail));
    }
    check_versions(spec, errors);
    check_names(spec.get("names").unwrap_or(&Value::Null), errors);
    check_conversion(spec.get("conversion").unwrap_or(&Value::Null), errors);
    schema_check::check(spec, profile, errors);
}

fn check_versions(spec: &Value, errors: &mut FieldErrors) {
    let versions = spec.items("versions");
    let (mut seen, mut names) = (Seen::default(), Vec::new());
    for (at, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{at}]");
        let name = version.text("name");
        match is_label(&name) {
            true => {}
            false if name.is_empty() => errors.push(FieldError::required(format!("{path}.name"), "")),
            false => {
                errors.push(FieldError::invalid(format!("{path}.name"), &name.clone().into(), LABEL_FAULT))
            }
        }
        if !seen.insert(name.clone()) {
            errors.push(FieldError::invalid(
                "spec.versions",
                &name.clone().into(),
                "must contain unique version names",
            ));
        }
        let warning = version.get("deprecationWarning").filter(|words| !words.is_null());
        if version.flag("deprecated") && warning.is_some_and(|words| words.as_str() == Some("")) {
            let detail = "must not be an empty string; leave it out for the usual words";
            errors.push(FieldError::invalid(format!("{path}.deprecationWarning"), &"".into(), detail));
        } else if version.flag("deprecated") {
            check_warning(&version.text("deprecationWarning"), &path, errors);
        } else if version.get("deprecationWarning").is_some_and(|words| !words.is_null()) {
            let value = version.get("deprecationWarning").cloned().unwrap_or_default();
            let detail = "can only be set for deprecated versions";
            errors.push(FieldError::invalid(format!("{path}.deprecationWarning"), &value, detail));
        }
        check_subresources(version.get("subresources").unwrap_or(&Value::Null), &path, errors);
        for (index, column) in version.items("additionalPrinterColumns").iter().enumerate() {
            check_column(column, &format!("{path}.additionalPrinterColumns[{index}]"), errors);
        }
        check_selectable(version, &path, errors);
        names.push(name);
    }
    if versions.iter().filter(|version| version.flag("storage")).count() != 1 {
        let names = Value::array(names.into_iter().map(Value::from));
        let detail = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid("spec.versions", &names, detail));
    }
}

fn check_warning(words: &str, path: &str, errors: &mut FieldErrors) {
    if words.len() > 256 || words.chars().any(char::is_control) {
        let detail = "must only contain printable characters, and no more than 256 bytes";
        errors.push(FieldError::invalid(format!("{path}.deprecationWarning"), &words.into(), detail));
    }
}

fn check_names(names: &Value, errors: &mut FieldErrors) {
    let label = |field: String, text: &Text, kind: Case, errors: &mut FieldErrors| {
        let (written, detail) = match kind {
            Case::Lower => (text.clone(), LABEL_FAULT.to_string()),
            Case::Mixed => (
                text.to_lowercase().into(),
                format!("may have mixed case, but should otherwise match: {LABEL_FAULT}"),
            ),
        };
        if text.is_empty() {
            errors.push(FieldError::required(field, ""));
        } else if !is_label(&written) {
            errors.push(FieldError::invalid(field, &text.clone().into(), &detail));
        }
    };
    let (kind, list_kind) = (names.text("kind"), names.text("listKind"));
    label("spec.names.plural".into(), &names.text("plural"), Case::Lower, errors);
    label("spec.names.kind".into(), &kind, Case::Mixed, errors);
    for (name, case) in [("singular", Case::Lower), ("listKind", Case::Mixed)] {
        if names.get(name).is_some_and(|value| !value.is_null()) {
            label(format!("spec.names.{name}"), &names.text(name), case, errors);
        }
    }
    for list in ["shortNames", "categories"] {
        for (at, word) in names.texts(list).iter().enumerate() {
            label(format!("spec.names.{list}[{at}]"), word, Case::Lower, errors);
        }
    }
    if !kind.is_empty() && kind == list_kind {
        errors.push(FieldError::invalid(
            "spec.names.listKind",
            &kind.into(),
            "kind and listKind may not be the same",
        ));
    }
}

#[derive(Clone, Copy)]
enum Case {
    Lower,
    Mixed,
}

fn check_subresources(value: &Value, path: &str, errors: &mut FieldErrors) {
    let Some(scale) = value.get("scale").filter(|scale| !scale.is_null()) else { return };
    for (name, roots, is_required) in [
        ("specReplicasPath", &["spec"][..], true),
        ("statusReplicasPath", &["status"], true),
        ("labelSelectorPath", &["spec", "status"], false),
    ] {
        let (field, text) = (format!("{path}.subresources.scale.{name}"), scale.text(name));
        match SimplePath::split(&text).map(|path| path.names) {
            None if text.is_empty() && is_required => errors.push(FieldError::required(field, "")),
            None if text.is_empty() => {}
            None => errors.push(FieldError::invalid(
                field,
                &text.into(),
                "must be a simple json path starting with .",
            )),
            Some(names) if names.len() > 1 && roots.contains(&names[0].as_str()) => {}
            Some(_) => {
                let detail = format!("should be a json path under .{}", roots.join(" or ."));
                errors.push(FieldError::invalid(field, &text.into(), &detail));
            }
        }
    }
}

fn check_column(column: &Value, path: &str, errors: &mut FieldErrors) {
    for name in ["name", "type", "jsonPath"] {
        if column.text(name).is_empty() {
            errors.push(FieldError::required(format!("{path}.{name}"), ""));
        }
    }
    let (column_type, format, text) = (column.text("type"), column.text("format"), column.text("jsonPath"));
    if !column_type.is_empty() && !COLUMN_TYPES.contains(&column_type.as_str()) {
        let detail = format!("must be one of {}", COLUMN_TYPES.join(","));
        errors.push(FieldError::invalid(format!("{path}.type"), &column_type.into(), &detail));
    }
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format.as_str()) {
        let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
        errors.push(FieldError::invalid(format!("{path}.format"), &format.into(), &detail));
    }
    if !text.is_empty() && !text.starts_with('.') {
        let detail = "must be a simple json path starting with .";
        errors.push(FieldError::invalid(format!("{path}.jsonPath"), &text.into(), detail));
    } else if let (false, Err(why)) = (text.is_empty(), JsonPath::parse(&text)) {
        errors.push(FieldError::invalid(format!("{path}.jsonPath"), &text.into(), &why));
    }
}

fn check_selectable(version: &Value, path: &str, errors: &mut FieldErrors) {
    let fields = version.items("selectableFields");
    if fields.len() > MOST_SELECTABLE {
        errors.push(FieldError::too_many(
            format!("{path}.selectableFields"),
            fields.len(),
            MOST_SELECTABLE as u64,
        ));
    }
    let schema = version.at(["schema", "openAPIV3Schema"]).unwrap_or(&Value::Null);
    let mut seen = Seen::default();
    for (at, field) in fields.iter().enumerate() {
        let text = field.text("jsonPath");
        let path = format!("{path}.selectableFields[{at}].jsonPath");
        let Some(simple) = SimplePath::parse(&text) else {
            let fault = match text.is_empty() {
                true => FieldError::required(path, ""),
                false => FieldError::invalid(
                    path,
                    &text.into(),
                    "must be a simple json path with names and dots, such as .spec.color",
                ),
            };
            errors.push(fault);
            continue;
        };
        if text.contains('[') {
            let detail = "must have names and dots alone, array notation is not allowed";
            errors.push(FieldError::invalid(path.clone(), &text.clone().into(), detail));
        }
        if simple.names.first().is_some_and(|name| name == "metadata") {
            errors.push(FieldError::invalid(
                path.clone(),
                &text.clone().into(),
                "must not point to fields in metadata",
            ));
        }
        let target = simple.names.iter().try_fold(schema, |schema, name| {
            let each = || schema.get("additionalProperties").filter(|each| each.as_object().is_some());
            schema.at(["properties", name.as_str()]).or_else(each)
        });
        match target.map(|schema| schema.text("type")) {
            None => errors.push(FieldError::invalid(
                path.clone(),
                &text.clone().into(),
                "does not refer to a valid field",
            )),
            Some(ty) if matches!(ty.as_str(), "string" | "integer" | "boolean") => {}
            Some(_) => {
                let detail = "must point to a field of type string, boolean or integer";
                errors.push(FieldError::invalid(path.clone(), &text.clone().into(), detail));
            }
        }
        if !seen.insert(text.clone()) {
            errors.push(FieldError::duplicate(path, &text.clone().into()));
        }
    }
}

fn check_conversion(value: &Value, errors: &mut FieldErrors) {
    let webhook = value.get("webhook").filter(|webhook| !webhook.is_null());
    match value.text("strategy").as_str() {
        "" if value.is_null() => {}
        "" => errors.push(FieldError::required("spec.conversion.strategy", "")),
        "None" => {
            if webhook.is_some() {
                let detail = "should not be set when strategy is not set to Webhook";
                errors.push(FieldError::forbidden("spec.conversion.webhook", detail));
            }
        }
        "Webhook" => check_webhook(webhook.unwrap_or(&Value::Null), errors),
        other => {
            let allowed = ["None", "Webhook"].map(Value::from);
            errors.push(FieldError::not_supported("spec.conversion.strategy", &other.into(), &allowed));
        }
    }
}

fn check_webhook(webhook: &Value, errors: &mut FieldErrors) {
    let client = webhook.get("clientConfig").unwrap_or(&Value::Null);
    let path = "spec.conversion.webhook.clientConfig";
    let (url, service) = (client.text("url"), client.get("service").filter(|service| !service.is_null()));
    match (url.as_str(), service) {
        ("", None) => errors.push(FieldError::required(path, "exactly one of url or service is required")),
        ("", Some(service)) => {
            for name in ["namespace", "name"] {
                if service.text(name).is_empty() {
                    errors.push(FieldError::required(format!("{path}.service.{name}"), ""));
                }
            }
            let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
            if !(1..=65535).contains(&port) {
                errors.push(FieldError::invalid(
                    format!("{path}.service.port"),
                    &port.into(),
                    "must be between 1 and 65535, inclusive",
                ));
            }
            let route = service.text("path");
            if !route.is_empty() && !route.starts_with('/') {
                errors.push(FieldError::invalid(
                    format!("{path}.service.path"),
                    &route.into(),
                    "must start with a '/'",
                ));
            }
        }
        (_, Some(_)) => errors.push(FieldError::required(path, "exactly one of url or service is required")),
        (url, None) => {
            let wrong = webhook_url_faults(url);
            errors.extend(
                wrong
                    .into_iter()
                    .map(|detail| FieldError::invalid(format!("{path}.url"), &url.into(), detail)),
            );
        }
    }
    let versions = webhook.texts("conversionReviewVersions");
    let mut seen = Seen::default();
    for (at, version) in versions.iter().enumerate() {
        let field = || format!("spec.conversion.webhook.conversionReviewVersions[{at}]");
        if !seen.insert(version) {
            errors.push(FieldError::invalid(field(), &version.clone().into(), "duplicate version"));
        } else if !is_label(version) {
            errors.push(FieldError::invalid(field(), &version.clone().into(), LABEL_FAULT));
        }
    }
    if versions.is_empty() {
        errors.push(FieldError::required("spec.conversion.webhook.conversionReviewVersions", ""));
    } else if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        let shown = Value::array(versions.iter().map(|version| Value::from(version.clone())));
        let detail = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid("spec.conversion.webhook.conversionReviewVersions", &shown, detail));
    }
}

/// Groups of the Kubernetes project require an approval annotation.
fn check_approval(object: &Value, errors: &mut FieldErrors) {
    let group = object.at(["spec", "group"]).and_then(Value::as_str).unwrap_or_default();
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    let approval =
        object.at(["metadata", "annotations", APPROVAL]).and_then(Value::as_str).unwrap_or_default();
    let path = format!("metadata.annotations[{APPROVAL}]");
    if !is_protected || approval.starts_with("https://") || approval.starts_with("unapproved") {
        return;
    }
    errors.push(match approval {
        "" => FieldError::required(
            path,
            "protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111",
        ),
        other => FieldError::invalid(
            path,
            &other.into(),
            "protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a URL or a reason starting with \"unapproved\"",
        ),
    });
}

fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.last().is_some_and(|byte| *byte != b'-')
        && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
}

fn is_subdomain(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(part)
}
