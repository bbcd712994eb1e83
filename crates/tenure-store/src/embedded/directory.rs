//! The directory of an embedded store: its lock, its format, its identity and the paths of its files.

use crate::file_io::{
    create_private_directory, damaged, file_error, make_files_private, private_file, remove_if_exists,
    sync_directory_of,
};
use crate::{Error, Result};
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The format that this version writes.
const FORMAT: u32 = 4;
/// The format that this version reads and replaces: its table sorts the ledger by key.
const FORMER_FORMAT: u32 = 3;
const FORMAT_WORD: &str = "tenure-store";

/// Files that a directory without a store may contain: the lock, and remains of an interrupted creation.
const LEFTOVERS: [&str; 4] = ["lock", "format.new", "table.new", "lost+found"];

/// How long to wait for the lock: a process that is being replaced may hold it for a moment longer.
const LOCK_TIMEOUT: Duration = Duration::from_millis(500);
const LOCK_RETRY: Duration = Duration::from_millis(10);

/// The identity of a store, in each of its files: a file of another store is never taken for one of this.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreId(pub(super) [u8; 16]);

impl StoreId {
    fn random() -> Result<StoreId> {
        let mut bytes = [0; 16];
        let filled = SystemRandom::new().fill(&mut bytes);
        filled.map_err(|_| Error::Invalid("the system provides no random numbers".to_owned()))?;
        Ok(StoreId(bytes))
    }

    fn parse(text: &str) -> Option<StoreId> {
        let mut bytes = [0; 16];
        if text.len() != 32 || !text.is_ascii() {
            return None;
        }
        for (place, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
        }
        Some(StoreId(bytes))
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreId({self})")
    }
}

/// A directory that this process holds; dropping it releases the lock.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    _lock: File,
}

/// What a directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A complete store.
    Store(StoreId),
    /// No store, or one whose creation was interrupted before anything was written to it.
    Nothing,
}

/// Whether all files of a store have been created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Creation {
    UnderWay,
    Complete,
}

impl Creation {
    fn word(self) -> &'static str {
        match self {
            Creation::UnderWay => "creating",
            Creation::Complete => "ready",
        }
    }
}

impl Directory {
    /// Creates the directory if necessary, locks it and determines its content.
    pub(super) fn lock(path: &Path) -> Result<(Directory, Content)> {
        create_private_directory(path)?;
        let lock = lock(path)?;
        let directory = Directory { path: path.to_owned(), _lock: lock };
        let content = directory.content()?;
        if content != Content::Nothing {
            make_files_private(path)?;
        }
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

    /// Returns the path of the watermark.
    pub(super) fn watermark(&self) -> PathBuf {
        self.path.join("acknowledged")
    }

    /// Creates a store: `create` writes its files. If that is interrupted, the directory still counts as empty.
    pub(super) fn create(&self, create: impl FnOnce(StoreId) -> Result<()>) -> Result<StoreId> {
        let id = StoreId::random()?;
        self.write_format(id, Creation::UnderWay)?;
        create(id)?;
        self.write_format(id, Creation::Complete)?;
        Ok(id)
    }

    fn write_format(&self, id: StoreId, creation: Creation) -> Result<()> {
        let (path, fresh) = (self.format(), self.path.join("format.new"));
        remove_if_exists(&fresh)?;
        let written = tenure_files::create(&fresh).and_then(|mut file| {
            file.write_all(format!("{FORMAT_WORD} {FORMAT} {id} {}\n", creation.word()).as_bytes())?;
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
        let mut words = text.split(' ');
        let format = words.next().filter(|word| *word == FORMAT_WORD).and(words.next());
        let format = format.and_then(|number| number.parse::<u32>().ok());
        if let Some(format @ (FORMER_FORMAT | FORMAT)) = format {
            let id = words.next().and_then(StoreId::parse);
            return match (id, words.next(), words.next()) {
                (Some(_), Some("creating"), None) => self.interrupted_creation(),
                (Some(id), Some("ready"), None) => {
                    if format == FORMER_FORMAT {
                        // A full disk must not prevent opening the store. The table is only replaced once it has space.
                        let _ = self.write_format(id, Creation::Complete);
                    }
                    Ok(Content::Store(id))
                }
                _ => Err(damaged(&path, format!("unexpected content {text:?}"))),
            };
        }
        let advice = match format {
            Some(newer) if newer > FORMAT => "use the newer version that wrote it",
            Some(_) => {
                "export it with the version that wrote it (`tenure store export`) and import the file with this one"
            }
            None => "choose another directory, or restore a backup into an empty one",
        };
        let found = format.map_or_else(|| format!("{text:?}"), |format| format.to_string());
        Err(Error::UnknownFormat { directory: self.path.clone(), found, supported: FORMAT, advice })
    }

    /// Creates again what was interrupted, unless that was a repair, whose input must not be forgotten.
    fn interrupted_creation(&self) -> Result<Content> {
        let aside = self.path.join("before-repair-1");
        if aside.exists() {
            let reason = format!("a repair was interrupted; the files before it are in {}", aside.display());
            return Err(damaged(&self.path, reason));
        }
        Ok(Content::Nothing)
    }

    /// A directory without a format file is new only if it contains nothing else.
    fn without_format(&self) -> Result<Content> {
        let entries = fs::read_dir(&self.path).map_err(|source| file_error(&self.path, "read", source))?;
        for entry in entries {
            let name = entry.map_err(|source| file_error(&self.path, "read", source))?.file_name();
            if !LEFTOVERS.iter().any(|known| name == *known) {
                return Err(Error::UnknownFormat {
                    directory: self.path.clone(),
                    found: format!("none, but contains {}", name.display()),
                    supported: FORMAT,
                    advice: "choose an empty directory, or one that this program created",
                });
            }
        }
        Ok(Content::Nothing)
    }
}

fn lock(directory: &Path) -> Result<File> {
    let path = directory.join("lock");
    let file = private_file().create(true).truncate(false).open(&path);
    let mut file = file.map_err(|source| file_error(&path, "open", source))?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
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
    // The holder is only named in the message to the next process; a full disk must not prevent opening the store.
    let _ = file.set_len(0).and_then(|()| writeln!(file, "process {}", std::process::id()));
    Ok(file)
}
