//! The audit log of an API server on the same machine, read as it grows.

use crate::{Archive, RecorderError};
use std::{
    fs::{DirEntry, File},
    io::{ErrorKind, Read, Seek, SeekFrom},
    os::unix::fs::{DirEntryExt, MetadataExt},
    path::Path,
    time::Duration,
};
use tenure_store::{Expected, Store, Transaction};
use tenure_value::{Limits, Value, json};

/// Where the reading of an audit log has come to.
const LOG_POSITION: &str = "recorder/audit-log";
/// The most bytes of a log that are read at once; a longer line is not an event.
const PIECE: usize = 4 << 20;
/// How often a log is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Reads an audit log as it grows, until the future is dropped. A log that was rotated, also while the recorder was stopped, is read to its end
/// under the name that it has then, if it is in the same directory.
pub async fn follow_audit_log(archive: &Archive, path: &Path) -> Result<(), RecorderError> {
    let failed = |source| RecorderError::File { path: path.to_owned(), source };
    let (inode, offset) = position(archive)?;
    let mut log = rotated(path, inode).map_err(failed)?.map(|file| AuditLog { file, inode, offset });
    loop {
        if log.is_none() {
            log = AuditLog::open(path).map_err(failed)?;
        }
        let Some(reading) = &mut log else {
            // A log is missing for a moment while it is rotated.
            tokio::time::sleep(LOOK).await;
            continue;
        };
        let lines = reading.next_lines().map_err(failed)?;
        if !lines.is_empty() {
            reading.note(archive, &lines).await?;
        } else if inode_of(path).map_err(failed)? != Some(reading.inode) {
            log = None;
        } else {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// An audit log that is read.
struct AuditLog {
    file: File,
    inode: u64,
    offset: u64,
}

impl AuditLog {
    fn open(path: &Path) -> std::io::Result<Option<AuditLog>> {
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let inode = file.metadata()?.ino();
        Ok(Some(AuditLog { file, inode, offset: 0 }))
    }

    /// Reads whole lines; empty if there are none now.
    fn next_lines(&mut self) -> std::io::Result<Vec<u8>> {
        // It was truncated.
        if self.file.metadata()?.len() < self.offset {
            self.offset = 0;
        }
        self.file.seek(SeekFrom::Start(self.offset))?;
        let mut piece = Vec::new();
        self.file.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
        let whole = match piece.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            None if piece.len() == PIECE => PIECE,
            None => 0,
        };
        piece.truncate(whole);
        self.offset += whole as u64;
        Ok(piece)
    }

    /// Keeps the authors of lines, and where the log has been read to.
    async fn note(&self, archive: &Archive, lines: &[u8]) -> Result<(), RecorderError> {
        let lines = lines.split(|byte| *byte == b'\n');
        let events: Vec<Value> =
            lines.filter_map(|line| json::parse(line, &Limits::default()).ok()).collect();
        archive.note_audit_events(&events).await?;
        let text = format!("{} {}", self.inode, self.offset);
        let noted = Transaction::new().put(LOG_POSITION, Expected::Anything, text);
        archive.store().commit(noted).await?;
        Ok(())
    }
}

fn inode_of(path: &Path) -> std::io::Result<Option<u64>> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        metadata => Ok(Some(metadata?.ino())),
    }
}

/// Returns the log with an inode, under its own name or that of a rotated one.
fn rotated(path: &Path, inode: u64) -> std::io::Result<Option<File>> {
    if inode_of(path)? == Some(inode) {
        return File::open(path).map(Some);
    }
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let Ok(entries) = std::fs::read_dir(directory.unwrap_or(Path::new("."))) else { return Ok(None) };
    let stem = path.file_stem().unwrap_or_default().as_encoded_bytes();
    let is_wanted =
        |entry: &DirEntry| entry.ino() == inode && entry.file_name().as_encoded_bytes().starts_with(stem);
    let found = entries.filter_map(Result::ok).find(is_wanted);
    found.map(|entry| File::open(entry.path())).transpose()
}

fn position(archive: &Archive) -> Result<(u64, u64), RecorderError> {
    let Some(entry) = archive.store().peek(LOG_POSITION.as_bytes())? else { return Ok((0, 0)) };
    let bytes = entry.value.bytes();
    let text = String::from_utf8_lossy(&bytes);
    let (inode, offset) = text.split_once(' ').unwrap_or_default();
    Ok((inode.parse().unwrap_or_default(), offset.parse().unwrap_or_default()))
}
