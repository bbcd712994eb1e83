//! Disks that fail: every writer of a failed commit hears of it, nothing of it happened, reads go on, and writes work
//! again as soon as the disk does.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::time::{Duration, Instant};
use tenure_store::embedded::{Disk, DiskOperation};
use tenure_store::{
    EmbeddedOptions, EmbeddedStore, Error, Expected, HistoryLimits, ListRequest, Revision, Store,
    Transaction, WatchRequest,
};

/// What the disk does at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Mood {
    Healthy,
    Full,
    ReadOnly,
    SyncFails,
}

/// A disk whose mood a test sets, and which can fail once at a chosen step.
#[derive(Debug)]
struct MoodyDisk {
    mood: AtomicU8,
    /// Steps until the one that fails; below zero none does.
    countdown: AtomicI64,
}

impl MoodyDisk {
    fn new() -> Arc<MoodyDisk> {
        Arc::new(MoodyDisk { mood: AtomicU8::new(0), countdown: AtomicI64::new(-1) })
    }

    fn set(&self, mood: Mood) {
        self.mood.store(mood as u8, Ordering::SeqCst);
    }
}

impl Disk for MoodyDisk {
    fn perform(&self, step: DiskOperation, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        if self.countdown.fetch_sub(1, Ordering::SeqCst) == 0 {
            return Err(io::Error::other("injected failure"));
        }
        let mood = self.mood.load(Ordering::SeqCst);
        let refused = match step {
            _ if mood == Mood::ReadOnly as u8 => Some(io::ErrorKind::ReadOnlyFilesystem),
            DiskOperation::Write(_) | DiskOperation::Resize(_) if mood == Mood::Full as u8 => {
                Some(io::ErrorKind::StorageFull)
            }
            DiskOperation::Sync if mood == Mood::SyncFails as u8 => Some(io::ErrorKind::Other),
            _ => None,
        };
        refused.map_or_else(act, |kind| Err(kind.into()))
    }
}

fn open(path: &Path, disk: &Arc<MoodyDisk>) -> EmbeddedStore {
    open_with(path, disk, HistoryLimits::unlimited())
}

fn open_with(path: &Path, disk: &Arc<MoodyDisk>, limits: HistoryLimits) -> EmbeddedStore {
    let options = EmbeddedOptions { limits, journal_file: 16 * 1024, disk: disk.clone() };
    EmbeddedStore::open(path, options).unwrap()
}

fn put(key: &str, value: &str) -> Transaction {
    Transaction::new().put(key.to_owned(), Expected::Anything, value.to_owned())
}

/// Returns all entries as `key=value`.
async fn contents(store: &EmbeddedStore) -> String {
    let listing = store.list(ListRequest::default()).await.unwrap();
    let entry =
        |entry: &tenure_store::Entry| format!("{}={}", entry.key.escape_ascii(), entry.value.escape_ascii());
    listing.entries.iter().map(entry).collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_disk_is_reported_to_every_writer_and_survived() {
    let directory = tempfile::tempdir().unwrap();
    for mood in [Mood::Full, Mood::ReadOnly, Mood::SyncFails] {
        let path = directory.path().join(format!("{mood:?}"));
        let disk = MoodyDisk::new();
        let store = Arc::new(open(&path, &disk));
        let before = store.commit(put("a", "before")).await.unwrap().revision;
        let mut watch = store.watch(WatchRequest::default()).await.unwrap();

        disk.set(mood);
        let writers: Vec<_> = (0..40)
            .map(|number| {
                let store = store.clone();
                tokio::spawn(async move { store.commit(put(&format!("lost-{number}"), "x")).await })
            })
            .collect();
        for writer in writers {
            let error = writer.await.unwrap().unwrap_err();
            assert!(matches!(error, Error::NotDurable { .. }), "{mood:?}: {error}");
            assert!(error.to_string().len() > "the write could not be made durable: ".len());
        }
        assert!(matches!(store.health().await, Err(Error::NotDurable { .. })), "{mood:?}");
        assert_eq!(store.revision().await.unwrap(), before, "{mood:?}: nothing happened");
        assert_eq!(contents(&store).await, "a=before", "{mood:?}: reads go on");
        assert_eq!(watch.progress(), before);

        disk.set(Mood::Healthy);
        let after = store.commit(put("b", "after")).await.expect("writes work again").revision;
        assert_eq!(after.get(), before.get() + 1, "failed writes took no revisions");
        assert_eq!(watch.next().await.unwrap().revision(), after, "watchers saw nothing of what failed");
        store.health().await.unwrap();

        drop((watch, store));
        let store = open(&path, &disk);
        assert_eq!(contents(&store).await, "a=before b=after", "{mood:?}");
        let since = WatchRequest::default().after(Revision::ZERO);
        assert_eq!(store.watch(since).await.unwrap().next().await.unwrap().revision(), before, "{mood:?}");
    }
}

#[tokio::test]
async fn an_idle_store_notices_that_the_disk_has_recovered() {
    let directory = tempfile::tempdir().unwrap();
    let disk = MoodyDisk::new();
    let store = open(directory.path(), &disk);
    disk.set(Mood::Full);
    store.commit(put("a", "1")).await.unwrap_err();
    store.health().await.unwrap_err();
    disk.set(Mood::Healthy);
    let deadline = Instant::now() + Duration::from_secs(20);
    while store.health().await.is_err() {
        assert!(Instant::now() < deadline, "the store still takes the disk for broken");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Fails each step of a commit in slot, and each step of the table that follows a short history. Whatever the step was,
/// acknowledged writes stay and refused ones do not come back while the store lives.
#[tokio::test]
async fn a_failure_at_any_step_of_a_commit_loses_nothing() {
    for (count, steps) in [(u64::MAX, 4), (5, 24)] {
        let limits = HistoryLimits { count, ..HistoryLimits::unlimited() };
        let directory = tempfile::tempdir().unwrap();
        let disk = MoodyDisk::new();
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
        assert!(failures > 5, "only {failures} failures were met");
    }
}

/// A store that fails and then dies: what was acknowledged is there; what was refused may be, as after any error whose
/// outcome nobody could observe.
#[tokio::test]
async fn a_failure_followed_by_a_restart_keeps_what_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    for (number, mood) in [Mood::Full, Mood::ReadOnly, Mood::SyncFails].into_iter().enumerate() {
        let path = directory.path().join(number.to_string());
        let disk = MoodyDisk::new();
        let store = open(&path, &disk);
        let revision = store.commit(put("a", "kept")).await.unwrap().revision;
        disk.set(mood);
        store.commit(put("b", "refused")).await.unwrap_err();
        drop(store);
        disk.set(Mood::Healthy);
        let store = open(&path, &disk);
        let contents = contents(&store).await;
        assert!(["a=kept", "a=kept b=refused"].contains(&&*contents), "{mood:?}: {contents}");
        assert!(store.revision().await.unwrap() >= revision);
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_refused_clearly() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "not a directory").unwrap();
    let error = EmbeddedStore::open(&file, EmbeddedOptions::default()).unwrap_err();
    assert!(error.to_string().contains("cannot make the directory"), "{error}");
    let disk = MoodyDisk::new();
    disk.set(Mood::ReadOnly);
    let options = EmbeddedOptions { disk, ..EmbeddedOptions::default() };
    let error = EmbeddedStore::open(directory.path().join("store"), options).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
}
