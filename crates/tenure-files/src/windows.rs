//! Places of files on Windows. There are no modes: a file has the permissions of its folder.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::windows::fs::FileExt,
    path::Path,
};

pub(crate) fn create_private(_options: &mut OpenOptions) {}

pub(crate) fn create_private_directory(_builder: &mut DirBuilder) {}

pub(crate) fn make_file_private(_file: &File) -> io::Result<()> {
    Ok(())
}

/// Tells whether a path exists: who may use it is up to its folder.
pub fn is_private(path: &Path) -> io::Result<bool> {
    path.metadata().map(|_| true)
}

/// Tells whether a directory is meant for everyone: none says so.
pub fn is_shared(path: &Path) -> io::Result<bool> {
    path.metadata().map(|_| false)
}

/// Leaves the permissions to the folder.
pub fn make_private(path: &Path) -> io::Result<()> {
    path.metadata().map(drop)
}

/// The file system keeps a journal of names: there is nothing to do.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    path.metadata().map(drop)
}

/// Writes bytes at a place of a file.
pub fn write_all_at(file: &File, mut bytes: &[u8], mut place: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, place) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                bytes = bytes.get(count..).unwrap_or_default();
                place += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads as many bytes as there are places for, from a place of a file.
pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut place: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_read(bytes, place) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                bytes = bytes.get_mut(count..).unwrap_or_default();
                place += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
