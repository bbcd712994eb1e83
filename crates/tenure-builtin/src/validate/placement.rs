//! Validation of placement: node selector terms, and allowed topologies of volumes.

use super::context::Context;
use tenure_meta::{FieldErrorKind, FieldErrors, Row, Seen, format};
use tenure_value::Value;

/// Validates a node selector term: comparisons have one value, and the only field is `metadata.name`.
pub(crate) fn node_term(of: &Context<'_>, errors: &mut FieldErrors) {
    for (at, expression) in of.items("matchExpressions").iter().enumerate() {
        if matches!(expression.text("operator").as_str(), "Gt" | "Lt")
            && expression.items("values").len() != 1
        {
            let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            let path = format!("matchExpressions[{at}].values");
            errors.push(of.fault(&path, FieldErrorKind::Required, &Value::Null, detail));
        }
    }
    for (at, field) in of.items("matchFields").iter().enumerate() {
        let below = |name: &str| format!("matchFields[{at}].{name}");
        if !matches!(field.text("operator").as_str(), "In" | "NotIn") {
            let value = field.text("operator").into();
            errors.push(of.fault(
                &below("operator"),
                FieldErrorKind::Invalid,
                &value,
                "not a valid selector operator",
            ));
        } else if field.items("values").len() != 1 {
            let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.push(of.fault(&below("values"), FieldErrorKind::Required, &Value::Null, detail));
        }
        if field.text("key") != "metadata.name" {
            let value = field.text("key").into();
            errors.push(of.fault(
                &below("key"),
                FieldErrorKind::Invalid,
                &value,
                "not a valid field selector key",
            ));
        }
        for (number, value) in field.items("values").iter().enumerate() {
            if let Some(fault) = value.as_str().and_then(format::dns_subdomain) {
                let path = below(&format!("values[{number}]"));
                errors.push(of.fault(&path, FieldErrorKind::Invalid, value, &fault));
            }
        }
    }
}

/// Validates the topologies of a storage class: no duplicate terms, no duplicate keys in a term, no duplicate
/// values of a key.
pub(crate) fn topologies(of: &Context<'_>, errors: &mut FieldErrors) {
    let terms = of.items("allowedTopologies");
    let mut seen_terms = Seen::default();
    for (at, term) in terms.iter().enumerate() {
        let below = format!("allowedTopologies[{at}].matchLabelExpressions");
        let expressions = term.items("matchLabelExpressions");
        if !seen_terms.insert(expressions) || expressions.is_empty() {
            errors.push(of.fault(&below, FieldErrorKind::Duplicate, &"".into(), ""));
        }
        let mut keys = Seen::default();
        for (number, expression) in expressions.iter().enumerate() {
            let (key, path) = (expression.text("key"), format!("{below}[{number}]"));
            if let Some(fault) = format::qualified_name(&key) {
                errors.push(of.fault(
                    &format!("{path}.key"),
                    FieldErrorKind::Invalid,
                    &key.clone().into(),
                    &fault,
                ));
            }
            if !keys.insert(key.clone()) {
                errors.push(of.fault(
                    &format!("{path}.key"),
                    FieldErrorKind::Duplicate,
                    &key.clone().into(),
                    "",
                ));
            }
            let mut values = Seen::default();
            for (place, value) in expression.items("values").iter().enumerate() {
                if !values.insert(value) {
                    let path = format!("{path}.values[{place}]");
                    errors.push(of.fault(&path, FieldErrorKind::Duplicate, value, ""));
                }
            }
        }
    }
}
