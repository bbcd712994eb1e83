//! The data files. They are part of the binary and are compiled when the built-in kinds are first used; a file that does
//! not parse or a row that does not compile is a [`DataError`].

use std::sync::LazyLock;
use tenure_meta::ValueExt;
use tenure_value::{Object, Value};

/// An invalid row of a data file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("data/{file}: {row}: {reason}")]
pub struct DataError {
    /// The file.
    pub file: &'static str,
    /// The row, if it can be named.
    pub row: String,
    /// What is wrong.
    pub reason: String,
}

impl DataError {
    /// Creates the error of a row.
    pub(crate) fn new(file: &'static str, row: impl ToString, reason: impl ToString) -> DataError {
        DataError { file, row: row.to_string(), reason: reason.to_string() }
    }
}

/// The data files.
pub(crate) struct Data {
    /// Groups and resources, one row each.
    pub resources: Value,
    /// Encoding of values, and defaulting rules.
    pub defaults: Value,
    /// Validation by type, and validation of updates by kind.
    pub validation: Value,
    /// Columns and cells of tables.
    pub tables: Value,
    /// Conversions between versions of a kind.
    pub conversions: Value,
    /// How Go names the types of fields, by type.
    pub go_types: Value,
}

pub(crate) const RESOURCES: &str = "resources.json";
pub(crate) const DEFAULTS: &str = "defaults.json";
pub(crate) const VALIDATION: &str = "validation.json";
pub(crate) const TABLES: &str = "tables.json";
pub(crate) const CONVERSIONS: &str = "conversions.json";
pub(crate) const GO_TYPES: &str = "go-types.json";

impl Data {
    /// Returns the data files.
    pub(crate) fn builtin() -> Result<&'static Data, DataError> {
        static DATA: LazyLock<Result<Data, DataError>> = LazyLock::new(|| {
            Ok(Data {
                resources: parse(RESOURCES, include_str!("../data/resources.json"))?,
                defaults: parse(DEFAULTS, include_str!("../data/defaults.json"))?,
                validation: parse(VALIDATION, include_str!("../data/validation.json"))?,
                tables: parse(TABLES, include_str!("../data/tables.json"))?,
                conversions: parse(CONVERSIONS, include_str!("../data/conversions.json"))?,
                go_types: parse(GO_TYPES, include_str!("../data/go-types.json"))?,
            })
        });
        DATA.as_ref().map_err(DataError::clone)
    }
}

fn parse(file: &'static str, text: &str) -> Result<Value, DataError> {
    text.parse().map_err(|error| DataError::new(file, "the document", error))
}

/// Returns the rows of a list; a member that is not a list is an error.
pub(crate) fn rows<'v>(
    file: &'static str,
    document: &'v Value,
    name: &str,
) -> Result<&'v [Value], DataError> {
    match document.get(name).and_then(Value::as_array) {
        Some(_) => Ok(document.items(name)),
        None => Err(DataError::new(file, name, "expected a list")),
    }
}

/// Returns the members of an object; a member that is not an object is an error.
pub(crate) fn members<'v>(
    file: &'static str,
    document: &'v Value,
    name: &str,
) -> Result<&'v Object, DataError> {
    let found = document.get(name).and_then(Value::as_object);
    found.ok_or_else(|| DataError::new(file, name, "expected an object"))
}

/// Rejects unknown members of a row.
pub(crate) fn only_known(row: &Value, known: &[&str]) -> Result<(), String> {
    let fields = row.as_object().ok_or_else(|| format!("expected an object, got {}", row.kind()))?;
    match fields.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        Some((name, _)) => Err(format!("unknown member {name:?}; known are {}", known.join(", "))),
        None => Ok(()),
    }
}
