//! Validation of ConfigMaps and Secrets: keys, size, and the keys required by types of secrets; and of what a revision stores.

use super::context::Context;
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, format};
use tenure_value::Value;

/// The maximum size of ConfigMaps and Secrets in bytes.
const MOST_DATA_BYTES: usize = 1024 * 1024;

/// Validates keys and size of a map of data, and returns its size.
fn data(context: &Context<'_>, name: &str, errors: &mut FieldErrors) -> usize {
    let mut bytes = 0;
    for (key, value) in context.fields(name) {
        for fault in format::config_key(key) {
            errors.push(context.fault(
                &format!("{name}[{key}]"),
                FieldErrorKind::Invalid,
                &key.clone().into(),
                &fault,
            ));
        }
        bytes += value.as_str().map_or(0, str::len);
    }
    bytes
}

/// Validates the data of a new revision, which no update may change.
pub(crate) fn new_revision(object: &Value, errors: &mut FieldErrors) {
    let detail = match object.get("data") {
        None | Some(Value::Null) => "data is mandatory",
        Some(Value::Object(_)) => return,
        Some(_) => "data must be a valid JSON object",
    };
    errors.push(FieldError::new(FieldErrorKind::Required, "data", &Value::Null, detail));
}

/// Validates the content of a ConfigMap.
pub(crate) fn config_data(context: &Context<'_>, errors: &mut FieldErrors) {
    let text = data(context, "data", errors);
    let binary = data(context, "binaryData", errors);
    for (key, _) in context.fields("data") {
        if context.at(&["binaryData", key]).is_some() {
            let detail = "duplicate of key present in binaryData";
            errors.push(context.fault(
                &format!("data[{key}]"),
                FieldErrorKind::Invalid,
                &key.clone().into(),
                detail,
            ));
        }
    }
    if text + binary / 4 * 3 > MOST_DATA_BYTES {
        let detail = format!("may not be more than {MOST_DATA_BYTES} bytes");
        errors.push(context.fault("", FieldErrorKind::TooLong, &Value::Null, &detail));
    }
}

/// The keys that secrets of a type must have.
const SECRET_KEYS: [(&str, &[&str]); 4] = [
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
];

/// Validates the content of a Secret.
pub(crate) fn secret_data(context: &Context<'_>, errors: &mut FieldErrors) {
    let bytes = data(context, "data", errors) / 4 * 3;
    if bytes > MOST_DATA_BYTES {
        let detail = format!("may not be more than {MOST_DATA_BYTES} bytes");
        errors.push(context.fault("data", FieldErrorKind::TooLong, &Value::Null, &detail));
    }
    let has = |key: &str| context.fields("data").iter().any(|(name, _)| name == key);
    let kind = context.text("type");
    for key in SECRET_KEYS.iter().find(|(known, _)| *known == kind).map(|row| row.1).unwrap_or_default() {
        let empty =
            context.fields("data").iter().any(|(name, value)| name == key && value.as_str() == Some(""));
        if !has(key) || empty && *key == "ssh-privatekey" {
            errors.push(context.fault(&format!("data[{key}]"), FieldErrorKind::Required, &Value::Null, ""));
        }
    }
    if kind == "kubernetes.io/basic-auth" && !has("username") && !has("password") {
        errors.push(context.fault("data[username]", FieldErrorKind::Required, &Value::Null, ""));
        errors.push(context.fault("data[password]", FieldErrorKind::Required, &Value::Null, ""));
    }
    for key in [".dockercfg", ".dockerconfigjson"] {
        let value =
            context.fields("data").iter().find(|(name, _)| name == key).and_then(|(_, value)| value.as_str());
        if let (true, Some(text)) = (kind.starts_with("kubernetes.io/dockerc"), value) {
            let json = tenure_meta::base64::decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            if json.is_none_or(|json| json.parse::<Value>().is_err()) {
                let detail = "invalid character looking for beginning of value";
                errors.push(context.fault(
                    &format!("data[{key}]"),
                    FieldErrorKind::Invalid,
                    &"<secret contents redacted>".into(),
                    detail,
                ));
            }
        }
    }
    if kind == "kubernetes.io/service-account-token" {
        let name = context.at(&["metadata", "annotations", "kubernetes.io/service-account.name"]);
        if name.and_then(Value::as_str).unwrap_or_default().is_empty() {
            let path = "metadata.annotations[kubernetes.io/service-account.name]";
            errors.push(context.fault(path, FieldErrorKind::Required, &Value::Null, ""));
        }
    }
}
