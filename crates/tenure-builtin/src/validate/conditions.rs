//! Validation of conditions of the common type.

use super::context::Context;
use tenure_meta::{FieldErrorKind, FieldErrors, Seen, format};
use tenure_value::Value;

/// The maximum sizes of a reason and of a message, in bytes.
const MOST_REASON: usize = 1024;
const MOST_MESSAGE: usize = 32 * 1024;

const REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

/// How a version of Kubernetes reports what is wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reported {
    /// A repeated type at the type, and what is missing as a wrong value.
    AsValues,
    /// A repeated type at the condition, and what is missing as missing.
    AsListed,
}

/// Validates the conditions of a status, as Kubernetes before 1.37.
pub(crate) fn conditions(context: &Context<'_>, errors: &mut FieldErrors) {
    check(context, Reported::AsValues, errors);
}

/// Validates the conditions of a status, as Kubernetes since 1.37.
pub(crate) fn listed_conditions(context: &Context<'_>, errors: &mut FieldErrors) {
    check(context, Reported::AsListed, errors);
}

fn check(context: &Context<'_>, reported: Reported, errors: &mut FieldErrors) {
    let mut types = Seen::default();
    for (at, condition) in context.items("conditions").iter().enumerate() {
        let mut report = |name: &str, kind, value: &Value, detail: &str| {
            let dot = if name.is_empty() { "" } else { "." };
            errors.push(context.fault(&format!("conditions[{at}]{dot}{name}"), kind, value, detail));
        };
        let text = |name: &str| condition.get(name).and_then(Value::as_str).unwrap_or_default();
        if !types.insert(text("type")) {
            let place = if reported == Reported::AsListed { "" } else { "type" };
            report(place, FieldErrorKind::Duplicate, &text("type").into(), "");
        }
        if reported == Reported::AsListed && text("type").is_empty() {
            report("type", FieldErrorKind::Required, &Value::Null, "is required");
        } else {
            for fault in format::qualified_name(text("type")) {
                report("type", FieldErrorKind::Invalid, &text("type").into(), &fault);
            }
        }
        if reported == Reported::AsListed && text("status").is_empty() {
            report("status", FieldErrorKind::Required, &Value::Null, "");
        } else if !matches!(text("status"), "True" | "False" | "Unknown") {
            let detail = "supported values: \"False\", \"True\", \"Unknown\"";
            report("status", FieldErrorKind::NotSupported, &text("status").into(), detail);
        }
        if let Some(generation) = condition
            .get("observedGeneration")
            .filter(|observed| observed.as_i64().is_some_and(|observed| observed < 0))
        {
            report(
                "observedGeneration",
                FieldErrorKind::Invalid,
                generation,
                "must be greater than or equal to zero",
            );
        }
        if condition.get("lastTransitionTime").is_none_or(Value::is_null) {
            report("lastTransitionTime", FieldErrorKind::Required, &Value::Null, "");
        }
        let reason = text("reason");
        if reason.is_empty() {
            report("reason", FieldErrorKind::Required, &Value::Null, "");
        } else if !is_reason(reason) {
            report("reason", FieldErrorKind::Invalid, &reason.into(), REASON);
        }
        for (name, most) in [("reason", MOST_REASON), ("message", MOST_MESSAGE)] {
            if text(name).len() > most {
                let detail = format!("may not be more than {most} bytes");
                report(name, FieldErrorKind::TooLong, &Value::Null, &detail);
            }
        }
    }
}

/// Whether a reason starts with a letter, and ends with a letter, a digit or `_`.
fn is_reason(text: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || b"_,:".contains(&byte);
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.iter().all(|byte| inside(*byte))
        && bytes.last().is_some_and(|last| last.is_ascii_alphanumeric() || *last == b'_')
}
