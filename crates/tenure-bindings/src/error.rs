//! The one error of the packages: its kind decides which exception it becomes.

use tenure_apply::ApplyError;
use tenure_ownership::{OwnershipError, owner};
use tenure_patch::{ErrorClass, PatchError};
use tenure_value::Value;

/// What a caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Others own fields that would change, or have changed them since the last apply.
    Conflict,
    /// A patch is malformed, or cannot be applied to this document.
    Patch,
    /// A `test` operation of a JSON patch found another value.
    TestFailed,
    /// An object does not fit its type, or what it says of its managers cannot be read.
    InvalidObject,
    /// No type is known for the kind of an object.
    UnknownKind,
    /// An argument has a value that it cannot have.
    Argument,
    /// A limit is exceeded.
    TooLarge,
    /// A test server refused something, or cannot start.
    Server,
}

impl ErrorKind {
    /// All kinds.
    pub const ALL: [ErrorKind; 8] = [
        ErrorKind::Conflict,
        ErrorKind::Patch,
        ErrorKind::TestFailed,
        ErrorKind::InvalidObject,
        ErrorKind::UnknownKind,
        ErrorKind::Argument,
        ErrorKind::TooLarge,
        ErrorKind::Server,
    ];

    /// Returns the name, as programs compare it.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::Conflict => "Conflict",
            ErrorKind::Patch => "Patch",
            ErrorKind::TestFailed => "TestFailed",
            ErrorKind::InvalidObject => "InvalidObject",
            ErrorKind::UnknownKind => "UnknownKind",
            ErrorKind::Argument => "Argument",
            ErrorKind::TooLarge => "TooLarge",
            ErrorKind::Server => "Server",
        }
    }
}

/// A field of another owner that a write would change.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The field, as `.spec.replicas`.
    pub path: String,
    /// The live value; `None` if there is none.
    pub live: Option<Value>,
    /// The value that the write would set; `None` if it would remove the field.
    pub proposed: Option<Value>,
    /// The owners, each with `manager`, `operation`, `apiVersion` and, if known, `subresource` and `time`. Empty for a patch, which knows
    /// no owners.
    pub owners: Value,
}

impl Conflict {
    /// Returns the conflict as a document.
    pub fn to_value(&self) -> Value {
        Value::object([
            ("path", Value::from(self.path.as_str())),
            ("live", self.live.clone().unwrap_or_default()),
            ("proposed", self.proposed.clone().unwrap_or_default()),
            ("owners", self.owners.clone()),
        ])
    }
}

/// An error of an engine or of a test server.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// What a caller can do about it.
    pub kind: ErrorKind,
    /// What is wrong, where, and what would be right.
    pub message: String,
    /// The path of the part that is wrong; empty if it is the whole, or not known.
    pub path: String,
    /// The conflicts, if this is a conflict.
    pub conflicts: Vec<Conflict>,
}

impl Error {
    /// Returns an error without a path.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), path: String::new(), conflicts: Vec::new() }
    }

    /// Returns an error about an argument.
    pub fn argument(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Argument, message)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<PatchError> for Error {
    fn from(error: PatchError) -> Error {
        let kind = match error.class() {
            ErrorClass::Conflict => ErrorKind::Conflict,
            ErrorClass::TestFailed => ErrorKind::TestFailed,
            ErrorClass::TooLarge => ErrorKind::TooLarge,
            _ => ErrorKind::Patch,
        };
        // A patch says `null` for what was or would be removed.
        let present = |value: &Value| Some(value.clone()).filter(|value| !value.is_null());
        let conflicts = error.conflicts().iter().map(|conflict| Conflict {
            path: conflict.path.to_string(),
            live: present(&conflict.live),
            proposed: present(&conflict.patch),
            owners: Value::array([]),
        });
        let path = error.path();
        let path = if path.elements().is_empty() { String::new() } else { path.to_string() };
        Error { kind, conflicts: conflicts.collect(), path, message: error.to_string() }
    }
}

impl From<ApplyError> for Error {
    fn from(error: ApplyError) -> Error {
        let message = error.to_string();
        let with_path = |kind, path: String| Error { path, ..Error::new(kind, message.as_str()) };
        match &error {
            ApplyError::Conflicts(conflicts) => {
                let conflicts = conflicts.iter().map(|conflict| Conflict {
                    path: conflict.path.to_string(),
                    live: conflict.live.clone(),
                    proposed: conflict.proposed.clone(),
                    owners: owner::list(&conflict.owners),
                });
                let conflicts = conflicts.collect();
                Error { conflicts, ..Error::new(ErrorKind::Conflict, message) }
            }
            ApplyError::UnknownField { path }
            | ApplyError::WrongType { path, .. }
            | ApplyError::NoKey { path, .. }
            | ApplyError::BadItem { path, .. }
            | ApplyError::Duplicate { path, .. } => with_path(ErrorKind::InvalidObject, path.to_string()),
            ApplyError::UnknownKind { .. } | ApplyError::UnknownVersion { .. } => {
                Error::new(ErrorKind::UnknownKind, message)
            }
            _ => Error::new(ErrorKind::InvalidObject, message),
        }
    }
}

impl From<OwnershipError> for Error {
    fn from(error: OwnershipError) -> Error {
        Error::argument(error.to_string())
    }
}

impl From<tenure_fields::Error> for Error {
    fn from(error: tenure_fields::Error) -> Error {
        Error::new(ErrorKind::InvalidObject, error.to_string())
    }
}

impl From<tenure_testing::TestError> for Error {
    fn from(error: tenure_testing::TestError) -> Error {
        Error::new(ErrorKind::Server, error.to_string())
    }
}
