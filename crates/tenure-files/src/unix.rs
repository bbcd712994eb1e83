//! Modes, and places of files, on Unix.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

const FILE: u32 = 0o600;
const DIRECTORY: u32 = 0o700;
/// What others than the owner may do.
const OTHERS: u32 = 0o077;
/// Set for directories that everyone writes to, such as `/tmp`.
const STICKY: u32 = 0o1000;

pub(crate) fn create_private(options: &mut OpenOptions) {
    options.mode(FILE);
}

pub(crate) fn create_private_directory(builder: &mut DirBuilder) {
    builder.mode(DIRECTORY);
}

pub(crate) fn make_file_private(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(FILE))
}

/// Tells whether only the owner may use a file or directory.
pub fn is_private(path: &Path) -> io::Result<bool> {
    Ok(fs::metadata(path)?.permissions().mode() & OTHERS == 0)
}

/// Tells whether a directory is meant for everyone, such as `/tmp`.
pub fn is_shared(path: &Path) -> io::Result<bool> {
    Ok(fs::metadata(path)?.permissions().mode() & STICKY != 0)
}

/// Takes the permissions of others from a file or directory, and restores those of its owner.
pub fn make_private(path: &Path) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    let mode = if metadata.is_dir() { DIRECTORY } else { FILE };
    if metadata.permissions().mode() & 0o7777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Makes the names in a directory durable.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Writes bytes at a place of a file.
pub fn write_all_at(file: &File, bytes: &[u8], place: u64) -> io::Result<()> {
    file.write_all_at(bytes, place)
}

/// Reads as many bytes as there are places for, from a place of a file.
pub fn read_exact_at(file: &File, bytes: &mut [u8], place: u64) -> io::Result<()> {
    file.read_exact_at(bytes, place)
}
