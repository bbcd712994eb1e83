//! Objects from YAML and JSON files.

use crate::TestError;
use std::path::{Path, PathBuf};
use tenure_value::{Limits, Value, yaml};

/// The extensions of files with objects.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];
/// The limits of a file, which may contain many objects.
const LIMITS: Limits = Limits { bytes: 256 << 20, depth: Limits::DEPTH, nodes: 20_000_000 };

/// An object and where it was read.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub place: String,
    pub object: Value,
}

impl Manifest {
    /// Returns a text of the object.
    pub fn text(&self, path: &[&str]) -> &str {
        self.object.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns an error about the object.
    pub fn error(&self, problem: impl Into<String>) -> TestError {
        TestError::Manifest { place: self.place.clone(), problem: problem.into() }
    }
}

/// Reads the objects of a file, or of all files in a directory and those below it, by name.
pub(crate) fn read(path: &Path) -> Result<Vec<Manifest>, TestError> {
    let mut files = Vec::new();
    match path.is_dir() {
        true => list(path, &mut files)?,
        false => files.push(path.to_path_buf()),
    }
    let mut manifests = Vec::new();
    for file in files {
        let text = std::fs::read(&file).map_err(|source| TestError::Read { path: file.clone(), source })?;
        let place = file.display().to_string();
        let documents = yaml::parse_all(&text, &LIMITS)
            .map_err(|error| TestError::Manifest { place: place.clone(), problem: error.to_string() })?;
        for document in documents {
            manifests.extend(expand(place.clone(), document));
        }
    }
    Ok(manifests)
}

/// Reads the objects of a file, or of all files in a directory and those below it, by name.
pub fn read_manifests(path: &Path) -> Result<Vec<Value>, TestError> {
    Ok(read(path)?.into_iter().map(|manifest| manifest.object).collect())
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), TestError> {
    let failed = |source| TestError::Read { path: directory.into(), source };
    let entries = std::fs::read_dir(directory).map_err(failed)?;
    let mut entries =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|end| EXTENSIONS.iter().any(|known| end == *known)) {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns the objects of a document: none for an empty one, the items of a list, or the object itself.
fn expand(place: String, document: Value) -> Vec<Manifest> {
    if document.is_null() {
        return Vec::new();
    }
    let is_list = document.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    match document.get("items").and_then(Value::as_array).filter(|_| is_list) {
        Some(items) => {
            items.iter().map(|object| Manifest { place: place.clone(), object: object.clone() }).collect()
        }
        None => vec![Manifest { place, object: document }],
    }
}

/// Puts what other objects need before them; otherwise the order stays.
pub(crate) fn sort(manifests: &mut [Manifest]) {
    manifests.sort_by_key(|manifest| match manifest.text(&["kind"]) {
        "Namespace" => 0,
        "CustomResourceDefinition" => 1,
        _ => 2,
    });
}

/// Returns a document of `serde_json`.
pub(crate) fn from_json(value: &serde_json::Value) -> Value {
    // What one library prints, the other one reads.
    value.to_string().parse().unwrap_or_default()
}

/// Returns a document for `serde_json`.
pub(crate) fn to_json(value: &Value) -> serde_json::Value {
    serde_json::from_str(&value.to_string()).unwrap_or_default()
}
