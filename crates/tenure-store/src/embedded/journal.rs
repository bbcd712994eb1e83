//! The journal: batches in files, each appended and synced before its writes are acknowledged. It continues from the revision
//! of the [table](super::table); files whose last commit the table has are removed.

use super::batch::{Batch, ReadBatch, ReadError};
use super::directory::StoreId;
use super::disk::{Disk, DiskOperation};
use super::journal_file::{self, Content};
use crate::encryption::Session;
use crate::file_io::{damaged, file_error, not_durable, private_file, sync_directory};
use crate::{Encryption, Error, Result, Revision};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;

/// How many zeros are written behind a batch that extends its file. The batches that replace them change neither the length
/// of the file nor its allocation, which halves the cost of their sync.
const PREALLOCATION: usize = 256 * 1024;

/// Where and how a journal is written.
#[derive(Clone, Debug)]
pub(super) struct JournalOptions {
    pub(super) directory: PathBuf,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) id: StoreId,
    pub(super) encryption: Encryption,
    /// The length after which the next file is begun.
    pub(super) full_length: u64,
}

/// The journal of a directory, open for appending.
#[derive(Debug)]
pub(super) struct Journal {
    options: JournalOptions,
    /// Files that are full, oldest first.
    full: VecDeque<FullFile>,
    /// The number of the file that is being written.
    number: u64,
    file: Option<File>,
    /// The length of the header and the batches.
    length: u64,
    /// The length of the file, with the zeros behind the batches.
    allocated: u64,
    tail: Tail,
    buffer: Vec<u8>,
}

/// A file to which nothing is appended any more.
#[derive(Debug)]
struct FullFile {
    number: u64,
    newest: Revision,
}

/// What is known about the file behind its batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// Nothing follows.
    Clean,
    /// A write failed and may have left a part, which has to be cut off.
    Torn,
    /// A sync failed: the content of the disk is unknown, regardless of what reading the file returns.
    Lost,
}

impl Journal {
    /// Begins a journal with a file of this number, which does not exist yet.
    pub(super) fn begin(options: JournalOptions, number: u64) -> Journal {
        Journal {
            options,
            full: VecDeque::new(),
            number,
            file: None,
            length: 0,
            allocated: 0,
            tail: Tail::Clean,
            buffer: Vec::new(),
        }
    }

    /// Opens the journal that begins with the file of this number and passes each batch in order to `take`, which returns the
    /// newest revision. A torn batch at the very end is ignored, and cut off before the next is appended: the caller has to
    /// make sure that it was not acknowledged. Any other damage is an error, and so is a missing file.
    pub(super) fn open(
        options: JournalOptions,
        first: u64,
        mut take: impl FnMut(ReadBatch) -> Result<Revision, ReadError>,
    ) -> Result<Journal> {
        let mut journal = Journal::begin(options, first);
        let directory = journal.options.directory.clone();
        let last = last_file(&journal.options, first)?;
        let mut newest = Revision::ZERO;
        for number in first..=last.unwrap_or(0) {
            let path = journal_file::path(&directory, number);
            let bytes = fs::read(&path).map_err(|source| file_error(&path, "read", source))?;
            let content = journal_file::read(&bytes, journal.options.id, number, |batch| {
                newest = take(batch)?;
                Ok(())
            });
            let Content { whole, torn } = content.map_err(|error| match error {
                ReadError::Damaged(reason) => damaged(&path, reason),
                ReadError::Store(error) => error,
            })?;
            if Some(number) == last {
                journal.number = number;
                (journal.length, journal.allocated) = (whole as u64, bytes.len() as u64);
                journal.tail = if torn.is_some() { Tail::Torn } else { Tail::Clean };
                let file = private_file().open(&path);
                journal.file = Some(file.map_err(|source| file_error(&path, "open", source))?);
            } else if let Some(torn) = torn {
                return Err(damaged(&path, torn));
            } else {
                journal.full.push_back(FullFile { number, newest });
            }
        }
        Ok(journal)
    }

