//! Files that only their owner can read, whatever the umask, and that appear whole or not at all.
//!
//! The crate exists because every part that keeps tokens, keys, plans or objects on a disk writes such files, and because it is
//! the place that differs between Unix and Windows: where there are no modes, files have the permissions of their folder.
//! Internal: no promises about its API.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::{
    ffi::OsStr,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub use system::{is_private, is_shared, make_private, read_exact_at, sync_directory, write_all_at};

/// Options to open a file; one that is created is private.
pub fn private() -> OpenOptions {
    let mut options = File::options();
    system::create_private(&mut options);
    options
}

/// Creates or empties a file, and makes it private: one that existed may have had another mode.
pub fn create(path: &Path) -> io::Result<File> {
    let file = private().read(true).write(true).create(true).truncate(true).open(path)?;
    system::make_file_private(&file)?;
    Ok(file)
}

/// Creates a file with a content, durably. One that exists is an error, and a link to one, too.
pub fn create_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = private().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Opens a file to append to.
pub fn append(path: &Path) -> io::Result<File> {
    private().append(true).create(true).open(path)
}

/// Replaces a file, or creates it: after a crash it has the content that it had before or the new one.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_with(path, |out| out.write_all(content))
}

/// As [`replace`], for a content that is written in pieces. If that fails, the file stays as it was.
pub fn replace_with(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let draft = with_suffix(path, ".new");
    let written = create(&draft).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&draft, path));
    if replaced.is_err() {
        // The error that is reported is the one that matters.
        let _ = fs::remove_file(&draft);
    }
    replaced
}

/// Creates a private directory, and its parents. One that exists stays as it is.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    system::create_private_directory(&mut builder);
    builder.recursive(true).create(path)
}

/// Returns a path with more at the end of its name.
pub fn with_suffix(path: &Path, suffix: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kubeconfig");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let failed = replace_with(&path, |out| {
            out.write_all(b"three")?;
            Err(io::Error::other("the source ended"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "the source ended");
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let names: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["kubeconfig"], "no draft is left");
    }

    #[test]
    fn a_new_file_replaces_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        create_new(&path, b"first").unwrap();
        assert_eq!(create_new(&path, b"second").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        append(&path).unwrap().write_all(b" and more").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first and more");
    }

    #[test]
    fn places_of_a_file_are_read_and_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = create(&directory.path().join("slots")).unwrap();
        write_all_at(&file, b"late", 8).unwrap();
        write_all_at(&file, b"soon", 0).unwrap();
        let mut read = [0; 4];
        read_exact_at(&file, &mut read, 8).unwrap();
        assert_eq!(&read, b"late");
        assert_eq!(read_exact_at(&file, &mut read, 10).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_what_is_created() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let nested = directory.path().join("state/undo");
        create_directory(&nested).unwrap();
        let (old, path) = (nested.join("old"), nested.join("file"));
        fs::write(&old, "").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(is_private(&nested).unwrap() && !is_private(&old).unwrap());
        fs::copy(&old, with_suffix(&path, ".new")).unwrap();
        replace(&path, b"secret").unwrap();
        assert!(is_private(&path).unwrap(), "a draft that was left behind is made private");
        create(&old).unwrap();
        assert!(is_private(&old).unwrap());
        fs::set_permissions(&nested, fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(is_shared(&nested).unwrap());
        make_private(&nested).unwrap();
        assert!(is_private(&nested).unwrap() && !is_shared(&nested).unwrap());
        assert_eq!(fs::metadata(&nested).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
