//! The rules of a schema (`x-kubernetes-validations`).

use crate::kinds::Row;
use tenure_value::{Text, Value};

/// A rule as it stands in a schema.
#[allow(dead_code, reason = "rules are read here before they run")]
#[derive(Debug)]
pub(crate) struct Rule {
    pub source: Text,
    pub message: Text,
    pub message_expression: Text,
    pub reason: Text,
    pub field_path: Text,
    pub optional_old_self: bool,
}

impl Rule {
    pub fn new(rule: &Value) -> Rule {
        Rule {
            source: rule.text("rule"),
            message: rule.text("message"),
            message_expression: rule.text("messageExpression"),
            reason: rule.text("reason"),
            field_path: rule.text("fieldPath"),
            optional_old_self: rule.flag("optionalOldSelf"),
        }
    }
}
