//! A conflict of an apply: one field, its owners and both values. Plans contain conflicts, and diagnoses explain them.

use crate::owner::Owner;
use tenure_fields::Path;
use tenure_value::Value;

/// A field that would change and that other managers own.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The field.
    pub path: Path,
    /// All its owners.
    pub owners: Vec<Owner>,
    /// The live value.
    pub live: Option<Value>,
    /// The value in the manifest.
    pub proposed: Option<Value>,
}
