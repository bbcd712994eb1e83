//! Violations of schema rules, with the messages of kube-apiserver: a path, a reason and a message that a
//! server can return unchanged.

use std::fmt;
use tenure_value::{Value, json};

/// A violated rule, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The path, such as `spec.validation.openAPIV3Schema.properties[spec].properties[ports].items.type`.
    pub path: String,
    /// The reason.
    pub reason: Reason,
    /// The complete message, such as `Required value: must be specified`.
    pub message: String,
    /// The origin of the rule.
    pub rule: RuleOrigin,
}

/// The reason of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A value is missing.
    Required,
    /// A value is invalid.
    Invalid,
    /// A value is not one of the supported ones.
    NotSupported,
    /// A value is not allowed here.
    Forbidden,
}

impl Reason {
    /// Returns the reason of a status cause.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Required => "FieldValueRequired",
            Reason::Invalid => "FieldValueInvalid",
            Reason::NotSupported => "FieldValueNotSupported",
            Reason::Forbidden => "FieldValueForbidden",
        }
    }
}

/// The origin of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleOrigin {
    /// Kubernetes rejects such a definition too.
    Kubernetes,
    /// Kubernetes accepts it, but then every apply fails.
    Tenure,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// A path in a schema. It refers to its parent, so nothing is formatted until there is a violation.
#[derive(Clone, Copy)]
pub(super) enum Path<'p> {
    Root(&'p str),
    Child(&'p Path<'p>, &'p str),
    Property(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, &'p str, usize),
}

impl<'p> Path<'p> {
    pub fn child(&'p self, name: &'p str) -> Path<'p> {
        Path::Child(self, name)
    }

    pub fn property(&'p self, name: &'p str) -> Path<'p> {
        Path::Property(self, name)
    }

    pub fn index(&'p self, name: &'p str, index: usize) -> Path<'p> {
        Path::Index(self, name, index)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root(name) => f.write_str(name),
            Path::Child(above, name) => write!(f, "{above}.{name}"),
            Path::Property(above, name) => write!(f, "{above}.properties[{name}]"),
            Path::Index(above, name, index) => write!(f, "{above}.{name}[{index}]"),
        }
    }
}

/// Collects violations.
#[derive(Default)]
pub(super) struct Report(pub Vec<Violation>);

impl Report {
    pub fn required(&mut self, path: &Path, right: &str) {
        self.add(path, Reason::Required, format!("Required value: {right}"));
    }

    pub fn invalid(&mut self, path: &Path, found: &Value, right: &str) {
        self.add(path, Reason::Invalid, format!("Invalid value: {}: {right}", json::to_string(found)));
    }

    pub fn forbidden(&mut self, path: &Path, right: &str) {
        self.add(path, Reason::Forbidden, format!("Forbidden: {right}"));
    }

    pub fn not_supported(&mut self, path: &Path, found: &Value, supported: &[&str]) {
        let supported: Vec<_> = supported.iter().map(|word| format!("{word:?}")).collect();
        let (found, supported) = (json::to_string(found), supported.join(", "));
        self.add(
            path,
            Reason::NotSupported,
            format!("Unsupported value: {found}: supported values: {supported}"),
        );
    }

    /// Adds a violation of a rule of Tenure.
    pub fn unworkable(&mut self, path: &Path, found: &Value, right: &str) {
        self.invalid(path, found, right);
        if let Some(last) = self.0.last_mut() {
            last.rule = RuleOrigin::Tenure;
        }
    }

    fn add(&mut self, path: &Path, reason: Reason, message: String) {
        self.0.push(Violation { path: path.to_string(), reason, message, rule: RuleOrigin::Kubernetes });
    }
}
