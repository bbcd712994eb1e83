//! Files and directories of the store: private modes regardless of the umask, errors that name the path, durable names.

use crate::{Error, Result};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

/// Only the owner may read and write what the store keeps.
const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIRECTORY: u32 = 0o700;

/// A write that failed, with the file that it was for.
pub(crate) fn not_durable(path: &Path, action: &str, error: &io::Error) -> Error {
    Error::NotDurable { reason: format!("{}: cannot {action}: {error}", path.display()).into() }
}

pub(crate) fn damaged(path: &Path, reason: impl Into<String>) -> Error {
    Error::Damaged { path: path.to_owned(), reason: reason.into() }
}

pub(crate) fn file_error(path: &Path, action: &'static str, source: io::Error) -> Error {
    Error::File { path: path.to_owned(), action, source: Arc::new(source) }
}

/// Options that open a file for reading and writing, and create it as private.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = File::options();
    options.read(true).write(true).mode(PRIVATE_FILE);
    options
}

/// Creates or empties a private file.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let file = private_file().create(true).truncate(true).open(path)?;
    // The umask may have taken more than the mode grants, and a file that existed keeps its mode.
    file.set_permissions(Permissions::from_mode(PRIVATE_FILE))?;
    Ok(file)
}

/// Creates a private directory, with its parents, or makes an existing one private.
pub(crate) fn create_private_directory(path: &Path) -> Result<()> {
    let created = DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(path);
    created.map_err(|source| file_error(path, "create the directory", source))?;
    set_mode(path, PRIVATE_DIRECTORY)
}

/// Makes the files of a directory private that were created otherwise.
pub(crate) fn make_files_private(directory: &Path) -> Result<()> {
    let unreadable = |source| file_error(directory, "read", source);
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.file_type().map_err(unreadable)?.is_file() {
            set_mode(&entry.path(), PRIVATE_FILE)?;
        }
    }
    Ok(())
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    let metadata = fs::metadata(path).map_err(|source| file_error(path, "read", source))?;
    if metadata.permissions().mode() & 0o7777 == mode {
        return Ok(());
    }
    let set = fs::set_permissions(path, Permissions::from_mode(mode));
    set.map_err(|source| file_error(path, "make private", source))
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
