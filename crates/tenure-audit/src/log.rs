//! The audit log: one event per line, in files that are rotated by size and removed by number and age.

use flate2::{Compression, write::GzEncoder};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tenure_value::{
    Value,
    time::{Precision, Timestamp},
};

const DAY: Duration = Duration::from_secs(86_400);
const MEGABYTE: u64 = 1024 * 1024;
/// The path of the standard output.
const STANDARD_OUTPUT: &str = "-";

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// The whole event as JSON.
    #[default]
    Json,
    /// A line of text with the most important fields.
    Legacy,
}

/// When events are written to the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogMode {
    /// Many at once, a few milliseconds after they happened. A request does not wait for the log.
    #[default]
    Batch,
    /// Each on its own. The last event of a request is in the log before its response is sent.
    Blocking,
}

/// The log file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// The path of the file; `-` is the standard output, which is not rotated.
    pub path: PathBuf,
    /// The size in megabytes at which the file is rotated.
    pub max_size: u64,
    /// How many rotated files are kept; 0 keeps all.
    pub max_backups: usize,
    /// How many days rotated files are kept; 0 keeps them forever.
    pub max_age: u64,
    /// Whether rotated files are compressed.
    pub compress: bool,
    /// How a line is written.
    pub format: LogFormat,
    /// When lines are written.
    pub mode: LogMode,
}

impl LogOptions {
    /// Returns the options of a file that is written in batches, rotated at 100 MB and kept forever.
    pub fn new(path: impl Into<PathBuf>) -> LogOptions {
        LogOptions {
            path: path.into(),
            max_size: 100,
            max_backups: 0,
            max_age: 0,
            compress: false,
            format: LogFormat::Json,
            mode: LogMode::Batch,
        }
    }
}

/// An open log.
pub(crate) struct LogFile {
    options: LogOptions,
    out: Box<dyn Write + Send>,
    size: u64,
}

impl LogFile {
    /// Opens the log, and continues a file that exists.
    pub fn open(options: LogOptions) -> io::Result<LogFile> {
        let (out, size) = open(&options.path)?;
        Ok(LogFile { options, out, size })
    }

    /// Appends lines, given the end of each, with one write per file; rotates before the file gets too large. Returns how many
    /// could not be written.
    pub fn append(&mut self, lines: &[u8], ends: &[usize]) -> usize {
        let limit = match is_standard_output(&self.options.path) {
            true => u64::MAX,
            false => self.options.max_size.max(1).saturating_mul(MEGABYTE),
        };
        let (mut start, mut end, mut count, mut failed) = (0, 0, 0, 0);
        for next in ends.iter().copied() {
            let is_empty = self.size == 0 && end == start;
            if !is_empty && self.size + (next - start) as u64 > limit {
                failed += self.write(lines.get(start..end).unwrap_or_default(), count);
                if let Err(error) = self.rotate() {
                    // Events are worth more than the size of a file: rotation is tried again after as many bytes.
                    tracing::error!(%error, "cannot rotate the audit log");
                    self.size = 0;
                }
                (start, count) = (end, 0);
            }
            (end, count) = (next, count + 1);
        }
        failed + self.write(lines.get(start..end).unwrap_or_default(), count)
    }

    /// Writes a number of lines; returns how many could not be written.
    fn write(&mut self, lines: &[u8], count: usize) -> usize {
        match self.out.write_all(lines).and_then(|()| self.out.flush()) {
            Ok(()) => {
                self.size += lines.len() as u64;
                0
            }
            Err(error) => {
                tracing::error!(%error, "cannot write the audit log");
                count
            }
        }
    }

    /// Renames the file and begins a new one.
    fn rotate(&mut self) -> io::Result<()> {
        let backup = backup_path(&self.options.path, SystemTime::now());
        fs::rename(&self.options.path, &backup)?;
        (self.out, self.size) = open(&self.options.path)?;
        if self.options.compress {
            compress(&backup)?;
        }
        self.remove_old()
    }

