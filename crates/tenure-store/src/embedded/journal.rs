//! The journal: files of batches, each appended and synced before its writes are acknowledged. It holds all that
//! happened after the revision of the [table](super::table); files whose last commit the table has are removed.

use super::batch;
use super::batch::{Batch, Found, ReadBatch};
use super::disk::{Disk, DiskOperation};
use crate::file_io::{damaged, file_error, not_durable, remove_if_exists, sync_directory};
use crate::{Result, Revision};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NAME: &str = "journal-";

/// How many zeros are written behind a batch that reaches beyond the end of its file. The batches that take their place
/// change neither the length of the file nor where it lies, and a sync of those costs half.
const AHEAD: usize = 256 * 1024;

/// The journal of a directory, open for appending.
#[derive(Debug)]
pub(super) struct Journal {
    directory: PathBuf,
    disk: Arc<dyn Disk>,
    /// The length after which a file is followed by another.
    full_length: u64,
    /// Files that are full, oldest first.
    full: VecDeque<FullFile>,
    /// The number of the file that is being written.
    number: u64,
    file: Option<File>,
    /// How much of the file holds batches.
    length: u64,
    /// How long the file is, with the zeros behind them.
    reach: u64,
    trust: Trust,
    buffer: Vec<u8>,
}

/// A file that nothing is added to.
#[derive(Debug)]
struct FullFile {
    number: u64,
    newest: Revision,
}

/// What is known of the file after its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// There is nothing.
    Whole,
    /// A write failed: there may be a part of it, which has to be cut off.
    Cut,
    /// A sync failed: nobody knows what of the file is on the disk, whatever reading it shows.
    Lost,
}

impl Journal {
    /// Begins a journal with a file of this number, which does not exist yet.
    pub(super) fn begin(directory: &Path, disk: Arc<dyn Disk>, full_length: u64, number: u64) -> Journal {
        Journal {
            directory: directory.to_owned(),
            disk,
            full_length,
            full: VecDeque::new(),
            number,
            file: None,
            length: 0,
            reach: 0,
            trust: Trust::Whole,
            buffer: Vec::new(),
        }
    }

    /// Opens the journal that begins with the file of this number, giving each batch to `take` in order, which returns
    /// the newest revision. A torn batch at the very end is left out, and cut off before anything is added: the caller
    /// has to make sure that it was not acknowledged. Anything else that is not whole is refused.
    pub(super) fn open(
        directory: &Path,
        disk: Arc<dyn Disk>,
        full_length: u64,
        first: u64,
        mut take: impl FnMut(ReadBatch) -> Result<Revision, String>,
    ) -> Result<Journal> {
        let mut journal = Journal::begin(directory, disk, full_length, first);
        let mut newest = None;
        loop {
            let (path, next) = (journal.path(journal.number), journal.path(journal.number + 1));
            let bytes = match fs::read(&path) {
                Ok(bytes) => bytes,
                Err(source) if source.kind() == io::ErrorKind::NotFound => {
                    if next.exists() {
                        return Err(damaged(
                            &path,
                            "it is missing, and the one after it is there".to_owned(),
                        ));
                    }
                    break;
                }
                Err(source) => return Err(file_error(&path, "read", source)),
            };
            let (whole, torn) = read(&bytes, |batch| {
                newest = Some(take(batch)?);
                Ok(())
            })
            .map_err(|reason| damaged(&path, reason))?;
            (journal.length, journal.reach) = (whole as u64, bytes.len() as u64);
            if let Some(torn) = torn {
                if next.exists() {
                    return Err(damaged(&path, torn));
                }
                journal.trust = Trust::Cut;
            }
            if !next.exists() {
                journal.file = Some(open_file(&path)?);
                break;
            }
            let newest = newest.unwrap_or(Revision::ZERO);
            journal.full.push_back(FullFile { number: journal.number, newest });
            journal.number += 1;
            (journal.length, journal.reach) = (0, 0);
        }
        Ok(journal)
    }

    /// Tells whether appending is over, since what is on the disk is not known.
    pub(super) fn is_lost(&self) -> bool {
        self.trust == Trust::Lost
    }

    /// Makes a batch durable. On an error nothing of it counts as written.
    pub(super) fn append(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.make_room(batch.after).map_err(|error| not_durable(&error.to_string()))?;
        let Some(file) = &self.file else { return Err(not_durable("the journal is not open")) };
        self.buffer.clear();
        batch.encode(&mut self.buffer);
        let (place, end) = (self.length, self.length + self.buffer.len() as u64);
        if end > self.reach {
            self.buffer.resize(self.buffer.len() + AHEAD, 0);
        }
        let bytes = &self.buffer;
        let written =
            self.disk.perform(DiskOperation::Write(bytes.len()), &mut || file.write_all_at(bytes, place));
        if let Err(error) = written {
            self.trust = Trust::Cut;
            return Err(not_durable(&error.to_string()));
        }
        if let Err(error) = self.disk.perform(DiskOperation::Sync, &mut || file.sync_data()) {
            self.trust = Trust::Lost;
            return Err(not_durable(&error.to_string()));
        }
        self.reach = self.reach.max(place + self.buffer.len() as u64);
        self.length = end;
        Ok(())
    }

