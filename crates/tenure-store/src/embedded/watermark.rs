//! The note of what has been acknowledged, beside the journal. It is written after each durable commit and not
//! synced: it survives the death of the process and, since it can only be behind the data, never accuses a good
//! journal. One that ends before it has lost acknowledged writes, which is refused instead of gone unnoticed.

use super::disk::{Disk, DiskOperation};
use crate::file_io::file_error;
use crate::{Error, Result, Revision};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Two slots are written in turn, in different sectors, so that a torn write leaves the other.
const SLOTS: u64 = 2;
const SLOT_DISTANCE: u64 = 4096;
const SLOT: usize = 12;

/// The open note.
#[derive(Debug)]
pub(super) struct Watermark {
    file: File,
    disk: Arc<dyn Disk>,
    turn: u64,
}

impl Watermark {
    /// Opens or makes the note, and returns the newest acknowledged revision it knows of.
    pub(super) fn open(path: &Path, disk: Arc<dyn Disk>) -> Result<(Watermark, Revision)> {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|source| file_error(path, "open", source))?;
        let mut newest = Revision::ZERO;
        let mut turn = 0;
        for slot in 0..SLOTS {
            if let Some(revision) = read_slot(&file, slot)
                && revision >= newest
            {
                newest = revision;
                turn = slot + 1;
            }
        }
        Ok((Watermark { file, disk, turn }, newest))
    }

    /// Notes that everything up to a revision is durable. The commit is already safe, so a failure here is no error:
    /// it only leaves the note behind.
    pub(super) fn note(&mut self, revision: Revision) {
        let mut bytes = [0; SLOT];
        bytes[..8].copy_from_slice(&revision.get().to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..8]);
        bytes[8..].copy_from_slice(&checksum.to_le_bytes());
        let place = self.turn % SLOTS * SLOT_DISTANCE;
        self.turn += 1;
        let _ = self.disk.perform(DiskOperation::Note, &mut || self.file.write_all_at(&bytes, place));
    }
}

fn read_slot(file: &File, slot: u64) -> Option<Revision> {
    let mut bytes = [0; SLOT];
    file.read_exact_at(&mut bytes, slot * SLOT_DISTANCE).ok()?;
    let (revision, checksum) = bytes.split_first_chunk::<8>()?;
    let expected = crc32fast::hash(revision).to_le_bytes();
    (checksum == expected).then(|| Revision::from_number(u64::from_le_bytes(*revision)))
}

/// Refuses a journal that ends before what was acknowledged.
pub(super) fn check(journal: &Path, note: &Path, newest: Revision, acknowledged: Revision) -> Result<()> {
    if newest >= acknowledged {
        return Ok(());
    }
    let note = note.display();
    Err(Error::Damaged {
        path: journal.to_owned(),
        reason: format!(
            "it ends at revision {newest}, but writes up to revision {acknowledged} were acknowledged \
             (removing {note} accepts their loss)"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::disk::SystemDisk;
    use super::*;

    #[test]
    fn the_newest_whole_slot_counts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("note");
        let (mut watermark, none) = Watermark::open(&path, Arc::new(SystemDisk)).unwrap();
        assert_eq!(none, Revision::ZERO);
        for number in 1..=5 {
            watermark.note(Revision::from_number(number));
            assert_eq!(Watermark::open(&path, Arc::new(SystemDisk)).unwrap().1.get(), number);
        }
        let good = std::fs::read(&path).unwrap();
        for place in 0..SLOT {
            let mut bytes = good.clone();
            bytes[place] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(
                Watermark::open(&path, Arc::new(SystemDisk)).unwrap().1.get(),
                4,
                "the other slot is one behind"
            );
        }
        std::fs::write(&path, &good[..3]).unwrap();
        let (mut watermark, none) = Watermark::open(&path, Arc::new(SystemDisk)).unwrap();
        assert_eq!(none, Revision::ZERO);
        watermark.note(Revision::from_number(9));
        assert_eq!(Watermark::open(&path, Arc::new(SystemDisk)).unwrap().1.get(), 9);
    }
}
