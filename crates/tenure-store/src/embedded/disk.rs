//! The disk under the store's files. Every write and sync goes through a [`Disk`], so that tests can inject failures and
//! measurements can separate the time of the disk.

use redb::StorageBackend;
use redb::backends::FileBackend;
use std::fmt;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// An operation on a file of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskOperation {
    /// Write this many bytes.
    Write(usize),
    /// Set the length of the file.
    Resize(u64),
    /// Make the content durable.
    Sync,
    /// Update the watermark.
    Watermark,
}

/// The disk under the files. The default is [`SystemDisk`]; tests use disks that fail.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Performs an operation by calling `act`, or makes it fail.
    fn perform(&self, operation: DiskOperation, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()>;
}

/// The system's disk, without injected failures.
#[derive(Debug, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn perform(&self, _: DiskOperation, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        act()
    }
}

/// The file of the table as redb sees it.
#[derive(Debug)]
pub(super) struct DataFile {
    file: FileBackend,
    disk: Arc<dyn Disk>,
    syncs: Syncs,
}

/// When what redb commits becomes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syncs {
    /// With each commit.
    EachCommit,
    /// Not before the owner of the file syncs it: nobody opens it until then.
    Later,
}

impl DataFile {
    /// Wraps a file.
    pub(super) fn new(
        file: File,
        disk: Arc<dyn Disk>,
        syncs: Syncs,
    ) -> Result<DataFile, redb::DatabaseError> {
        Ok(DataFile { file: FileBackend::new(file)?, disk, syncs })
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
        match self.syncs {
            Syncs::EachCommit => self.disk.perform(DiskOperation::Sync, &mut || self.file.sync_data()),
            Syncs::Later => Ok(()),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk.perform(DiskOperation::Write(data.len()), &mut || self.file.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}
