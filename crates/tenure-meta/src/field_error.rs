//! Field errors with the messages of Kubernetes: a kind of error, the value, and what would be right.

use crate::{ApiError, Cause};
use std::fmt::Write;
use tenure_value::{Value, go_text::Quoted};

/// The kinds of errors that a field can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldErrorKind {
    /// The field must be given.
    Required,
    /// The value is wrong.
    Invalid,
    /// The value has the wrong type or format.
    TypeInvalid,
    /// The value is not one of those allowed.
    NotSupported,
    /// Another item has the same value.
    Duplicate,
    /// The field must not be given, or must not change.
    Forbidden,
    /// The object that the field names does not exist.
    NotFound,
    /// The value is too long.
    TooLong,
    /// There are too many items.
    TooMany,
}

/// The reason of the cause, and the first words of the message.
const KINDS: [(FieldErrorKind, &str, &str); 9] = [
    (FieldErrorKind::Required, "FieldValueRequired", "Required value"),
    (FieldErrorKind::Invalid, "FieldValueInvalid", "Invalid value"),
    (FieldErrorKind::TypeInvalid, "FieldValueTypeInvalid", "Invalid value"),
    (FieldErrorKind::NotSupported, "FieldValueNotSupported", "Unsupported value"),
    (FieldErrorKind::Duplicate, "FieldValueDuplicate", "Duplicate value"),
    (FieldErrorKind::Forbidden, "FieldValueForbidden", "Forbidden"),
    (FieldErrorKind::NotFound, "FieldValueNotFound", "Not found"),
    (FieldErrorKind::TooLong, "FieldValueTooLong", "Too long"),
    (FieldErrorKind::TooMany, "FieldValueTooMany", "Too many"),
];

impl FieldErrorKind {
    fn row(self) -> (&'static str, &'static str) {
        KINDS.iter().find(|row| row.0 == self).map_or(("", ""), |row| (row.1, row.2))
    }

    /// Returns the kind whose causes have a reason, such as `FieldValueRequired`.
    pub fn from_reason(reason: &str) -> Option<FieldErrorKind> {
        KINDS.iter().find(|row| row.1 == reason).map(|row| row.0)
    }

    /// Returns the reason of causes of this kind.
    pub fn reason(self) -> &'static str {
        self.row().0
    }

    /// Whether messages of this kind show the value.
    fn shows_value(self) -> bool {
        !matches!(self, FieldErrorKind::Required | FieldErrorKind::Forbidden | FieldErrorKind::TooLong)
    }
}

/// An error of a field.
///
/// ```
/// use tenure_meta::{FieldError, FieldPath};
///
/// let root = FieldPath::root();
/// let ports = root.field("ports");
/// let error = FieldError::invalid(ports.index(1).field("port"), &0.into(), "must be between 1 and 65535");
/// assert_eq!(error.to_string(), "ports[1].port: Invalid value: 0: must be between 1 and 65535");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// Where the field is.
    pub path: String,
    /// What kind of error it is.
    pub kind: FieldErrorKind,
    /// What is wrong and what would be right, without the path.
    pub message: String,
}

impl FieldError {
    /// Makes an error; `detail` says what would be right, and is empty where the kind says it all.
    pub fn new(
        kind: FieldErrorKind,
        path: impl ToString,
        value: &Value,
        detail: impl AsRef<str>,
    ) -> FieldError {
        let mut message = String::from(kind.row().1);
        if kind.shows_value() {
            message.push_str(": ");
            message.push_str(&shown(value));
        }
        if !detail.as_ref().is_empty() {
            message.push_str(": ");
            message.push_str(detail.as_ref());
        }
        FieldError::with_message(kind, path, message)
    }

    /// Makes an error with a message that is already whole.
    pub fn with_message(kind: FieldErrorKind, path: impl ToString, message: impl Into<String>) -> FieldError {
        FieldError { path: path.to_string(), kind, message: message.into() }
    }

    /// Makes the error of a missing value.
    pub fn required(path: impl ToString, detail: impl AsRef<str>) -> FieldError {
        FieldError::new(FieldErrorKind::Required, path, &Value::Null, detail)
    }

    /// Makes the error of a wrong value.
    pub fn invalid(path: impl ToString, value: &Value, detail: impl AsRef<str>) -> FieldError {
        FieldError::new(FieldErrorKind::Invalid, path, value, detail)
    }

    /// Makes the error of a value of the wrong type or format, which the message names by its type.
    pub fn type_invalid(path: impl ToString, found: &str, detail: impl AsRef<str>) -> FieldError {
        FieldError::new(FieldErrorKind::TypeInvalid, path, &found.into(), detail)
    }

