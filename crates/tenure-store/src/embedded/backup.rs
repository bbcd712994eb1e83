//! Backups: one file with every entry of one revision, checked as a whole and entry by entry. It does not depend on
//! the engine, and holds no history: who watches after a restore starts over.

use super::engine::{damaged, file_error, remove_if_there, sync_directory_of};
use crate::limits::{MAX_KEY, MAX_VALUE};
use crate::{Entry, Listing, Result, Revision};
use bytes::Bytes;
use crc32fast::Hasher;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 16] = b"tenure-backup 1\n";

/// Writes a backup; it appears under its name only when it is complete and durable.
pub(super) fn write(path: &Path, listing: &Listing) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let written = File::create(partial).and_then(|file| write_to(file, listing));
    if let Err(source) = written {
        remove_if_there(partial)?;
        return Err(file_error(partial, "write", source));
    }
    fs::rename(partial, path).map_err(|source| file_error(path, "write", source))?;
    sync_directory_of(path)
}

fn write_to(file: File, listing: &Listing) -> io::Result<()> {
    let mut sink = Checked { inner: BufWriter::new(file), hasher: Hasher::new() };
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
    sink.write_all(&checksum.to_le_bytes())?;
    let file = sink.inner.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()
}

/// Reads a backup back, all of it or none.
pub(super) fn read(path: &Path) -> Result<(Revision, Vec<Entry>)> {
    let file = File::open(path).map_err(|source| file_error(path, "open", source))?;
    let mut source = Checked { inner: BufReader::new(file), hasher: Hasher::new() };
    read_from(&mut source).map_err(|error| damaged(path, error.to_string()))
}

fn read_from(source: &mut Checked<BufReader<File>>) -> io::Result<(Revision, Vec<Entry>)> {
    let mut magic = [0; MAGIC.len()];
    source.read_exact(&mut magic)?;
    if &magic != MAGIC {
        return Err(io::Error::other("not a backup that this version reads"));
    }
    let revision = source.revision()?;
    let count = source.number()?;
    let mut entries = Vec::new();
    for _ in 0..count {
        entries.push(read_entry(source, revision)?);
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
    Ok((revision, entries))
}

fn read_entry(source: &mut Checked<BufReader<File>>, newest: Revision) -> io::Result<Entry> {
    let (created, modified) = (source.revision()?, source.revision()?);
    let (key, value) = (source.number()?, source.number()?);
    // Checked before anything is allocated: a damaged length must not ask for the whole memory.
    if key > MAX_KEY as u64 || value > MAX_VALUE as u64 || created > modified || modified > newest {
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
