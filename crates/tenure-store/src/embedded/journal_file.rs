//! The files of the journal: their names, their header and their batches. A file is known by its generation and its number
//! within it. A new generation begins when the journal is rewritten after a failed sync; the table says which one counts.
//! Within a generation numbers have no gaps, so that a missing file is noticed.

use super::batch::{self, Found, ReadBatch, ReadError};
use super::directory::StoreId;
use crate::Result;
use crate::file_io::{file_error, remove_if_exists};
use std::fs;
use std::path::{Path, PathBuf};

const NAME: &str = "journal-";
const MAGIC: &[u8; 16] = b"tenure-journal 3";
const HEADER: usize = 16 + 16 + 8 + 4;
const GENERATION_BITS: u32 = 32;

/// Returns the number of the first file of the generation after a file.
pub(super) fn next_generation(number: u64) -> u64 {
    (((number >> GENERATION_BITS) + 1) << GENERATION_BITS) + 1
}

/// Tells whether two files are of one generation.
pub(super) fn same_generation(one: u64, other: u64) -> bool {
    one >> GENERATION_BITS == other >> GENERATION_BITS
}

/// Returns the path of a file.
pub(super) fn path(directory: &Path, number: u64) -> PathBuf {
    let (generation, number) = (number >> GENERATION_BITS, number & ((1 << GENERATION_BITS) - 1));
    directory.join(match generation {
        0 => format!("{NAME}{number}"),
        _ => format!("{NAME}{generation}.{number}"),
    })
}

fn parse(name: &str) -> Option<u64> {
    let rest = name.strip_prefix(NAME)?;
    let (generation, number) = rest.split_once('.').unwrap_or(("0", rest));
    let (generation, number): (u32, u32) = (generation.parse().ok()?, number.parse().ok()?);
    let number = u64::from(generation) << GENERATION_BITS | u64::from(number);
    // Only the one way to write a name counts: `journal-01` is not a file of the journal.
    (path(Path::new(""), number).as_os_str() == name).then_some(number)
}

/// Returns the numbers of all files, in ascending order.
pub(super) fn numbers(directory: &Path) -> Result<Vec<u64>> {
    let unreadable = |source| file_error(directory, "read", source);
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        numbers.extend(name.to_str().and_then(parse));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Removes the files that are not wanted.
pub(super) fn remove(directory: &Path, unwanted: impl Fn(u64) -> bool) -> Result<()> {
    let mut unwanted = numbers(directory)?.into_iter().filter(|number| unwanted(*number));
    unwanted.try_for_each(|number| remove_if_exists(&path(directory, number)))
}

/// Returns the header of a file.
pub(super) fn header(id: StoreId, number: u64) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..16].copy_from_slice(MAGIC);
    bytes[16..32].copy_from_slice(&id.0);
    bytes[32..40].copy_from_slice(&number.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[..40]);
    bytes[40..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// What a file holds: the length of its whole batches, and what is wrong with the rest, if anything is.
pub(super) struct Content {
    pub(super) whole: usize,
    pub(super) torn: Option<String>,
}

/// Reads a file and passes each batch to `take`. Each batch was synced before the next was written, so that a whole batch
/// after a torn one is damage.
pub(super) fn read(
    bytes: &[u8],
    id: StoreId,
    number: u64,
    mut take: impl FnMut(ReadBatch) -> Result<(), ReadError>,
) -> Result<Content, ReadError> {
    if bytes.is_empty() {
        return Ok(Content { whole: 0, torn: None });
    }
    let expected = header(id, number);
    if !bytes.starts_with(&expected) {
        check_foreign(bytes, id, number)?;
        // The header is written with the first batch: if it is torn, nothing in the file was acknowledged.
        return Ok(Content { whole: 0, torn: Some("at byte 0: damaged header".to_owned()) });
    }
    let mut place = HEADER;
    loop {
        let rest = bytes.get(place..).unwrap_or_default();
        match batch::read(rest) {
            Found::End => return Ok(Content { whole: place, torn: None }),
            Found::Batch(batch, length) => {
                take(batch)?;
                place += length;
            }
            Found::Torn(claimed, reason) => {
                let reason = format!("at byte {place}: {reason}");
                let after = claimed.and_then(|claimed| rest.get(claimed..)).unwrap_or_default();
                if matches!(batch::read(after), Found::Batch(..)) {
                    return Err(reason.into());
                }
                return Ok(Content { whole: place, torn: Some(reason) });
            }
        }
    }
}

/// Refuses an intact header that is not the expected one.
fn check_foreign(bytes: &[u8], id: StoreId, number: u64) -> Result<(), ReadError> {
    let Some(found) = bytes.first_chunk::<HEADER>() else { return Ok(()) };
    let intact = found.starts_with(MAGIC) && crc32fast::hash(&found[..40]).to_le_bytes() == found[40..];
    if !intact {
        return Ok(());
    }
    if found[16..32] != id.0 {
        return Err(ReadError::Damaged("it belongs to another store".to_owned()));
    }
    let own = found[32..40].try_into().map_or(number, u64::from_le_bytes);
    let name = path(Path::new(""), own);
    Err(ReadError::Damaged(format!("it is a copy of {}", name.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_correspond() {
        let second = next_generation(17);
        let cases =
            [(1, "journal-1"), (17, "journal-17"), (second, "journal-1.1"), (second + 8, "journal-1.9")];
        for (number, name) in cases {
            assert_eq!(path(Path::new("d"), number), Path::new("d").join(name));
            assert_eq!(parse(name), Some(number));
        }
        assert!(same_generation(second, second + 8) && !same_generation(17, second));
        for other in
            ["journal-", "journal-x", "journal-1.", "journal-01", "journal-0.1", "journal-1.1.1", "table"]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn files_of_other_stores_and_copies_are_recognised() {
        let id = StoreId([1; 16]);
        let read = |bytes: &[u8]| match read(bytes, id, 4, |_| Ok(())) {
            Ok(Content { whole, torn }) => format!("{whole} {}", torn.unwrap_or_default()),
            Err(ReadError::Damaged(reason)) => reason,
            Err(ReadError::Store(error)) => error.to_string(),
        };
        assert_eq!(read(b""), "0 ");
        assert_eq!(read(&header(id, 4)), format!("{HEADER} "));
        assert_eq!(read(&header(id, 3)), "it is a copy of journal-3");
        assert_eq!(read(&header(StoreId([2; 16]), 4)), "it belongs to another store");
        assert_eq!(read(&header(id, 4)[..20]), "0 at byte 0: damaged header");
        assert_eq!(read(&[0; 500]), "0 at byte 0: damaged header");
    }
}
