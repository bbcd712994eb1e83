//! The directory of an embedded store: who holds it, which format it has, and where its files are.

use crate::file_io::{file_error, remove_if_exists, sync_directory_of};
use crate::{Error, Result};
use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The format that this version reads and writes.
const FORMAT: u32 = 2;
const FORMAT_WORD: &str = "tenure-store";

/// What may lie in a directory that holds no store yet: the lock, and what an interrupted beginning left.
const LEFTOVERS: [&str; 4] = ["lock", "format.new", "table.new", "lost+found"];

/// How long to wait for the lock: a process that is being replaced, or one that it is just starting, may hold it for
/// a moment longer.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);
const LOCK_RETRY: Duration = Duration::from_millis(10);

/// A directory held by this process; letting go of it releases the lock.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    _lock: File,
}

/// Whether a directory holds a store yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Store,
    Nothing,
}

impl Directory {
    /// Makes the directory if need be, takes hold of it and looks at its format.
    pub(super) fn hold(path: &Path) -> Result<(Directory, Content)> {
        fs::create_dir_all(path).map_err(|source| file_error(path, "make the directory", source))?;
        let lock = lock(path)?;
        let directory = Directory { path: path.to_owned(), _lock: lock };
        let content = directory.content()?;
        Ok((directory, content))
    }

    /// Returns the directory itself, where the journal is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the table.
    pub(super) fn table(&self) -> PathBuf {
        self.path.join("table.redb")
    }

    /// Returns the path of the note of what has been acknowledged.
    pub(super) fn watermark(&self) -> PathBuf {
        self.path.join("acknowledged")
    }

    /// Marks the directory as holding a store of this format.
    pub(super) fn mark(&self) -> Result<()> {
        let (path, fresh) = (self.format(), self.path.join("format.new"));
        remove_if_exists(&fresh)?;
        let written = File::create(&fresh).and_then(|mut file| {
            file.write_all(format!("{FORMAT_WORD} {FORMAT}\n").as_bytes())?;
            file.sync_all()
        });
        written.map_err(|source| file_error(&fresh, "write", source))?;
        fs::rename(&fresh, &path).map_err(|source| file_error(&path, "write", source))?;
        sync_directory_of(&path)
    }

    fn format(&self) -> PathBuf {
        self.path.join("format")
    }

    fn content(&self) -> Result<Content> {
        let path = self.format();
        let text = match fs::read(&path) {
            Ok(text) => String::from_utf8_lossy(&text).trim_end().to_owned(),
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return self.without_format(),
            Err(source) => return Err(file_error(&path, "read", source)),
        };
        let format = text.strip_prefix(FORMAT_WORD).and_then(|rest| rest.trim().parse::<u32>().ok());
        let advice = match format {
            Some(FORMAT) => return Ok(Content::Store),
            Some(newer) if newer > FORMAT => "use the newer version that wrote it",
            _ => "point to another directory, or restore a backup into an empty one",
        };
        let found = format.map_or_else(|| format!("{text:?}"), |format| format.to_string());
        Err(Error::UnknownFormat { directory: self.path.clone(), found, supported: FORMAT, advice })
    }

    /// A directory without a format is new only if there is nothing else in it.
    fn without_format(&self) -> Result<Content> {
        let entries = fs::read_dir(&self.path).map_err(|source| file_error(&self.path, "read", source))?;
        for entry in entries {
            let name = entry.map_err(|source| file_error(&self.path, "read", source))?.file_name();
            if !LEFTOVERS.iter().any(|known| name == *known) {
                return Err(Error::UnknownFormat {
                    directory: self.path.clone(),
                    found: format!("none, but contains {}", name.display()),
                    supported: FORMAT,
                    advice: "point to an empty directory or to one that this program made",
                });
            }
        }
        Ok(Content::Nothing)
    }
}

fn lock(directory: &Path) -> Result<File> {
    let path = directory.join("lock");
    let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = file.map_err(|source| file_error(&path, "open", source))?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(LOCK_RETRY),
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let holder = if holder.is_empty() { "another process" } else { holder.trim() };
                return Err(Error::Locked { directory: directory.to_owned(), holder: holder.to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(file_error(&path, "lock", source)),
        }
    }
    // Who holds it is only for the message that the next one gets; a full disk must not keep the store shut.
    let _ = file.set_len(0).and_then(|()| writeln!(file, "process {}", std::process::id()));
    Ok(file)
}
