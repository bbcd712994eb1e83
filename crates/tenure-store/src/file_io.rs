//! What every file of the store needs: errors that name it, and directories whose names are durable.

use crate::{Error, Result};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn not_durable(reason: &str) -> Error {
    Error::NotDurable { reason: reason.into() }
}

pub(crate) fn damaged(path: &Path, reason: String) -> Error {
    Error::Damaged { path: path.to_owned(), reason }
}

pub(crate) fn file_error(path: &Path, action: &'static str, source: io::Error) -> Error {
    Error::File { path: path.to_owned(), action, source: Arc::new(source) }
}

/// Removes a file that may not exist.
pub(crate) fn remove_if_exists(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(file_error(path, "remove", source)),
        _ => Ok(()),
    }
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(directory: &Path) -> Result<()> {
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|source| file_error(directory, "sync", source))
}

/// Makes the names in a file's directory durable.
pub(crate) fn sync_directory_of(path: &Path) -> Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => sync_directory(Path::new(".")),
    }
}