    /// Makes the error of a value that is not one of those allowed.
    pub fn not_supported<'v>(
        path: impl ToString,
        value: &Value,
        allowed: impl IntoIterator<Item = &'v Value>,
    ) -> FieldError {
        // Supported values are shown as strings for every type.
        let string = |value: &Value| match value {
            Value::String(_) => value.clone(),
            other => Value::from(other.to_string()),
        };
        let mut detail = String::from("supported values: ");
        for (at, allowed_value) in allowed.into_iter().enumerate() {
            if detail.len() > MAX_ALLOWED_BYTES {
                detail.push_str(", …");
                break;
            }
            detail.push_str(if at == 0 { "" } else { ", " });
            detail.push_str(&shown(&string(allowed_value)));
        }
        FieldError::new(FieldErrorKind::NotSupported, path, value, detail)
    }

    /// Makes the error of a value that another item has too.
    pub fn duplicate(path: impl ToString, value: &Value) -> FieldError {
        FieldError::new(FieldErrorKind::Duplicate, path, value, "")
    }

    /// Makes the error of a field that must not be given or changed.
    pub fn forbidden(path: impl ToString, detail: impl AsRef<str>) -> FieldError {
        FieldError::new(FieldErrorKind::Forbidden, path, &Value::Null, detail)
    }

    /// Makes the error of a value of more than `max` bytes.
    pub fn too_long(path: impl ToString, max: u64) -> FieldError {
        let detail = format!("may not be more than {max} bytes");
        FieldError::new(FieldErrorKind::TooLong, path, &Value::Null, detail)
    }

    /// Makes the error of a list of more than `max` items.
    pub fn too_many(path: impl ToString, found: usize, max: u64) -> FieldError {
        let noun = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {noun}");
        FieldError::new(FieldErrorKind::TooMany, path, &Value::Int(found as i64), detail)
    }

    /// Returns the same error at a path below another.
    pub fn below(mut self, parent: impl ToString) -> FieldError {
        let parent = parent.to_string();
        let dot =
            if parent.is_empty() || self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{parent}{dot}{}", self.path);
        self
    }

    /// Returns the error as a cause of an [`ApiError`].
    pub fn cause(&self) -> Cause {
        Cause {
            reason: self.kind.reason().into(),
            message: self.message.clone(),
            field: self.path.clone(),
            extension: None,
        }
    }
}

impl ApiError {
    /// Several query parameters violate rules of their options.
    pub fn invalid_options(options: &str, errors: &[FieldError]) -> ApiError {
        ApiError::invalid("meta.k8s.io", options, "", errors.iter().map(FieldError::cause).collect())
    }
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl std::error::Error for FieldError {}

/// How many bytes of a value a message shows.
const MAX_SHOWN_BYTES: usize = 2048;

/// How many bytes of the values that are allowed a message lists.
const MAX_ALLOWED_BYTES: usize = 8 << 10;

/// Writes a string in quotes, and any other value as JSON; a long one is cut.
fn shown(value: &Value) -> String {
    let mut cut = Cut(String::new());
    // The only error is that the text is long enough.
    let written = match value {
        Value::String(text) if text.len() < MAX_SHOWN_BYTES => return Quoted(text).to_string(),
        value => write!(cut, "{value}"),
    };
    if written.is_err() {
        cut.0.push('…');
    }
    cut.0
}

/// A text that takes no more than [`MAX_SHOWN_BYTES`], so that showing a large value costs little.
struct Cut(String);

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let left = MAX_SHOWN_BYTES - self.0.len();
        let end = (0..=left.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        self.0.push_str(&text[..end.unwrap_or(0)]);
        if text.len() > left { Err(std::fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_kind_value_and_detail() {
        let cases = [
            (FieldError::required("a", ""), "a: Required value"),
            (FieldError::required("a", "why"), "a: Required value: why"),
            (FieldError::invalid("a", &"x".into(), "why"), "a: Invalid value: \"x\": why"),
            (FieldError::type_invalid("a", "string", "why"), "a: Invalid value: \"string\": why"),
            (
                FieldError::not_supported("a", &"x".into(), &[1.into(), "y".into()]),
                "a: Unsupported value: \"x\": supported values: \"1\", \"y\"",
            ),
            (FieldError::duplicate("a", &"x".into()), "a: Duplicate value: \"x\""),
            (FieldError::forbidden("a", "why"), "a: Forbidden: why"),
            (FieldError::too_long("a", 3), "a: Too long: may not be more than 3 bytes"),
            (FieldError::too_many("a", 4, 3), "a: Too many: 4: must have at most 3 items"),
            (FieldError::duplicate("[0].a", &1.into()).below("b"), "b[0].a: Duplicate value: 1"),
        ];
        for (error, message) in cases {
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn long_values_are_cut() {
        let error = FieldError::invalid("a", &"ä".repeat(5000).into(), "too much");
        assert!(error.message.len() < 2200 && error.message.ends_with("…: too much"), "{}", error.message);
    }
}
