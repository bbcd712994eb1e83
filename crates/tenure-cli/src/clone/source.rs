//! Objects from files: the output of `kubectl get -o yaml` and `-o json`, directories of such files as support bundles and must-gather
//! write them, snapshots of the etcd of a Kubernetes cluster, and backups of another Tenure.

use super::{CloneDirectory, etcd_snapshot};
use crate::{Error, document};
use std::{
    collections::HashMap,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};
use tenure_catalog::object::{OBJECTS, Stored};
use tenure_store::{Backup, Encryption};
use tenure_value::Value;

/// How the backup of a Tenure begins.
const BACKUP: &[u8] = b"tenure-backup ";

/// How many bytes tell what a file is.
const BEGINNING: u64 = 64;

/// The extensions of files with objects.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// The objects of a source, and what was left out of it.
#[derive(Default)]
pub struct Objects {
    /// The objects, each once.
    pub objects: Vec<Value>,
    /// What was left out, and why.
    pub left_out: Vec<String>,
    /// Where each object is.
    known: HashMap<[String; 4], usize>,
}

/// Reads the objects of a file, a directory or a clone.
pub fn read(path: &Path) -> Result<Objects, Error> {
    if CloneDirectory::is_at(path) {
        let clone = CloneDirectory::read(path)?;
        return Ok(Objects {
            objects: clone.read_objects()?,
            left_out: clone.left_out().to_vec(),
            ..Objects::default()
        });
    }
    if !path.is_dir() {
        let start = beginning(path)?;
        if start.starts_with(BACKUP) {
            return backup(path);
        }
        if etcd_snapshot::is_snapshot(&start) {
            let file = std::fs::read(path).map_err(|source| Error::Read { path: path.into(), source })?;
            let found = etcd_snapshot::objects(&file);
            let (objects, left_out) =
                found.map_err(|problem| Error::usage(format!("{}: {problem}", path.display())))?;
            return Ok(Objects { objects, left_out, ..Objects::default() });
        }
        let documents = document::read(path)?.into_iter().map(|document| document.value);
        let mut found = Objects::default();
        found.add(documents);
        if found.objects.is_empty() {
            let problem = "it has no objects; a dump is what `kubectl get -o yaml` or `-o json` prints, with managers if it was run \
                           with --show-managed-fields";
            return Err(Error::usage(format!("{}: {problem}", path.display())));
        }
        return Ok(found);
    }
    let mut files = Vec::new();
    list(path, &mut files)?;
    let mut found = Objects::default();
    for file in files {
        match document::read(&file) {
            Ok(documents) => found.add(documents.into_iter().map(|document| document.value)),
            // A bundle has many files; one that cannot be read is named.
            Err(error) => found.left_out.push(error.to_string()),
        }
    }
    match found.objects.is_empty() {
        true => Err(Error::usage(format!("{}: no file in it has objects", path.display()))),
        false => Ok(found),
    }
}

impl Objects {
    /// Adds the documents that are objects; of several with the same name the newest stays.
    fn add(&mut self, documents: impl Iterator<Item = Value>) {
        for object in documents.filter(is_object) {
            match self.known.get(&identity(&object)).and_then(|at| self.objects.get_mut(*at)) {
                Some(found) if version(found) <= version(&object) => *found = object,
                Some(_) => {}
                None => {
                    self.known.insert(identity(&object), self.objects.len());
                    self.objects.push(object);
                }
            }
        }
    }
}

fn text<'v>(object: &'v Value, path: &[&str]) -> &'v str {
    object.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default()
}

fn is_object(document: &Value) -> bool {
    !text(document, &["apiVersion"]).is_empty()
        && !text(document, &["kind"]).is_empty()
        && !text(document, &["metadata", "name"]).is_empty()
}

fn identity(object: &Value) -> [String; 4] {
    let group = text(object, &["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
    [
        group,
        text(object, &["kind"]),
        text(object, &["metadata", "namespace"]),
        text(object, &["metadata", "name"]),
    ]
    .map(str::to_owned)
}

fn version(object: &Value) -> u64 {
    text(object, &["metadata", "resourceVersion"]).parse().unwrap_or_default()
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |source| Error::Read { path: directory.into(), source };
    let entries = std::fs::read_dir(directory).map_err(failed)?;
    let mut entries =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    entries.sort();
    for path in entries {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|end| EXTENSIONS.iter().any(|known| end == *known)) {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns the first bytes of a file.
fn beginning(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::Read { path: path.into(), source };
    let mut start = Vec::new();
    File::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut start)).map_err(failed)?;
    Ok(start)
}

fn backup(path: &Path) -> Result<Objects, Error> {
    let wrong = |problem: &dyn std::fmt::Display| Error::usage(format!("{}: {problem}", path.display()));
    let backup = Backup::open(path, &Encryption::default()).map_err(|error| wrong(&error))?;
    let mut found = Objects::default();
    for entry in backup.entries.iter().filter(|entry| entry.key.starts_with(OBJECTS.as_bytes())) {
        let stored = Stored::read(entry).map_err(|error| wrong(&error))?;
        found.objects.push(stored.shown());
    }
    Ok(found)
}
