//! The data files. They are part of the binary. A file is read when something of it is first used, and the rows of a type are compiled
//! when it is; [`Kinds::check`](crate::Kinds::check) compiles all, and a file that does not parse or a row that does not compile is a
//! [`DataError`].

use crate::versions;
use std::sync::OnceLock;
use tenure_meta::ValueExt;
use tenure_profile::KubernetesVersion;
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

/// Returns what the data says, which [`Kinds::check`](crate::Kinds::check) checks.
pub(crate) fn valid<T>(compiled: Result<T, DataError>) -> T {
    compiled.unwrap_or_else(|error| panic!("{error}"))
}

/// A data file as a version of Kubernetes has it, read when it is first used.
pub(crate) struct DataFile {
    name: &'static str,
    text: &'static str,
    version: KubernetesVersion,
    document: OnceLock<Result<Value, DataError>>,
}

impl DataFile {
    pub(crate) const fn new(name: &'static str, text: &'static str, version: KubernetesVersion) -> DataFile {
        DataFile { name, text, version, document: OnceLock::new() }
    }

    /// Returns the file with another text if it has this name.
    #[cfg(test)]
    pub(crate) fn with(&self, name: &str, text: &str) -> DataFile {
        let text = if name == self.name { text.to_owned().leak() } else { self.text };
        DataFile::new(self.name, text, self.version)
    }

    /// Returns the document of the file.
    pub(crate) fn document(&self) -> Result<&Value, DataError> {
        let document = self.document.get_or_init(|| parse(self.name, self.text, self.version));
        document.as_ref().map_err(DataError::clone)
    }
}

/// The data files.
pub(crate) struct Data {
    /// Encoding of values, and defaulting rules.
    pub defaults: DataFile,
    /// Validation by type, and validation of updates by kind.
    pub validation: DataFile,
    /// Columns and cells of tables.
    pub tables: DataFile,
    /// Conversions between versions of a kind.
    pub conversions: DataFile,
    /// How Go names the types of fields, by type.
    pub go_types: DataFile,
}

pub(crate) const RESOURCES: &str = "resources.json";
pub(crate) const DEFAULTS: &str = "defaults.json";
pub(crate) const VALIDATION: &str = "validation.json";
pub(crate) const TABLES: &str = "tables.json";
pub(crate) const CONVERSIONS: &str = "conversions.json";
pub(crate) const GO_TYPES: &str = "go-types.json";

impl Data {
    /// Returns the data files as a version of Kubernetes has them.
    pub(crate) fn at(version: KubernetesVersion) -> &'static Data {
        static DATA: PerVersion<Data> = per_version();
        DATA[version as usize].get_or_init(|| {
            let file = |name, text| DataFile::new(name, text, version);
            Data {
                defaults: file(DEFAULTS, include_str!("../data/defaults.json")),
                validation: file(VALIDATION, include_str!("../data/validation.json")),
                tables: file(TABLES, include_str!("../data/tables.json")),
                conversions: file(CONVERSIONS, include_str!("../data/conversions.json")),
                go_types: file(GO_TYPES, include_str!("../data/go-types.json")),
            }
        })
    }
}

/// Returns groups and resources as a version of Kubernetes has them, one row each.
pub(crate) fn resources(version: KubernetesVersion) -> Result<Value, DataError> {
    parse(RESOURCES, include_str!("../data/resources.json"), version)
}

fn parse(file: &'static str, text: &str, version: KubernetesVersion) -> Result<Value, DataError> {
    let document: Value = text.parse().map_err(|error| DataError::new(file, "the document", error))?;
    versions::at(&document, version).map_err(|reason| DataError::new(file, "the document", reason))
}

/// One value for each version of Kubernetes, made when it is first used.
pub(crate) type PerVersion<T> = [OnceLock<T>; KubernetesVersion::ALL.len()];

/// Returns the values of all versions, none of them made.
pub(crate) const fn per_version<T>() -> PerVersion<T> {
    [const { OnceLock::new() }; KubernetesVersion::ALL.len()]
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