    /// Cuts off what a failed write left, and begins the next file if this one is full.
    fn make_room(&mut self, newest: Revision) -> Result<()> {
        if self.trust == Trust::Cut
            && let Some(file) = &self.file
        {
            let cut =
                self.disk.perform(DiskOperation::Resize(self.length), &mut || file.set_len(self.length));
            cut.map_err(|source| file_error(&self.path(self.number), "cut", source))?;
            (self.reach, self.trust) = (self.length, Trust::Whole);
        }
        if self.file.is_none() {
            self.file = Some(self.make_file(self.number)?);
        } else if self.length >= self.full_length {
            self.file = Some(self.make_file(self.number + 1)?);
            self.full.push_back(FullFile { number: self.number, newest });
            self.number += 1;
            (self.length, self.reach) = (0, 0);
        }
        Ok(())
    }

    fn make_file(&self, number: u64) -> Result<File> {
        let path = self.path(number);
        let file = File::options().create(true).truncate(true).write(true).open(&path);
        let file = file.map_err(|source| file_error(&path, "make", source))?;
        sync_directory(&self.directory)?;
        Ok(file)
    }

    /// Returns the first file that is needed after a revision, if there are others before it.
    pub(super) fn needed_after(&self, revision: Revision) -> Option<u64> {
        let over = self.full.iter().take_while(|file| file.newest <= revision).last()?;
        Some(over.number + 1)
    }

    /// Forgets the files before this number, which have been removed.
    pub(super) fn begin_at(&mut self, first: u64) {
        while self.full.front().is_some_and(|file| file.number < first) {
            self.full.pop_front();
        }
    }

    /// Removes files that are none of this journal: those before it, and those of an attempt that failed.
    pub(super) fn remove_others(&self) -> Result<()> {
        let first = self.full.front().map_or(self.number, |file| file.number);
        remove_files(&self.directory, |number| !(first..=self.number).contains(&number))
    }

    /// Returns the path of the file that is being written.
    pub(super) fn newest_path(&self) -> PathBuf {
        self.path(self.number)
    }

    fn path(&self, number: u64) -> PathBuf {
        path(&self.directory, number)
    }
}

/// Removes the files of a journal before a number.
pub(super) fn remove_before(directory: &Path, first: u64) -> Result<()> {
    remove_files(directory, |number| number < first)
}

/// Returns the highest number of a file; zero if there is none.
pub(super) fn newest_number(directory: &Path) -> Result<u64> {
    Ok(numbers(directory)?.into_iter().max().unwrap_or(0))
}

fn remove_files(directory: &Path, unwanted: impl Fn(u64) -> bool) -> Result<()> {
    let mut unwanted = numbers(directory)?.into_iter().filter(|number| unwanted(*number));
    unwanted.try_for_each(|number| remove_if_exists(&path(directory, number)))
}

/// Returns the numbers of all files, in any order.
fn numbers(directory: &Path) -> Result<Vec<u64>> {
    let unreadable = |source| file_error(directory, "read", source);
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u64>().ok()));
    }
    Ok(numbers)
}

fn path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{NAME}{number}"))
}

fn open_file(path: &Path) -> Result<File> {
    File::options().write(true).open(path).map_err(|source| file_error(path, "open", source))
}

