//! Backups: one file with every entry and ledger record of one revision, checked as a whole and entry by entry. It does not
//! depend on the kind of store and holds no history of values: watches start over after a restore.

use crate::encryption::{Protection, Session};
use crate::file_io::{damaged, file_error, remove_if_exists, sync_directory_of};
use crate::ledger::{LedgerRecord, LedgerRequest};
use crate::limits::{MAX_KEY, MAX_VALUE};
use crate::{Encryption, Entry, Error, ListRequest, Result, Revision, Store};
use bytes::Bytes;
use crc32fast::Hasher;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

const MAGIC: &[u8; 16] = b"tenure-backup 2\n";
/// The format before encryption and the ledger, which is still read.
const OLD_MAGIC: &[u8; 16] = b"tenure-backup 1\n";

/// Far above the revision of any store.
const NEWEST: Revision = Revision::from_number(u64::MAX / 2);
/// The bit of the first number of an entry that marks its value as encrypted.
const SEALED: u64 = 1 << 63;
/// How much longer than its plaintext an encrypted value may be.
const MAX_SEALED: u64 = MAX_VALUE as u64 + 4096;
/// How many ledger records are read at once.
const LEDGER_PAGE: usize = 4096;

/// All entries and ledger records of one revision of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backup {
    /// The revision.
    pub revision: Revision,
    /// The entries in the order of their keys.
    pub entries: Vec<Entry>,
    /// The ledger records, newest first.
    pub ledger: Vec<LedgerRecord>,
}

impl Backup {
    /// Reads the content of a store.
    pub async fn of(store: &dyn Store) -> Result<Backup> {
        let listing = store.list(ListRequest::default()).await?;
        let mut ledger = Vec::new();
        let mut request = LedgerRequest::prefix("", LEDGER_PAGE);
        loop {
            let page = store.ledger(request.clone()).await?;
            ledger.extend(page.records.into_iter().filter(|record| record.revision <= listing.revision));
            match page.next {
                Some(next) => request = request.before(next),
                None => return Ok(Backup { revision: listing.revision, entries: listing.entries, ledger }),
            }
        }
    }

    /// Writes the backup to a file, which appears under its name when it is complete and durable. Only its owner may read it.
    pub fn write(&self, path: impl AsRef<Path>, encryption: &Encryption) -> Result<()> {
        let path = path.as_ref();
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = Path::new(&partial);
        let written = tenure_files::create(partial).and_then(|file| {
            let mut sink = BufWriter::new(file);
            self.write_to(&mut sink, encryption)?;
            sink.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
        });
        if let Err(source) = written {
            remove_if_exists(partial)?;
            return Err(file_error(partial, "write", source));
        }
        fs::rename(partial, path).map_err(|source| file_error(path, "write", source))?;
        sync_directory_of(path)
    }

    /// Writes the bytes of the backup. Values are encrypted as in the store.
    pub fn write_to(&self, sink: impl Write, encryption: &Encryption) -> io::Result<()> {
        let session = encryption.session();
        let mut sink = Checked { inner: sink, hasher: Hasher::new() };
        sink.write_all(MAGIC)?;
        sink.numbers(&[self.revision.get(), self.entries.len() as u64])?;
        for entry in &self.entries {
            let numbers = [entry.created.get(), entry.modified.get()];
            sink.item(numbers, &entry.key, &entry.value.bytes(), &session)?;
        }
        sink.numbers(&[self.ledger.len() as u64])?;
        for record in &self.ledger {
            let numbers = [record.revision.get(), record.written_at];
            sink.item(numbers, &record.key, &record.record, &session)?;
        }
        let checksum = sink.hasher.clone().finalize();
        sink.write_all(&checksum.to_le_bytes())
    }

