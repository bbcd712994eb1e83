//! Validation of APIServices: how extension servers are reached, and how they are verified.

use super::context::Context;
use tenure_meta::{FieldErrorKind, FieldErrors};
use tenure_value::Value;

/// Validates an APIService: the service behind it, and that its certificate can be verified.
pub(crate) fn api_service(context: &Context<'_>, errors: &mut FieldErrors) {
    let unchecked = context.get("insecureSkipTLSVerify") == Some(&Value::Bool(true));
    let has_ca_bundle = !context.text("caBundle").is_empty();
    match context.get("service") {
        None => {
            if unchecked {
                let detail = "local APIServices may not have insecureSkipTLSVerify";
                errors.push(context.fault(
                    "insecureSkipTLSVerify",
                    FieldErrorKind::Invalid,
                    &true.into(),
                    detail,
                ));
            }
            if has_ca_bundle {
                let detail = "local APIServices may not have a caBundle";
                let value = context.text("caBundle").into();
                errors.push(context.fault("caBundle", FieldErrorKind::Invalid, &value, detail));
            }
        }
        Some(service) => {
            for name in ["namespace", "name"] {
                if service.get(name).and_then(Value::as_str).unwrap_or_default().is_empty() {
                    errors.push(context.fault(
                        &format!("service.{name}"),
                        FieldErrorKind::Required,
                        &Value::Null,
                        "",
                    ));
                }
            }
        }
    }
    if unchecked && has_ca_bundle {
        let detail = "may not be true if caBundle is present";
        errors.push(context.fault("insecureSkipTLSVerify", FieldErrorKind::Invalid, &true.into(), detail));
    }
}
