//! Backups: one file with every entry of one revision, checked as a whole and entry by entry. It does not depend on
//! the engine, and holds no history: who watches after a restore starts over.

use crate::file_io::{damaged, file_error, remove_if_exists, sync_directory_of};
use crate::limits::{MAX_KEY, MAX_VALUE};
use crate::{Entry, Listing, Result, Revision};
use bytes::Bytes;
use crc32fast::Hasher;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 16] = b"tenure-backup 1\n";

/// Far above what any store reaches, with room for all that follow.
const NEWEST: Revision = Revision::from_number(u64::MAX / 2);

/// Writes a backup; it appears under its name only when it is complete and durable.
fn write(path: &Path, listing: &Listing) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let written = File::create(partial).and_then(|file| {
        let mut sink = BufWriter::new(file);
        write_to(&mut sink, listing)?;
        sink.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    });
    if let Err(source) = written {
        remove_if_exists(partial)?;
        return Err(file_error(partial, "write", source));
    }
    fs::rename(partial, path).map_err(|source| file_error(path, "write", source))?;
    sync_directory_of(path)
}

/// Writes the bytes of a backup.
pub(crate) fn write_to(sink: impl Write, listing: &Listing) -> io::Result<()> {
    let mut sink = Checked { inner: sink, hasher: Hasher::new() };
    sink.write_all(MAGIC)?;
    sink.write_all(&listing.revision.get().to_le_bytes())?;
    sink.write_all(&(listing.entries.len() as u64).to_le_bytes())?;
    for entry in &listing.entries {
        sink.write_all(&entry.created.get().to_le_bytes())?;
        sink.write_all(&entry.modified.get().to_le_bytes())?;
        sink.write_all(&(entry.key.len() as u64).to_le_bytes())?;
        sink.write_all(&(entry.value.len() as u64).to_le_bytes())?;
        sink.write_all(&entry.key)?;
        sink.write_all(&entry.value)?;
    }
    let checksum = sink.hasher.clone().finalize();
    sink.write_all(&checksum.to_le_bytes())
}

/// A backup as read back, to look into it or to restore it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backup {
    /// The revision it was made at.
    pub revision: Revision,
    /// Every entry of that revision, in the order of the keys.
    pub entries: Vec<Entry>,
}

impl Backup {
    /// Writes all entries of a listing of everything to a file, which appears under its name when it is complete and
    /// durable.
    pub fn write(path: impl AsRef<Path>, listing: &Listing) -> Result<()> {
        write(path.as_ref(), listing)
    }

    /// Reads and checks a backup, all of it or none.
    pub fn open(path: impl AsRef<Path>) -> Result<Backup> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|source| file_error(path, "open", source))?;
        Backup::read(BufReader::new(file)).map_err(|error| damaged(path, error.to_string()))
    }

    /// Reads and checks a backup from anywhere.
    pub fn read(source: impl Read) -> io::Result<Backup> {
        let mut source = Checked { inner: source, hasher: Hasher::new() };
        let mut magic = [0; MAGIC.len()];
        source.read_exact(&mut magic)?;
        if &magic != MAGIC {
            return Err(io::Error::other("not a backup that this version reads"));
        }
        let revision = source.revision()?;
        let count = source.number()?;
        if revision > NEWEST {
            return Err(io::Error::other("a revision that no store reaches"));
        }
        let mut entries: Vec<Entry> = Vec::new();
        for _ in 0..count {
            let entry = read_entry(&mut source, revision)?;
            if entries.last().is_some_and(|before| before.key >= entry.key) {
                return Err(io::Error::other("entries out of order"));
            }
            entries.push(entry);
        }
        let expected = source.hasher.clone().finalize();
        let mut checksum = [0; 4];
        source.read_exact(&mut checksum)?;
        if u32::from_le_bytes(checksum) != expected {
            return Err(io::Error::other("its checksum does not match its content"));
        }
        if source.inner.read(&mut [0])? > 0 {
            return Err(io::Error::other("it goes on after its end"));
        }
        Ok(Backup { revision, entries })
    }
}

fn read_entry(source: &mut Checked<impl Read>, newest: Revision) -> io::Result<Entry> {
    let (created, modified) = (source.revision()?, source.revision()?);
    let (key, value) = (source.number()?, source.number()?);
    // Checked before anything is allocated: a damaged length must not ask for the whole memory.
    let lengths = (1..=MAX_KEY as u64).contains(&key) && value <= MAX_VALUE as u64;
    if !lengths || created > modified || modified > newest {
        return Err(io::Error::other("an entry that no store can hold"));
    }
    Ok(Entry { key: source.bytes(key)?, value: source.bytes(value)?, created, modified })
}

/// A reader or writer that keeps a checksum of what passed.
struct Checked<T> {
    inner: T,
    hasher: Hasher,
}

impl<T: Write> Write for Checked<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Checked<T> {
    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.inner.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other("it ends too early"),
            _ => error,
        })?;
        self.hasher.update(bytes);
        Ok(())
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn revision(&mut self) -> io::Result<Revision> {
        Ok(Revision::from_number(self.number()?))
    }

    fn bytes(&mut self, length: u64) -> io::Result<Bytes> {
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}