    /// Tells whether the content of the disk is unknown, so that the journal has to be rewritten.
    pub(super) fn is_lost(&self) -> bool {
        self.tail == Tail::Lost
    }

    /// Makes a batch durable. On an error nothing of it counts as written.
    pub(super) fn append(&mut self, batch: &Batch<'_>) -> Result<()> {
        let session = self.options.encryption.session();
        self.prepare(batch.after).map_err(|error| Error::NotDurable { reason: error.to_string().into() })?;
        let path = self.newest_path();
        let Some(file) = &self.file else {
            return Err(not_durable(&path, "write", &std::io::ErrorKind::NotFound.into()));
        };
        encode(&mut self.buffer, batch, &session, self.length, (self.options.id, self.number))?;
        let (place, end) = (self.length, self.length + self.buffer.len() as u64);
        if end > self.allocated {
            self.buffer.resize(self.buffer.len() + PREALLOCATION, 0);
        }
        let (bytes, disk) = (&self.buffer, &self.options.disk);
        let written = disk.perform(DiskOperation::Write(bytes.len()), &mut || {
            tenure_files::write_all_at(file, bytes, place)
        });
        if let Err(error) = written {
            self.tail = Tail::Torn;
            return Err(not_durable(&path, "write", &error));
        }
        if let Err(error) = disk.perform(DiskOperation::Sync, &mut || file.sync_data()) {
            self.tail = Tail::Lost;
            return Err(not_durable(&path, "sync", &error));
        }
        self.allocated = self.allocated.max(place + self.buffer.len() as u64);
        self.length = end;
        Ok(())
    }

    /// Cuts off what a failed write left, and begins the next file if this one is full.
    fn prepare(&mut self, newest: Revision) -> Result<()> {
        if self.tail == Tail::Torn
            && let Some(file) = &self.file
        {
            let cut = &mut || file.set_len(self.length);
            let cut = self.options.disk.perform(DiskOperation::Resize(self.length), cut);
            cut.map_err(|source| file_error(&self.newest_path(), "truncate", source))?;
            (self.allocated, self.tail) = (self.length, Tail::Clean);
        }
        if self.file.is_some() && self.length >= self.options.full_length {
            self.finish_file(newest);
        }
        if self.file.is_none() {
            let path = self.newest_path();
            let file = tenure_files::create(&path).map_err(|source| file_error(&path, "create", source))?;
            sync_directory(&self.options.directory)?;
            self.file = Some(file);
        }
        Ok(())
    }

    fn finish_file(&mut self, newest: Revision) {
        self.full.push_back(FullFile { number: self.number, newest });
        self.number += 1;
        self.file = None;
        (self.length, self.allocated) = (0, 0);
    }

    /// Begins the next file with the next batch, so that old and new encryption keys are not mixed in one. Returns the last
    /// file before it.
    pub(super) fn roll(&mut self, newest: Revision) -> Result<u64> {
        if self.length > 0 {
            self.prepare(newest)?;
        }
        if self.length > 0 {
            self.finish_file(newest);
        }
        Ok(self.number - 1)
    }

    /// Returns the first file that is needed after a revision, if there are others before it.
    pub(super) fn needed_after(&self, revision: Revision) -> Option<u64> {
        let over = self.full.iter().take_while(|file| file.newest <= revision).last()?;
        Some(over.number + 1)
    }

    /// Returns the first file that is needed after a revision, if no file up to a number is.
    pub(super) fn needed_after_beyond(&self, revision: Revision, number: u64) -> Option<u64> {
        let blocked = self.full.iter().any(|file| file.number <= number && file.newest > revision);
        (!blocked).then(|| self.needed_after(revision).unwrap_or_else(|| self.first()))
    }

    fn first(&self) -> u64 {
        self.full.front().map_or(self.number, |file| file.number)
    }

