//! The crate's error. All but failed conversions can be fixed by the writer, so each variant says where the problem is,
//! what was found, and what would be right.

use crate::Conflicts;
use tenure_fields::{Path, PathElement};
use tenure_value::{Kind, Text};

/// Why a write cannot be carried out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// Others own fields that this apply would change; the writer may force, change or leave them out.
    #[error("{0}")]
    Conflicts(Conflicts),
    /// The configuration has a field that its type does not name; it may be misspelt.
    #[error("{path}: field not declared in schema")]
    UnknownField {
        /// The field.
        path: Path,
    },
    /// The configuration has a value of a kind that its type does not allow.
    #[error("{path}: expected {expected}, got {found}")]
    WrongType {
        /// The path of the value.
        path: Path,
        /// The allowed types or values.
        expected: &'static str,
        /// The value found.
        found: Kind,
    },
    /// An item of a keyed list has none of the keys that identify items.
    #[error("{path}: element {index}: no value for merge key {keys}; every item of this list needs one")]
    NoKey {
        /// The list.
        path: Path,
        /// The item's place in it.
        index: usize,
        /// The keys, as `"port", "protocol"`.
        keys: String,
    },
    /// An item is of a kind that its list cannot tell apart.
    #[error("{path}: element {index}: expected {expected}, got {found}")]
    BadItem {
        /// The list.
        path: Path,
        /// The item's place in it.
        index: usize,
        /// The required type of items.
        expected: &'static str,
        /// The type found.
        found: Kind,
    },
    /// The configuration lists one item twice.
    #[error(
        "{path}: duplicate entries for key {}, at {first} and {second}; keep one of them",
        last(path, element)
    )]
    Duplicate {
        /// The list.
        path: Path,
        /// The item.
        element: PathElement,
        /// The place of the first entry.
        first: usize,
        /// The place of the second entry.
        second: usize,
    },
    /// The configuration carries `managedFields`, which only the server writes.
    #[error("metadata.managedFields must be nil")]
    ManagersSent,
    /// An entry of `managedFields` cannot be read.
    #[error("metadata.managedFields[{index}]: {problem}")]
    BadManager {
        /// The entry's place.
        index: usize,
        /// The problem, and the correct form.
        problem: String,
    },
    /// The version of the write has no type: the caller did not register it.
    #[error("no type is known for apiVersion {api_version:?}")]
    UnknownVersion {
        /// The version.
        api_version: Text,
    },
    /// The configuration does not say what it is.
    #[error("{field}: required; a configuration needs apiVersion and kind")]
    NoKind {
        /// The missing field.
        field: &'static str,
    },
    /// The kind has no type in the schema.
    #[error("no type is known for {kind} of {api_version}; set the schema that defines it")]
    UnknownKind {
        /// The version.
        api_version: Text,
        /// The kind.
        kind: Text,
    },
    /// A typed object cannot be turned into a document, or back.
    #[error("{0}")]
    Document(tenure_value::Error),
    /// A manager is at a version that the kind no longer has.
    #[error("request to convert CR to an invalid group/version: {api_version}")]
    RemovedVersion {
        /// The version.
        api_version: Text,
    },
    /// A part of the live object does not fit its type, so that the behaviour of Kubernetes cannot compare it.
    #[error("{errors}")]
    MalformedLive {
        /// What is wrong with it.
        errors: String,
        /// Whether the object has no managers yet, so that all of it gets one first.
        is_untracked: bool,
    },
    /// The object has a field that the version of a manager does not declare.
    #[error("{mismatch} of {api_version}")]
    Undeclared {
        /// The version.
        api_version: Text,
        /// The field, and what is wrong with it.
        mismatch: String,
    },
    /// The caller's converter failed on a version that exists.
    #[error("cannot convert the object to {api_version}: {problem}")]
    Conversion {
        /// The version wanted.
        api_version: Text,
        /// The error of the converter.
        problem: String,
    },
}

/// Shows an item as the end of a path: `[name="a"]`.
fn last(_: &Path, element: &PathElement) -> String {
    [element.clone()].into_iter().collect::<Path>().to_string()
}

/// An error whose path is completed as the walk returns from it.
#[derive(Debug)]
pub(crate) struct Mismatch {
    reversed: Vec<PathElement>,
    what: MismatchKind,
}

/// A problem whose path is not known yet.
#[derive(Debug)]
pub(crate) enum MismatchKind {
    UnknownField,
    WrongType { expected: &'static str, found: Kind },
    NoKey { index: usize, keys: String },
    BadItem { index: usize, expected: &'static str, found: Kind },
    Duplicate { element: PathElement, first: usize, second: usize },
}

impl From<MismatchKind> for Box<Mismatch> {
    fn from(what: MismatchKind) -> Box<Mismatch> {
        Box::new(Mismatch { reversed: Vec::new(), what })
    }
}

impl Mismatch {
    /// Adds the step that leads to where the error was found.
    pub(crate) fn under(mut self: Box<Mismatch>, element: PathElement) -> Box<Mismatch> {
        self.reversed.push(element);
        self
    }
}

impl From<Box<Mismatch>> for ApplyError {
    fn from(mismatch: Box<Mismatch>) -> ApplyError {
        let path: Path = mismatch.reversed.into_iter().rev().collect();
        match mismatch.what {
            MismatchKind::UnknownField => ApplyError::UnknownField { path },
            MismatchKind::WrongType { expected, found } => ApplyError::WrongType { path, expected, found },
            MismatchKind::NoKey { index, keys } => ApplyError::NoKey { path, index, keys },
            MismatchKind::BadItem { index, expected, found } => {
                ApplyError::BadItem { path, index, expected, found }
            }
            MismatchKind::Duplicate { element, first, second } => {
                ApplyError::Duplicate { path, element, first, second }
            }
        }
    }
}
