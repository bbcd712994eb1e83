//! One manager: who, how, at which version and through which endpoint, when, and what they own. Two
//! writes belong to one manager when their identities agree; an applier is the same at every apiVersion.

use crate::Timestamp;
use std::{cmp::Ordering, fmt};
use tenure_fields::FieldSet;
use tenure_value::Text;

/// How a manager writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// By declaring all it wants (server-side apply).
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    /// Returns the name that `managedFields` uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Someone who owns fields of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    /// The name the writer gave.
    pub name: Text,
    /// How they write.
    pub operation: Operation,
    /// The version of the object in which their fields are named, such as `apps/v1`.
    pub api_version: Text,
    /// The endpoint they wrote through; empty for the object itself.
    pub subresource: Text,
    /// When their fields last changed, where known.
    pub time: Option<Timestamp>,
    /// The fields that it owns.
    pub fields: FieldSet,
}

/// The identity of a manager: two writes with the same identity are by the same manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The name the writer gave.
    pub name: &'a str,
    /// How they write.
    pub operation: Operation,
    /// The version. It is part of an updater's identity, but not of an applier's.
    pub api_version: &'a str,
    /// The endpoint.
    pub subresource: &'a str,
}

impl Identity<'_> {
    /// Whether both are one manager.
    pub fn is(&self, other: &Identity<'_>) -> bool {
        self.name == other.name
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }
}

impl Manager {
    /// Returns who this is.
    pub fn identity(&self) -> Identity<'_> {
        Identity {
            name: &self.name,
            operation: self.operation,
            api_version: &self.api_version,
            subresource: &self.subresource,
        }
    }

    /// Compares two managers by everything but time and fields.
    pub(crate) fn order_by_identity(&self, other: &Manager) -> Ordering {
        let key = |manager: &Manager| {
            (
                manager.name.clone(),
                manager.operation,
                manager.api_version.clone(),
                manager.subresource.clone(),
            )
        };
        key(self).cmp(&key(other))
    }

    /// Returns this manager owning other fields.
    pub fn with_fields(&self, fields: FieldSet) -> Manager {
        Manager { fields, ..self.clone() }
    }
}

/// Shows the manager as conflicts name it: `"alice"`, `"edit" with subresource "status" using v1`.
impl fmt::Display for Identity<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.name)?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {:?}", self.subresource)?;
        }
        if self.operation == Operation::Update {
            write!(f, " using {}", self.api_version)?;
        }
        Ok(())
    }
}