    /// Forgets the files before this number, which have been removed.
    pub(super) fn begin_at(&mut self, first: u64) {
        while self.full.front().is_some_and(|file| file.number < first) {
            self.full.pop_front();
        }
    }

    /// Removes the files before this journal and those of other generations.
    pub(super) fn remove_others(&self) -> Result<()> {
        let wanted = self.first()..=self.number;
        journal_file::remove(&self.options.directory, |number| !wanted.contains(&number))
    }

    /// Returns the path of the file that is being written.
    pub(super) fn newest_path(&self) -> PathBuf {
        journal_file::path(&self.options.directory, self.number)
    }
}

/// Encodes a batch, after the header if it is the first of its file.
fn encode(
    buffer: &mut Vec<u8>,
    batch: &Batch<'_>,
    session: &Session,
    length: u64,
    (id, number): (StoreId, u64),
) -> Result<()> {
    buffer.clear();
    if length == 0 {
        buffer.extend_from_slice(&journal_file::header(id, number));
    }
    batch.encode(session, buffer)
}

/// Returns the last file of the journal that begins with a file, and refuses gaps. Nothing is removed: the files behind a gap
/// may hold acknowledged writes.
fn last_file(options: &JournalOptions, first: u64) -> Result<Option<u64>> {
    let own = |number: &u64| *number >= first && journal_file::same_generation(*number, first);
    let numbers: Vec<u64> = journal_file::numbers(&options.directory)?.into_iter().filter(own).collect();
    for (expected, found) in (first..).zip(&numbers) {
        if expected != *found {
            let later = journal_file::path(std::path::Path::new(""), *found);
            return Err(damaged(
                &journal_file::path(&options.directory, expected),
                format!("it is missing, but the later {} exists", later.display()),
            ));
        }
    }
    Ok(numbers.last().copied())
}

#[cfg(test)]
mod tests {
    use super::super::disk::SystemDisk;
    use super::*;
    use crate::entry::Commit;
    use std::path::Path;

    const FULL: u64 = 10_000;

    fn options(directory: &Path, full_length: u64) -> JournalOptions {
        JournalOptions {
            directory: directory.to_owned(),
            disk: Arc::new(SystemDisk),
            id: StoreId([3; 16]),
            encryption: Encryption::default(),
            full_length,
        }
    }

    fn append(journal: &mut Journal, revision: u64, size: usize) {
        let key = bytes::Bytes::from_static(b"key");
        let revision = Revision::from_number(revision);
        let current = crate::Entry {
            key: key.clone(),
            value: vec![7; size].into(),
            created: revision,
            modified: revision,
        };
        let change = crate::KeyChange { key, previous: None, current: Some(current) };
        let commit = Arc::new(Commit { revision, changes: Box::new([change]), ..Commit::default() });
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
        let journal = Journal::open(options(directory, FULL), first, take)?;
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
    fn full_files_are_followed_by_others_until_they_are_not_needed() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(options(directory.path(), FULL), 1);
        for revision in 1..=9 {
            append(&mut journal, revision, FULL as usize / 2);
        }
        assert_eq!(journal.number, 5, "two of them fill a file");
        let needed = |revision| journal.needed_after(Revision::from_number(revision));
        assert_eq!(
            [needed(0), needed(1), needed(2), needed(5), needed(9)],
            [None, None, Some(2), Some(3), Some(5)]
        );
        journal_file::remove(directory.path(), |number| number < 3).unwrap();
        journal.begin_at(3);
        assert_eq!(journal.needed_after(Revision::from_number(5)), None);
        drop(journal);
        let (journal, newest) = open(directory.path(), 3).unwrap();
        assert_eq!((newest, journal.number, journal.full.len()), (9, 5, 2));
        assert_eq!(names(directory.path()), ["journal-3", "journal-4", "journal-5"]);
    }

