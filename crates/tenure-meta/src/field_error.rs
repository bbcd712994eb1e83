//! What is wrong with a field, in the words that clients know: a kind of fault, the value, and what would be
//! right.

use crate::{ApiError, Cause, Resource};
use tenure_value::Value;

/// The kinds of faults that a field can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It must be given.
    Required,
    /// Its value is wrong.
    Invalid,
    /// Its value is not one of those allowed.
    NotSupported,
    /// Another has the same value.
    Duplicate,
    /// It may not be given, or not be changed.
    Forbidden,
    /// What it names does not exist.
    NotFound,
    /// It is too long.
    TooLong,
}

/// Reason of the cause, and the first words of the message.
const KINDS: [(FaultKind, &str, &str); 7] = [
    (FaultKind::Required, "FieldValueRequired", "Required value"),
    (FaultKind::Invalid, "FieldValueInvalid", "Invalid value"),
    (FaultKind::NotSupported, "FieldValueNotSupported", "Unsupported value"),
    (FaultKind::Duplicate, "FieldValueDuplicate", "Duplicate value"),
    (FaultKind::Forbidden, "FieldValueForbidden", "Forbidden"),
    (FaultKind::NotFound, "FieldValueNotFound", "Not found"),
    (FaultKind::TooLong, "FieldValueTooLong", "Too long"),
];

impl FaultKind {
    fn row(self) -> (&'static str, &'static str) {
        KINDS.iter().find(|row| row.0 == self).map_or(("", ""), |row| (row.1, row.2))
    }
}

/// A fault of a field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// Where the field is.
    pub path: String,
    /// What kind of fault it is.
    pub kind: FaultKind,
    /// The value that is wrong.
    pub value: Value,
    /// What would be right; empty where the kind says all.
    pub detail: String,
}

impl FieldError {
    /// Makes a fault.
    pub fn new(kind: FaultKind, path: &str, value: &Value, detail: impl Into<String>) -> FieldError {
        FieldError { path: path.into(), kind, value: value.clone(), detail: detail.into() }
    }

    /// Makes the fault of a wrong value.
    pub fn invalid(path: &str, value: &Value, detail: impl Into<String>) -> FieldError {
        FieldError::new(FaultKind::Invalid, path, value, detail)
    }

    /// Returns the fault in words, without the path.
    pub fn message(&self) -> String {
        let words = self.kind.row().1;
        let mut message = match self.kind {
            FaultKind::Required | FaultKind::Forbidden | FaultKind::TooLong => words.into(),
            _ => format!("{words}: {}", self.value),
        };
        if !self.detail.is_empty() {
            message.push_str(": ");
            message.push_str(&self.detail);
        }
        message
    }

    /// Returns the fault as a cause of a failure.
    pub fn cause(&self) -> Cause {
        Cause {
            reason: self.kind.row().0.into(),
            message: self.message(),
            field: self.path.clone(),
            extension: None,
        }
    }
}

/// Returns the failure of a request whose object has faults; nothing if it has none.
pub fn failure_of(resource: &Resource, name: &str, errors: &[FieldError]) -> Option<ApiError> {
    let causes: Vec<Cause> = errors.iter().map(FieldError::cause).collect();
    (!causes.is_empty()).then(|| ApiError::invalid(&resource.group, &resource.kind, name, causes))
}
