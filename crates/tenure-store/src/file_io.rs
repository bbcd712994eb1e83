//! Files and directories of the store: private modes regardless of the umask, errors that name the path, durable names.

use crate::{Error, Result};
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A write that failed, with the file that it was for.
pub(crate) fn not_durable(path: &Path, action: &str, error: &io::Error) -> Error {
    Error::NotDurable { reason: format!("{}: cannot {action}: {error}", path.display()).into() }
}

/// Options that open a file for reading and writing, and create it as private.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = tenure_files::private();
    options.read(true).write(true);
    options
}

pub(crate) fn damaged(path: &Path, reason: impl Into<String>) -> Error {
    Error::Damaged { path: path.to_owned(), reason: reason.into() }
}

pub(crate) fn file_error(path: &Path, action: &'static str, source: io::Error) -> Error {
    Error::File { path: path.to_owned(), action, source: Arc::new(source) }
}

/// Creates a private directory, with its parents, or makes an existing one private.
pub(crate) fn create_private_directory(path: &Path) -> Result<()> {
    tenure_files::create_directory(path)
        .map_err(|source| file_error(path, "create the directory", source))?;
    make_private(path)
}

/// Makes the files of a directory private that were created otherwise.
pub(crate) fn make_files_private(directory: &Path) -> Result<()> {
    let unreadable = |source| file_error(directory, "read", source);
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.file_type().map_err(unreadable)?.is_file() {
            make_private(&entry.path())?;
        }
    }
    Ok(())
}

fn make_private(path: &Path) -> Result<()> {
    tenure_files::make_private(path).map_err(|source| file_error(path, "make private", source))
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
    tenure_files::sync_directory(directory).map_err(|source| file_error(directory, "sync", source))
}

/// Makes the names in a file's directory durable.
pub(crate) fn sync_directory_of(path: &Path) -> Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
        _ => sync_directory(Path::new(".")),
    }
}