    /// Removes rotated files beyond the number and the age that are kept.
    fn remove_old(&self) -> io::Result<()> {
        let mut backups = backups(&self.options.path)?;
        // The time is in the name, so that names sort by age.
        backups.sort_unstable_by(|a, b| b.cmp(a));
        let oldest = (self.options.max_age > 0)
            .then(|| SystemTime::now().checked_sub(DAY.saturating_mul(self.options.max_age as u32)))
            .flatten();
        for (at, path) in backups.iter().enumerate() {
            let is_surplus = self.options.max_backups > 0 && at >= self.options.max_backups;
            let is_old = oldest.is_some_and(|oldest| {
                fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|modified| modified < oldest)
            });
            if is_surplus || is_old {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == STANDARD_OUTPUT
}

/// Opens a file to append to, readable by its owner alone.
fn open(path: &Path) -> io::Result<(Box<dyn Write + Send>, u64)> {
    if is_standard_output(path) {
        return Ok((Box::new(io::stdout()), 0));
    }
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        fs::create_dir_all(directory)?;
    }
    let file = tenure_files::append(path)?;
    let size = file.metadata()?.len();
    Ok((Box::new(file), size))
}

/// Returns the name of a rotated file: `audit-2026-01-31T08-30-00.123.log`.
fn backup_path(path: &Path, now: SystemTime) -> PathBuf {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp { seconds: since.as_secs() as i64, nanos: since.subsec_nanos() };
    let time = now.format(Precision::Seconds).replace(':', "-");
    let time = time.trim_end_matches('Z');
    let (stem, extension) = stem_and_extension(path);
    let name = |more: &str| {
        path.with_file_name(format!("{stem}-{time}.{:03}{more}{extension}", since.subsec_millis()))
    };
    // Two rotations within a millisecond have different names.
    (0u32..)
        .map(|at| if at == 0 { name("") } else { name(&format!("-{at}")) })
        .find(|path| !path.exists())
        .unwrap_or_else(|| name(""))
}

fn stem_and_extension(path: &Path) -> (String, String) {
    let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let extension = text(path.extension());
    (text(path.file_stem()), if extension.is_empty() { extension } else { format!(".{extension}") })
}

/// Returns the rotated files of a log.
fn backups(path: &Path) -> io::Result<Vec<PathBuf>> {
    let directory =
        path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (stem, extension) = stem_and_extension(path);
    let is_backup = |name: &str| {
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let time =
            name.strip_prefix(&format!("{stem}-")).and_then(|rest| rest.strip_suffix(extension.as_str()));
        time.is_some_and(|time| time.starts_with(|first: char| first.is_ascii_digit()))
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if is_backup(&entry.file_name().to_string_lossy()) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Replaces a file with a compressed one.
fn compress(path: &Path) -> io::Result<()> {
    let target = tenure_files::with_suffix(path, ".gz");
    let file = tenure_files::create(&target)?;
    let mut encoder = GzEncoder::new(file, Compression::default());
    io::copy(&mut File::open(path)?, &mut encoder)?;
    encoder.finish()?.sync_all()?;
    fs::remove_file(path)
}

/// Returns an event as a line of text.
pub(crate) fn legacy(event: &Value) -> String {
    let text = |path: &[&str]| event.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default();
    let list = |path: &[&str]| {
        let items = event.at(path.iter().copied()).and_then(Value::as_array);
        let items = items.into_iter().flat_map(|items| items.iter()).filter_map(Value::as_str);
        items.map(|item| format!("{item:?}")).collect::<Vec<_>>().join(",")
    };
    let code = event.at(["responseStatus", "code"]).and_then(Value::as_i64);
    format!(
        "{} AUDIT: id={:?} stage={:?} ip={:?} method={:?} user={:?} groups={:?} as={:?} asgroups={:?} user-agent={:?} namespace={:?} uri={:?} response=\"{}\"",
        text(&["stageTimestamp"]),
        text(&["auditID"]),
        text(&["stage"]),
        list(&["sourceIPs"]).trim_matches('"'),
        text(&["verb"]),
        text(&["user", "username"]),
        list(&["user", "groups"]),
        text(&["impersonatedUser", "username"]),
        list(&["impersonatedUser", "groups"]),
        text(&["userAgent"]),
        text(&["objectRef", "namespace"]),
        text(&["requestURI"]),
        code.map_or("<deferred>".to_string(), |code| code.to_string()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_rotated_and_old_ones_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("logs/audit.log");
        let options = LogOptions { max_size: 1, max_backups: 2, compress: true, ..LogOptions::new(&path) };
        let mut log = LogFile::open(options).unwrap();
        let line = "x".repeat(400 * 1024) + "\n";
        // Alone and several at once.
        for count in [1, 1, 4, 3] {
            let ends: Vec<usize> = (1..=count).map(|at| at * line.len()).collect();
            assert_eq!(log.append(line.repeat(count).as_bytes(), &ends), 0);
        }
        // Two events fit in a file: four rotations, of which two files are kept.
        let kept = backups(&path).unwrap();
        assert_eq!(kept.len(), 2, "{kept:?}");
        assert!(kept.iter().all(|path| path.to_string_lossy().ends_with(".log.gz")), "{kept:?}");
        assert!(fs::metadata(&path).unwrap().len() < MEGABYTE);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_file_that_exists_is_continued() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        for _ in 0..2 {
            let mut log = LogFile::open(LogOptions::new(&path)).unwrap();
            assert_eq!(log.append(b"one\ntwo\n", &[4, 8]), 0);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n".repeat(2));
    }

    #[test]
    fn a_legacy_line_has_the_user_and_the_request() {
        let event = r#"{"auditID":"7","stage":"ResponseComplete","verb":"get","user":{"username":"ann","groups":["a","b"]},"sourceIPs":["127.0.0.1"],"requestURI":"/api","stageTimestamp":"T","responseStatus":{"code":200}}"#;
        let line = legacy(&event.parse().unwrap());
        assert!(line.starts_with(
            r#"T AUDIT: id="7" stage="ResponseComplete" ip="127.0.0.1" method="get" user="ann""#
        ));
        assert!(line.ends_with(r#"uri="/api" response="200""#), "{line}");
    }
}