    /// Reads and checks a backup completely. The keys of the encryption have to include those that it was written with.
    pub fn open(path: impl AsRef<Path>, encryption: &Encryption) -> Result<Backup> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|source| file_error(path, "open", source))?;
        match Backup::parse(BufReader::new(file), &encryption.session()) {
            Ok(backup) => Ok(backup),
            Err(ParseError::Io(error)) => Err(damaged(path, error.to_string())),
            Err(ParseError::Store(error)) => Err(error),
        }
    }

    /// Reads and checks a backup from anywhere.
    pub fn read(source: impl Read, encryption: &Encryption) -> io::Result<Backup> {
        Backup::parse(source, &encryption.session()).map_err(|error| match error {
            ParseError::Io(error) => error,
            ParseError::Store(error) => io::Error::other(error),
        })
    }

    fn parse(source: impl Read, session: &Session) -> Result<Backup, ParseError> {
        let mut source = Checked { inner: source, hasher: Hasher::new() };
        let mut magic = [0; MAGIC.len()];
        source.read_exact(&mut magic)?;
        if &magic != MAGIC && &magic != OLD_MAGIC {
            return Err(other("not a backup that this version reads"));
        }
        let revision = Revision::from_number(source.number()?);
        if revision > NEWEST {
            return Err(other("impossible revision"));
        }
        let mut entries: Vec<Entry> = Vec::new();
        for _ in 0..source.number()? {
            let ([created, modified], key, value) = source.parse_item(session)?;
            let (created, modified) = (Revision::from_number(created), Revision::from_number(modified));
            if created > modified || modified > revision {
                return Err(other("impossible revisions of an entry"));
            }
            if entries.last().is_some_and(|before| before.key >= key) {
                return Err(other("entries out of order"));
            }
            entries.push(Entry { key, value: value.into(), created, modified });
        }
        let count = if &magic == MAGIC { source.number()? } else { 0 };
        let mut ledger: Vec<LedgerRecord> = Vec::new();
        for _ in 0..count {
            let ([number, written_at], key, record) = source.parse_item(session)?;
            let one = LedgerRecord { key, revision: Revision::from_number(number), written_at, record };
            let place = |record: &LedgerRecord| (record.revision, record.key.clone());
            if one.revision > revision || ledger.last().is_some_and(|newer| place(newer) <= place(&one)) {
                return Err(other("ledger records out of order"));
            }
            ledger.push(one);
        }
        let expected = source.hasher.clone().finalize();
        let mut checksum = [0; 4];
        source.read_exact(&mut checksum)?;
        if u32::from_le_bytes(checksum) != expected {
            return Err(other("checksum mismatch"));
        }
        if source.inner.read(&mut [0])? > 0 {
            return Err(other("trailing bytes"));
        }
        Ok(Backup { revision, entries, ledger })
    }
}

/// Why a backup cannot be read.
enum ParseError {
    Io(io::Error),
    Store(Error),
}

impl From<io::Error> for ParseError {
    fn from(error: io::Error) -> ParseError {
        ParseError::Io(error)
    }
}

fn other(reason: &'static str) -> ParseError {
    ParseError::Io(io::Error::other(reason))
}

/// A reader or writer that computes a checksum of all bytes.
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

impl<T: Write> Checked<T> {
    fn numbers(&mut self, numbers: &[u64]) -> io::Result<()> {
        numbers.iter().try_for_each(|number| self.write_all(&number.to_le_bytes()))
    }

    fn item(
        &mut self,
        [first, second]: [u64; 2],
        key: &[u8],
        value: &[u8],
        session: &Session,
    ) -> io::Result<()> {
        let sealed = session.seal(key, value).map_err(io::Error::other)?;
        let flag = if sealed.is_some() { SEALED } else { 0 };
        let value = sealed.as_deref().unwrap_or(value);
        self.numbers(&[first & !SEALED | flag, second, key.len() as u64, value.len() as u64])?;
        self.write_all(key)?;
        self.write_all(value)
    }
}

impl<T: Read> Checked<T> {
    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.inner.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other("truncated"),
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

    fn bytes(&mut self, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads two numbers, a key and a value.
    fn parse_item(&mut self, session: &Session) -> Result<([u64; 2], Bytes, Bytes), ParseError> {
        let numbers = [self.number()?, self.number()?];
        let protection = if numbers[0] & SEALED == 0 { Protection::Plaintext } else { Protection::Sealed };
        let (key, value) = (self.number()?, self.number()?);
        let most = if protection == Protection::Sealed { MAX_SEALED } else { MAX_VALUE as u64 };
        // Checked before anything is allocated: a damaged length must not exhaust the memory.
        if !(1..=MAX_KEY as u64).contains(&key) || value > most {
            return Err(other("impossible length of a key or value"));
        }
        let (key, value) = (self.bytes(key)?, self.bytes(value)?);
        // A backup is restored by someone who chose to trust it: plaintext needs no identity provider.
        let value = match protection {
            Protection::Plaintext => value.into(),
            Protection::Sealed => session.open(&key, &value).map_err(ParseError::Store)?,
        };
        Ok(([numbers[0] & !SEALED, numbers[1]], key.into(), value))
    }
}