/// Reads the batches of a file: returns how many bytes they are, and what is wrong with the rest if there is one. Each
/// batch was synced before the next was written, so that something whole after something torn is damage.
fn read(
    bytes: &[u8],
    mut take: impl FnMut(ReadBatch) -> Result<(), String>,
) -> Result<(usize, Option<String>), String> {
    let mut place = 0;
    loop {
        let rest = bytes.get(place..).unwrap_or_default();
        match batch::read(rest) {
            Found::End => return Ok((place, None)),
            Found::Batch(batch, length) => {
                take(batch)?;
                place += length;
            }
            Found::Torn(claimed, reason) => {
                let after = claimed.and_then(|claimed| rest.get(claimed..)).unwrap_or_default();
                if matches!(batch::read(after), Found::Batch(..)) {
                    return Err(format!("at byte {place}: {reason}"));
                }
                return Ok((place, Some(format!("at byte {place}: {reason}"))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::SystemDisk;
    use super::*;
    use crate::entry::Commit;

    const FULL: u64 = 10_000;

    fn append(journal: &mut Journal, revision: u64, size: usize) {
        let key = bytes::Bytes::from_static(b"key");
        let revision = Revision::from_number(revision);
        let current = crate::Entry {
            key: key.clone(),
            value: vec![7; size].into(),
            created: revision,
            modified: revision,
        };
        let change = crate::Change { key, previous: None, current: Some(current) };
        let commit = Arc::new(Commit { revision, written_at: 0, changes: Box::new([change]) });
        let batch = Batch { after: revision.back(1), commits: &[commit], forgotten: Revision::ZERO };
        journal.append(&batch).unwrap();
    }

    /// Opens the journal and returns the newest revision it holds.
    fn open(directory: &Path, first: u64) -> Result<(Journal, u64)> {
        let mut newest = Revision::ZERO;
        let take = |batch: ReadBatch| {
            newest = batch.commits.last().map_or(batch.after, |commit| commit.revision);
            Ok(newest)
        };
        let disk = Arc::new(SystemDisk);
        let journal = Journal::open(directory, disk, FULL, first, take)?;
        journal.remove_others()?;
        Ok((journal, newest.get()))
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn full_files_are_followed_by_others_and_removed_when_nobody_needs_them() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(directory.path(), Arc::new(SystemDisk), FULL, 1);
        for revision in 1..=9 {
            append(&mut journal, revision, FULL as usize / 2);
        }
        assert_eq!(journal.number, 5, "two of them fill a file");
        let needed = |revision| journal.needed_after(Revision::from_number(revision));
        assert_eq!(
            [needed(0), needed(1), needed(2), needed(5), needed(9)],
            [None, None, Some(2), Some(3), Some(5)]
        );
        remove_before(directory.path(), 3).unwrap();
        journal.begin_at(3);
        assert_eq!(journal.needed_after(Revision::from_number(5)), None);
        drop(journal);
        let (journal, newest) = open(directory.path(), 3).unwrap();
        assert_eq!((newest, journal.number, journal.full.len()), (9, 5, 2));
        assert_eq!(names(directory.path()), ["journal-3", "journal-4", "journal-5"]);
    }

    #[test]
    fn a_torn_end_is_cut_off_before_anything_is_added() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal-1");
        let mut journal = Journal::begin(directory.path(), Arc::new(SystemDisk), FULL, 1);
        (1..=3).for_each(|revision| append(&mut journal, revision, 100));
        let whole = fs::read(&path).unwrap();
        let end = journal.length as usize;
        assert_eq!(whole.len(), journal.reach as usize);
        for cut in 1..100 {
            let mut zeroed = whole.clone();
            zeroed[end - cut..].fill(0);
            for torn in [&whole[..end - cut], &zeroed] {
                fs::write(&path, torn).unwrap();
                let (mut journal, newest) = open(directory.path(), 1).unwrap();
                assert_eq!(newest, 2);
                append(&mut journal, 3, 10);
                assert_eq!(open(directory.path(), 1).unwrap().1, 3, "{cut}");
            }
        }
    }

    #[test]
    fn batches_take_the_place_of_zeros_until_these_are_used_up() {
        let directory = tempfile::tempdir().unwrap();
        let length = || fs::metadata(directory.path().join("journal-1")).unwrap().len();
        let mut journal = Journal::begin(directory.path(), Arc::new(SystemDisk), 10 * AHEAD as u64, 1);
        append(&mut journal, 1, 100);
        let first = length();
        assert_eq!(first, journal.length + AHEAD as u64);
        append(&mut journal, 2, AHEAD / 2);
        assert_eq!(length(), first);
        let (opened, newest) = open(directory.path(), 1).unwrap();
        assert_eq!((newest, opened.length, opened.reach), (2, journal.length, first));
        append(&mut journal, 3, AHEAD / 2);
        assert_eq!(length(), journal.length + AHEAD as u64);
        assert_eq!(open(directory.path(), 1).unwrap().1, 3);
    }

    #[test]
    fn damage_before_something_whole_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal-1");
        let mut journal = Journal::begin(directory.path(), Arc::new(SystemDisk), FULL, 1);
        (1..=2).for_each(|revision| append(&mut journal, revision, 100));
        let whole = fs::read(&path).unwrap();
        for place in 4..journal.length as usize / 2 {
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert!(open(directory.path(), 1).is_err(), "byte {place}");
        }
    }

    #[test]
    fn a_missing_file_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(directory.path(), Arc::new(SystemDisk), FULL, 1);
        (1..=6).for_each(|revision| append(&mut journal, revision, FULL as usize / 2));
        fs::remove_file(directory.path().join("journal-1")).unwrap();
        assert!(open(directory.path(), 1).unwrap_err().to_string().contains("missing"));
    }
}