    #[test]
    fn a_torn_end_is_cut_off_before_the_next_append() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal-1");
        let mut journal = Journal::begin(options(directory.path(), FULL), 1);
        (1..=3).for_each(|revision| append(&mut journal, revision, 100));
        let whole = fs::read(&path).unwrap();
        let end = journal.length as usize;
        assert_eq!(whole.len(), journal.allocated as usize);
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
    fn batches_fill_the_preallocated_space() {
        let directory = tempfile::tempdir().unwrap();
        let length = || fs::metadata(directory.path().join("journal-1")).unwrap().len();
        let mut journal = Journal::begin(options(directory.path(), 10 * PREALLOCATION as u64), 1);
        append(&mut journal, 1, 100);
        let first = length();
        assert_eq!(first, journal.length + PREALLOCATION as u64);
        append(&mut journal, 2, PREALLOCATION / 2);
        assert_eq!(length(), first);
        let (opened, newest) = open(directory.path(), 1).unwrap();
        assert_eq!((newest, opened.length, opened.allocated), (2, journal.length, first));
        append(&mut journal, 3, PREALLOCATION / 2);
        assert_eq!(length(), journal.length + PREALLOCATION as u64);
        assert_eq!(open(directory.path(), 1).unwrap().1, 3);
    }

    #[test]
    fn damage_before_a_whole_batch_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal-1");
        let mut journal = Journal::begin(options(directory.path(), FULL), 1);
        (1..=2).for_each(|revision| append(&mut journal, revision, 100));
        let whole = fs::read(&path).unwrap();
        let header = journal_file::header(StoreId([3; 16]), 1).len();
        for place in header + 4..journal.length as usize / 2 {
            let mut bytes = whole.clone();
            bytes[place] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert!(open(directory.path(), 1).is_err(), "byte {place}");
        }
    }

    #[test]
    fn a_missing_file_is_refused_and_nothing_is_removed() {
        for missing in 1..=2 {
            let directory = tempfile::tempdir().unwrap();
            let mut journal = Journal::begin(options(directory.path(), FULL), 1);
            (1..=8).for_each(|revision| append(&mut journal, revision, FULL as usize / 2));
            fs::remove_file(directory.path().join(format!("journal-{missing}"))).unwrap();
            let before = names(directory.path());
            let error = open(directory.path(), 1).unwrap_err().to_string();
            let expected = format!("journal-{missing}: damaged: it is missing, but the later");
            assert!(error.contains(&expected), "{error}");
            assert_eq!(names(directory.path()), before);
        }
    }

    #[test]
    fn another_generation_is_not_part_of_the_journal() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(options(directory.path(), FULL), 1);
        (1..=3).for_each(|revision| append(&mut journal, revision, FULL as usize / 2));
        let mut unfinished =
            Journal::begin(options(directory.path(), FULL), journal_file::next_generation(2));
        append(&mut unfinished, 9, 10);
        assert_eq!(names(directory.path()), ["journal-1", "journal-1.1", "journal-2"]);
        assert_eq!(open(directory.path(), 1).unwrap().1, 3);
        assert_eq!(names(directory.path()), ["journal-1", "journal-2"]);
    }

    #[test]
    fn rolling_begins_a_new_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(options(directory.path(), FULL), 1);
        assert_eq!(journal.roll(Revision::ZERO).unwrap(), 0, "nothing is written yet");
        assert_eq!(journal.needed_after_beyond(Revision::ZERO, 0), Some(1));
        append(&mut journal, 1, 10);
        let rolled = journal.roll(Revision::from_number(1)).unwrap();
        assert_eq!((rolled, journal.needed_after_beyond(Revision::ZERO, 1)), (1, None));
        append(&mut journal, 2, 10);
        assert_eq!(journal.needed_after_beyond(Revision::from_number(1), 1), Some(2));
        assert_eq!(open(directory.path(), 1).unwrap().1, 2);
    }
}
