//! The disk under the store's files. Every write and sync passes a [`Disk`], so that tests can let a disk fail where
//! real ones do and measurements can tell its time from ours.

use redb::StorageBackend;
use redb::backends::FileBackend;
use std::fmt;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// A step that the store is about to take on its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskOperation {
    /// Writing so many bytes.
    Write(usize),
    /// Making the file so long.
    Resize(u64),
    /// Making all of it durable.
    Sync,
    /// Noting what has been acknowledged, in the file beside it.
    Note,
}

/// The disk under the files. The usual one is [`SystemDisk`]; a test's may refuse steps.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Performs a step by calling `act`, or makes it fail.
    fn perform(&self, step: DiskOperation, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()>;
}

/// A disk that refuses nothing, so that only real errors occur.
#[derive(Debug, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn perform(&self, _: DiskOperation, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        act()
    }
}

/// The table's file as its engine sees it.
#[derive(Debug)]
pub(super) struct DataFile {
    file: FileBackend,
    disk: Arc<dyn Disk>,
}

impl DataFile {
    /// Takes a file.
    pub(super) fn new(file: File, disk: Arc<dyn Disk>) -> Result<DataFile, redb::DatabaseError> {
        Ok(DataFile { file: FileBackend::new(file)?, disk })
    }
}

impl StorageBackend for DataFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.perform(DiskOperation::Resize(len), &mut || self.file.set_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.perform(DiskOperation::Sync, &mut || self.file.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk.perform(DiskOperation::Write(data.len()), &mut || self.file.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}
