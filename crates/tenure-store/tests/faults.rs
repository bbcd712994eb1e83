//! Failing disks and clocks: every writer of a failed batch gets an error that names the file, nothing of it is applied, reads
//! continue, and writes work again as soon as the disk does.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tenure_store::embedded::{Disk, DiskOperation};
use tenure_store::{
    Clock, EmbeddedOptions, EmbeddedStore, Error, Expected, HistoryLimits, ListRequest, Revision, Store,
    Transaction, WatchRequest,
};

/// How the disk behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum DiskState {
    Healthy,
    Full,
    ReadOnly,
    WriteFails,
    SyncFails,
}

const DISK_STATES: [DiskState; 4] =
    [DiskState::Full, DiskState::ReadOnly, DiskState::WriteFails, DiskState::SyncFails];

/// A disk whose behaviour a test sets, and which can fail once at a chosen step.
#[derive(Debug)]
struct FaultyDisk {
    state: AtomicU8,
    /// Steps until the one that fails; below zero none does.
    countdown: AtomicI64,
}

impl FaultyDisk {
    fn new() -> Arc<FaultyDisk> {
        Arc::new(FaultyDisk { state: AtomicU8::new(0), countdown: AtomicI64::new(-1) })
    }

    fn set(&self, state: DiskState) {
        self.state.store(state as u8, Ordering::SeqCst);
    }
}

impl Disk for FaultyDisk {
    fn perform(&self, step: DiskOperation, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        if self.countdown.fetch_sub(1, Ordering::SeqCst) == 0 {
            return Err(io::Error::other("injected failure"));
        }
        let state = self.state.load(Ordering::SeqCst);
        let refused = match step {
            _ if state == DiskState::ReadOnly as u8 => Some(io::ErrorKind::ReadOnlyFilesystem),
            DiskOperation::Write(_) | DiskOperation::Resize(_) if state == DiskState::Full as u8 => {
                Some(io::ErrorKind::StorageFull)
            }
            // The error of a device that has lost a sector: `EIO` has no kind of its own.
            DiskOperation::Write(_) if state == DiskState::WriteFails as u8 => {
                return Err(io::Error::from_raw_os_error(5));
            }
            DiskOperation::Sync if state == DiskState::SyncFails as u8 => {
                return Err(io::Error::from_raw_os_error(5));
            }
            _ => None,
        };
        refused.map_or_else(act, |kind| Err(kind.into()))
    }
}

fn open(path: &Path, disk: &Arc<FaultyDisk>) -> EmbeddedStore {
    open_with(path, disk, HistoryLimits::unlimited())
}

fn open_with(path: &Path, disk: &Arc<FaultyDisk>, limits: HistoryLimits) -> EmbeddedStore {
    let options =
        EmbeddedOptions { limits, journal_file: 16 * 1024, disk: disk.clone(), ..EmbeddedOptions::default() };
    EmbeddedStore::open(path, options).unwrap()
}

fn put(key: &str, value: &str) -> Transaction {
    Transaction::new().put(key.to_owned(), Expected::Anything, value.to_owned())
}

