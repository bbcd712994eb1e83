//! The watermark: the newest acknowledged revision, in a file beside the journal. It is written after each durable batch
//! without a sync: it survives the death of the process and can only be behind the journal. A journal that ends before it
//! has lost acknowledged writes, and the store refuses to open. So it does without the file, which would hide such a loss.

use super::directory::StoreId;
use super::disk::{Disk, DiskOperation};
use crate::file_io::{damaged, file_error, private_file};
use crate::{Result, Revision};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Two slots are written alternately, in different sectors, so that a torn write leaves the other intact.
const SLOTS: u64 = 2;
const SLOT_DISTANCE: u64 = 4096;
const SLOT: usize = 12;

/// The open watermark.
#[derive(Debug)]
pub(super) struct Watermark {
    file: File,
    disk: Arc<dyn Disk>,
    id: StoreId,
    next_slot: u64,
}

impl Watermark {
    /// Creates the file with both slots, durably.
    pub(super) fn create(path: &Path, id: StoreId, revision: Revision) -> Result<()> {
        let created = tenure_files::create(path).and_then(|file| {
            for slot in 0..SLOTS {
                tenure_files::write_all_at(&file, &encode(id, revision), slot * SLOT_DISTANCE)?;
            }
            file.sync_all()
        });
        created.map_err(|source| file_error(path, "write", source))
    }

    /// Opens the file and returns the newest acknowledged revision.
    pub(super) fn open(path: &Path, disk: Arc<dyn Disk>, id: StoreId) -> Result<(Watermark, Revision)> {
        let file = match private_file().open(path) {
            Ok(file) => file,
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                return Err(damaged(
                    path,
                    "it is missing, and without it the loss of writes would go unnoticed",
                ));
            }
            Err(source) => return Err(file_error(path, "open", source)),
        };
        let slots = (0..SLOTS).filter_map(|slot| Some((read_slot(&file, id, slot)?, slot)));
        let Some((newest, slot)) = slots.max() else {
            return Err(damaged(path, "it holds no revision of this store"));
        };
        Ok((Watermark { file, disk, id, next_slot: slot + 1 }, newest))
    }

    /// Notes that everything up to a revision is durable. The commit is already safe, so that a failure here is not an error:
    /// it only leaves the watermark behind.
    pub(super) fn advance(&mut self, revision: Revision) {
        let bytes = encode(self.id, revision);
        let place = self.next_slot % SLOTS * SLOT_DISTANCE;
        self.next_slot += 1;
        let _ = self
            .disk
            .perform(DiskOperation::Watermark, &mut || tenure_files::write_all_at(&self.file, &bytes, place));
    }
}

/// A slot is the revision and a checksum over the store's id and the revision.
fn encode(id: StoreId, revision: Revision) -> [u8; SLOT] {
    let mut bytes = [0; SLOT];
    bytes[..8].copy_from_slice(&revision.get().to_le_bytes());
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&id.0);
    checksum.update(&bytes[..8]);
    bytes[8..].copy_from_slice(&checksum.finalize().to_le_bytes());
    bytes
}

fn read_slot(file: &File, id: StoreId, slot: u64) -> Option<Revision> {
    let mut bytes = [0; SLOT];
    tenure_files::read_exact_at(file, &mut bytes, slot * SLOT_DISTANCE).ok()?;
    let number = bytes.first_chunk()?;
    let revision = Revision::from_number(u64::from_le_bytes(*number));
    (encode(id, revision) == bytes).then_some(revision)
}

/// Refuses a journal that ends before the newest acknowledged revision.
pub(super) fn check(journal: &Path, newest: Revision, acknowledged: Revision) -> Result<()> {
    if newest >= acknowledged {
        return Ok(());
    }
    Err(damaged(
        journal,
        format!(
            "the journal ends at revision {newest}, but writes up to revision {acknowledged} were acknowledged"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::disk::SystemDisk;
    use super::*;

    const ID: StoreId = StoreId([7; 16]);

    fn open(path: &Path) -> Result<(Watermark, u64)> {
        let (watermark, revision) = Watermark::open(path, Arc::new(SystemDisk), ID)?;
        Ok((watermark, revision.get()))
    }

    #[test]
    fn the_newest_intact_slot_counts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("watermark");
        assert!(open(&path).unwrap_err().to_string().contains("missing"));
        Watermark::create(&path, ID, Revision::from_number(0)).unwrap();
        let (mut watermark, revision) = open(&path).unwrap();
        assert_eq!(revision, 0);
        for number in 1..=5 {
            watermark.advance(Revision::from_number(number));
            assert_eq!(open(&path).unwrap().1, number);
        }
        let good = std::fs::read(&path).unwrap();
        let newest = (0..good.len()).find(|place| good[*place] == 5).unwrap();
        for place in newest..newest + SLOT {
            let mut bytes = good.clone();
            bytes[place] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(open(&path).unwrap().1, 4, "the other slot is one behind");
        }
        std::fs::write(&path, &good[..3]).unwrap();
        assert!(open(&path).is_err(), "truncated");
        std::fs::write(&path, &good).unwrap();
        let other = Watermark::open(&path, Arc::new(SystemDisk), StoreId([8; 16]));
        assert!(other.unwrap_err().to_string().contains("no revision of this store"));
    }
}
