//! The input of a function that validates a node.

use super::{go_form, policy_scope::PolicyScope};
use std::cell::OnceCell;
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, FieldPath, Previous, format::Verdict};
use tenure_value::{Object, Text, Value};

/// The input of a validation function.
pub(crate) struct Context<'c> {
    /// The whole object.
    pub root: &'c Value,
    /// The node of the check's type.
    pub node: &'c Object,
    /// The path of the node.
    pub path: &'c FieldPath<'c>,
    /// The node of the live object, which is valid.
    pub before: Previous<'c>,
    /// What the expressions of the object see, if it is a policy.
    pub scope: &'c OnceCell<PolicyScope>,
}

impl Context<'_> {
    /// Returns a field of the node.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.node.get(name).filter(|value| !value.is_null())
    }

    /// Whether the value at a path below the node is known to be that of the live object.
    pub fn is_unchanged(&self, path: &[&str]) -> bool {
        self.at(path).is_some_and(|value| self.before.at(path).is_unchanged(value))
    }

    /// Returns a string of the node; empty if there is none.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns an integer of the node.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(Value::as_i64)
    }

    /// Returns the value at a path below the node.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.get(first)?, |value, name| value.get(name))
    }

    /// Returns the items of a list of the node.
    pub fn items(&self, name: &str) -> &[Value] {
        items(self.get(name))
    }

    /// Returns the fields of a map of the node.
    pub fn fields(&self, name: &str) -> &[(Text, Value)] {
        self.get(name).and_then(Value::as_object).map(Object::fields).unwrap_or_default()
    }

    /// Whether a list of the node has the item `*`, which stands for all others, so that having others too is an error.
    pub fn has_wildcard(&self, name: &str, others: &str, errors: &mut FieldErrors) -> bool {
        let items = self.items(name);
        let has_wildcard = items.iter().any(|item| item.as_str() == Some("*"));
        if has_wildcard && items.len() > 1 {
            let given = self.get(name).cloned().unwrap_or_default();
            let detail = format!("if '*' is present, must not specify other {others}");
            errors.push(self.fault(name, FieldErrorKind::Invalid, &given, &detail));
        }
        has_wildcard
    }

    /// Adds an error below the node for everything that is wrong with a value.
    pub fn invalid(&self, below: &str, value: &Value, verdict: Verdict, errors: &mut FieldErrors) {
        for fault in verdict {
            errors.push(self.fault(below, FieldErrorKind::Invalid, value, &fault));
        }
    }

    /// Returns the path of a field of the node; of the node itself without a name.
    pub fn path_to(&self, below: &str) -> String {
        let base = self.path.to_string();
        let dot = if base.is_empty() || below.is_empty() || below.starts_with('[') { "" } else { "." };
        format!("{base}{dot}{below}")
    }

    /// Creates the error of a missing value.
    pub fn required(&self, below: &str, detail: &str) -> FieldError {
        FieldError::required(self.path_to(below), detail)
    }

    /// Creates the error of a word that is not one of those that are known.
    pub fn not_supported(&self, below: &str, found: &str, known: &[&str]) -> FieldError {
        let known: Vec<Value> = known.iter().copied().map(Value::from).collect();
        FieldError::not_supported(self.path_to(below), &found.into(), &known)
    }

    /// Creates an error below the node that shows a struct as Kubernetes does.
    pub fn fault_of_struct(&self, below: &str, value: &Value, detail: &str) -> FieldError {
        go_form::invalid_struct(&self.path_to(below), value, detail)
    }

    /// Creates an error below the node.
    pub fn fault(&self, below: &str, kind: FieldErrorKind, value: &Value, detail: &str) -> FieldError {
        FieldError::new(kind, self.path_to(below), value, detail)
    }
}

/// Returns a string of a value; empty if there is none.
pub(super) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the items of a list; none if there is no list.
pub(super) fn items(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map(|list| list.items()).unwrap_or_default()
}