/// Returns all entries as `key=value`.
async fn contents(store: &EmbeddedStore) -> String {
    let listing = store.list(ListRequest::default()).await.unwrap();
    let entry = |entry: &tenure_store::Entry| {
        format!("{}={}", entry.key.escape_ascii(), entry.value.bytes().escape_ascii())
    };
    listing.entries.iter().map(entry).collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_disk_is_reported_to_every_writer_and_survived() {
    let directory = tempfile::tempdir().unwrap();
    for state in DISK_STATES {
        let path = directory.path().join(format!("{state:?}"));
        let disk = FaultyDisk::new();
        let store = Arc::new(open(&path, &disk));
        let before = store.commit(put("a", "before")).await.unwrap().revision;
        let mut watch = store.watch(WatchRequest::default()).await.unwrap();

        disk.set(state);
        let writers: Vec<_> = (0..40)
            .map(|number| {
                let store = store.clone();
                tokio::spawn(async move { store.commit(put(&format!("lost-{number}"), "x")).await })
            })
            .collect();
        for writer in writers {
            let error = writer.await.unwrap().unwrap_err();
            assert!(matches!(error, Error::NotDurable { .. }), "{state:?}: {error}");
            let journal = path.join("journal-").display().to_string();
            assert!(error.to_string().contains(&journal), "{state:?}: names no file: {error}");
        }
        assert!(matches!(store.health().await, Err(Error::NotDurable { .. })), "{state:?}");
        assert_eq!(store.revision().await.unwrap(), before, "{state:?}: nothing was written");
        assert_eq!(contents(&store).await, "a=before", "{state:?}: reads work");
        assert_eq!(watch.progress(), before);

        disk.set(DiskState::Healthy);
        let after = store.commit(put("b", "after")).await.expect("writes work again").revision;
        assert_eq!(after.get(), before.get() + 1, "failed writes took no revisions");
        assert_eq!(watch.next().await.unwrap().revision(), after, "watchers saw no failed write");
        store.health().await.unwrap();

        drop((watch, store));
        let store = open(&path, &disk);
        assert_eq!(contents(&store).await, "a=before b=after", "{state:?}");
        let since = WatchRequest::default().after(Revision::ZERO);
        assert_eq!(store.watch(since).await.unwrap().next().await.unwrap().revision(), before, "{state:?}");
    }
}

#[tokio::test]
async fn an_idle_store_notices_that_the_disk_has_recovered() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::new();
    let store = open(directory.path(), &disk);
    disk.set(DiskState::Full);
    store.commit(put("a", "1")).await.unwrap_err();
    store.health().await.unwrap_err();
    disk.set(DiskState::Healthy);
    let deadline = Instant::now() + Duration::from_secs(20);
    while store.health().await.is_err() {
        assert!(Instant::now() < deadline, "the store still treats the disk as broken");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Fails each step of a commit in turn, and each step of the checkpoint that follows a short history. At every step,
/// acknowledged writes stay and refused ones do not reappear while the store is open.
#[tokio::test]
async fn a_failure_at_any_step_of_a_commit_loses_nothing() {
    for (count, steps) in [(u64::MAX, 4), (5, 24)] {
        let limits = HistoryLimits { count, ..HistoryLimits::unlimited() };
        let directory = tempfile::tempdir().unwrap();
        let disk = FaultyDisk::new();
        let mut store = open_with(directory.path(), &disk, limits.clone());
        let mut expected = std::collections::BTreeMap::new();
        let mut failures = 0;
        for step in 0..240 {
            let (key, value) = (format!("key-{:02}", step % 7), format!("{step}-{}", "v".repeat(2_000)));
            disk.countdown.store(step % steps, Ordering::SeqCst);
            match store.commit(put(&key, &value)).await {
                Ok(_) => drop(expected.insert(key, value)),
                Err(Error::NotDurable { .. }) => failures += 1,
                Err(error) => panic!("{error}"),
            }
            if step % 4 == 3 {
                disk.countdown.store(-1, Ordering::SeqCst);
            }
            let wanted: Vec<_> = expected.iter().map(|(key, value)| format!("{key}={value}")).collect();
            assert_eq!(contents(&store).await, wanted.join(" "), "after step {step}");
            if step % 12 == 3 {
                let value = format!("{step}-healthy");
                store.commit(put("always", &value)).await.expect("the disk is healthy again");
                expected.insert("always".to_owned(), value);
                drop(store);
                store = open_with(directory.path(), &disk, limits.clone());
                let wanted: Vec<_> = expected.iter().map(|(key, value)| format!("{key}={value}")).collect();
                assert_eq!(contents(&store).await, wanted.join(" "), "reopened after step {step}");
            }
        }
        assert!(failures > 5, "only {failures} failures were injected");
    }
}

/// A store that fails and then ends: acknowledged writes are kept; refused ones may be, as after any error whose
/// outcome could not be observed.
#[tokio::test]
async fn a_failure_followed_by_a_restart_keeps_acknowledged_writes() {
    let directory = tempfile::tempdir().unwrap();
    for (number, state) in DISK_STATES.into_iter().enumerate() {
        let path = directory.path().join(number.to_string());
        let disk = FaultyDisk::new();
        let store = open(&path, &disk);
        let revision = store.commit(put("a", "kept")).await.unwrap().revision;
        disk.set(state);
        store.commit(put("b", "refused")).await.unwrap_err();
        drop(store);
        disk.set(DiskState::Healthy);
        let store = open(&path, &disk);
        let contents = contents(&store).await;
        assert!(["a=kept", "a=kept b=refused"].contains(&&*contents), "{state:?}: {contents}");
        assert!(store.revision().await.unwrap() >= revision);
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_refused_clearly() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "not a directory").unwrap();
    let error = EmbeddedStore::open(&file, EmbeddedOptions::default()).unwrap_err();
    assert!(error.to_string().contains("cannot create the directory"), "{error}");
    let disk = FaultyDisk::new();
    disk.set(DiskState::ReadOnly);
    let options = EmbeddedOptions { disk, ..EmbeddedOptions::default() };
    let error = EmbeddedStore::open(directory.path().join("store"), options).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
    assert!(error.to_string().contains("table.new"), "names no file: {error}");
}

/// A full disk at the start: the error names the file, and the store opens when there is space.
#[tokio::test]
async fn a_full_disk_at_the_start_is_reported_with_the_path() {
    let directory = tempfile::tempdir().unwrap();
    let disk = FaultyDisk::new();
    let options = || EmbeddedOptions { disk: disk.clone(), ..EmbeddedOptions::default() };
    disk.set(DiskState::Full);
    let error = EmbeddedStore::open(directory.path(), options()).unwrap_err().to_string();
    assert!(error.contains(&directory.path().join("table.new").display().to_string()), "{error}");
    disk.set(DiskState::Healthy);
    EmbeddedStore::open(directory.path(), options()).unwrap().commit(put("a", "kept")).await.unwrap();
    disk.set(DiskState::Full);
    // The engine writes to its file when it opens it, which this disk refuses as well.
    let error = EmbeddedStore::open(directory.path(), options()).unwrap_err().to_string();
    assert!(error.contains(&directory.path().join("table.redb").display().to_string()), "{error}");
    disk.set(DiskState::Healthy);
    let store = EmbeddedStore::open(directory.path(), options()).unwrap();
    assert_eq!(contents(&store).await, "a=kept");
    disk.set(DiskState::Full);
    let error = store.commit(put("b", "refused")).await.unwrap_err().to_string();
    assert!(error.contains("journal-1"), "{error}");
}

/// A clock that is set back, or is before 1970, loses nothing and does not stop history from being bounded.
#[tokio::test]
async fn a_clock_that_is_set_back_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicI64::new(0));
    let clock = {
        let now = now.clone();
        Clock::new(move || {
            let seconds = now.load(Ordering::SeqCst);
            let distance = Duration::from_secs(seconds.unsigned_abs());
            if seconds < 0 { SystemTime::UNIX_EPOCH - distance } else { SystemTime::UNIX_EPOCH + distance }
        })
    };
    let limits = HistoryLimits { age: Duration::from_secs(60), count: 50, bytes: usize::MAX };
    let options =
        || EmbeddedOptions { limits: limits.clone(), clock: clock.clone(), ..EmbeddedOptions::default() };
    let mut written = 0;
    for seconds in [1_000_000, 900_000, -5_000_000_000, 0, 4_000_000_000, 30] {
        now.store(seconds, Ordering::SeqCst);
        let store = EmbeddedStore::open(directory.path(), options()).unwrap();
        for _ in 0..40 {
            let key = format!("{written:03}");
            written += 1;
            let put = put(&key, "v").record(key, "record");
            assert_eq!(store.commit(put).await.unwrap().revision.get(), written);
        }
        let listing = store.list(ListRequest::default()).await.unwrap();
        assert_eq!(listing.entries.len() as u64, written, "at {seconds} s");
        let kept = ListRequest::default().at(Revision::from_number(written - 1));
        store.list(kept).await.expect("the newest history is kept");
        let old =
            store.list(ListRequest::default().at(Revision::from_number(written.saturating_sub(52)))).await;
        assert!(
            written <= 52 || matches!(old, Err(Error::TooOld { .. })),
            "at {seconds} s history is not bounded"
        );
    }
}
