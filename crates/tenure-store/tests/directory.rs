//! The directory of an embedded store: lock, format, private modes, backups, and space that is freed.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tenure_store::embedded::{Disk, DiskOperation};
use tenure_store::{
    EmbeddedOptions, EmbeddedStore, Error, Expected, HistoryLimits, ListRequest, Revision, Store,
    Transaction, WatchRequest,
};

fn open(path: &Path) -> EmbeddedStore {
    EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap()
}

fn refusal(path: &Path) -> String {
    EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap_err().to_string()
}

fn restore(backup: impl AsRef<Path>, directory: impl AsRef<Path>) -> tenure_store::Result<Revision> {
    EmbeddedStore::restore(backup, directory, &EmbeddedOptions::default())
}

fn put(key: &str, value: impl Into<bytes::Bytes>) -> Transaction {
    Transaction::new().put(key.to_owned(), Expected::Anything, value)
}

async fn contents(store: &EmbeddedStore) -> Vec<tenure_store::Entry> {
    store.list(ListRequest::default()).await.unwrap().entries
}

fn size(path: &Path) -> u64 {
    std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

#[tokio::test]
async fn everything_is_there_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    for number in 0..20 {
        store.commit(put(&format!("key-{}", number % 6), number.to_string())).await.unwrap();
    }
    store.commit(Transaction::new().delete("key-2", Expected::Present)).await.unwrap();
    let (before, revision) = (contents(&store).await, store.revision().await.unwrap());
    drop(store);
    let store = open(directory.path());
    assert_eq!((contents(&store).await, store.revision().await.unwrap()), (before, revision));
    let mut watch = store.watch(WatchRequest::default().after(Revision::ZERO)).await.unwrap();
    for expected in 1..=revision.get() {
        assert_eq!(watch.next().await.unwrap().revision().get(), expected, "the history is kept as well");
    }
    let next = store.commit(put("key-2", "again")).await.unwrap().revision;
    assert_eq!(next.get(), revision.get() + 1);
}

#[tokio::test]
async fn revisions_continue_in_an_empty_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    store.commit(put("a", "1")).await.unwrap();
    let deleted = store.commit(Transaction::new().delete("a", Expected::Present)).await.unwrap().revision;
    store.compact(tenure_store::Compaction::KeepCount(0)).await.unwrap();
    drop(store);
    let store = open(directory.path());
    assert_eq!(store.revision().await.unwrap(), deleted);
    assert!(store.commit(put("a", "2")).await.unwrap().revision > deleted);
}

#[test]
fn one_process_uses_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let error = EmbeddedStore::open(directory.path(), EmbeddedOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }));
    let expected = format!(
        "{}: in use by process {}; stop it or choose another directory",
        directory.path().display(),
        std::process::id()
    );
    assert_eq!(error.to_string(), expected);
    drop(store);
    open(directory.path());
}

#[tokio::test]
async fn the_former_format_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    store.commit(put("a", "1")).await.unwrap();
    drop(store);
    let format = directory.path().join("format");
    let text = std::fs::read_to_string(&format).unwrap();
    std::fs::write(&format, text.replace("tenure-store 4", "tenure-store 3")).unwrap();
    assert_eq!(open(directory.path()).get(b"a").await.unwrap().unwrap().value, "1");
    assert_eq!(std::fs::read_to_string(&format).unwrap(), text);
}

#[test]
fn an_unknown_format_is_refused_with_advice() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let format = directory.path().join("format");
    let cases = [
        ("tenure-store 5\n", "has format 5, and this version reads format 4; use the newer version"),
        (
            "tenure-store 2\n",
            "has format 2, and this version reads format 4; export it with the version that",
        ),
        ("something else", "has format \"something else\", and this version reads format 4; choose another"),
        ("", "has format \"\", and this version reads format 4; choose another directory"),
        ("tenure-store 3\n", "damaged: unexpected content \"tenure-store 3\""),
        ("tenure-store 4\n", "damaged: unexpected content \"tenure-store 4\""),
    ];
    for (text, expected) in cases {
        std::fs::write(&format, text).unwrap();
        let error = refusal(directory.path());
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    std::fs::remove_file(&format).unwrap();
    let error = refusal(directory.path());
    assert!(error.contains("has format none, but contains"), "{error}");
}

#[test]
fn a_foreign_directory_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("thesis.txt"), "years of work").unwrap();
    let error = refusal(directory.path());
    assert!(error.contains("none, but contains thesis.txt"), "{error}");
    let files = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(files, 2, "nothing but the lock was added");
}

#[tokio::test]
async fn files_from_the_past_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (store, journal) = (directory.path().join("store"), directory.path().join("store/journal-1"));
    open(&store).commit(put("a", "1")).await.unwrap();
    std::fs::copy(&journal, directory.path().join("old")).unwrap();
    open(&store).commit(put("a", "2")).await.unwrap();
    std::fs::copy(directory.path().join("old"), &journal).unwrap();
    let error = refusal(&store);
    assert!(error.contains("ends at revision 1, but writes up to revision 2 were acknowledged"), "{error}");
    std::fs::remove_file(&journal).unwrap();
    let error = refusal(&store);
    assert!(error.contains("ends at revision 0, but writes up to revision 2 were acknowledged"), "{error}");
    std::fs::remove_file(store.join("table.redb")).unwrap();
    assert!(refusal(&store).contains("table.redb: damaged: it is missing"));
}

/// The table follows the kept history, and the journal before it is removed; reopening shows the same content.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_table_takes_over_forgotten_history() {
    let directory = tempfile::tempdir().unwrap();
    let limits = HistoryLimits { count: 50, ..HistoryLimits::default() };
    let options = EmbeddedOptions { limits, ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(directory.path(), options.clone()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut number = 0;
    let exists = |number: u32| directory.path().join(format!("journal-{number}")).exists();
    while !exists(3) || exists(1) || exists(2) {
        assert!(Instant::now() < deadline, "the journal only grows");
        number += 1;
        store.commit(put(&format!("key-{}", number % 300), vec![number as u8; 100_000])).await.unwrap();
        if number % 7 == 0 {
            let gone = format!("key-{}", number / 7 % 300);
            store.commit(Transaction::new().delete(gone, Expected::Anything)).await.unwrap();
        }
    }
    let (before, revision) = (contents(&store).await, store.revision().await.unwrap());
    let past = ListRequest::default().at(Revision::from_number(revision.get() - 40));
    let then = store.list(past.clone()).await.unwrap();
    drop(store);
    let store = EmbeddedStore::open(directory.path(), options).unwrap();
    assert_eq!((contents(&store).await, store.revision().await.unwrap()), (before, revision));
    assert_eq!(store.list(past).await.unwrap(), then, "the history is the same as well");
}

#[tokio::test]
async fn a_backup_can_be_restored() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let store = open(&path("store"));
    for number in 0..50 {
        store.commit(put(&format!("key-{}", number % 20), vec![number as u8; 3_000])).await.unwrap();
    }
    let before = contents(&store).await;
    let revision = store.backup(path("backup")).unwrap();
    assert_eq!(revision, store.revision().await.unwrap());
    store.commit(put("later", "not in the backup")).await.unwrap();

    let restored = restore(path("backup"), path("restored")).unwrap();
    let copy = open(&path("restored"));
    assert_eq!(contents(&copy).await, before);
    assert_eq!(copy.revision().await.unwrap(), restored);
    assert!(
        restored > store.revision().await.unwrap(),
        "revisions that clients may have seen are not reused"
    );
    let resumed = copy.watch(WatchRequest::default().after(revision)).await;
    assert!(matches!(resumed, Err(Error::TooOld { .. })), "{resumed:?}");
    let next = copy.commit(put("a", "1")).await.unwrap().revision;
    assert_eq!(next.get(), restored.get() + 1);

    let again = restore(path("backup"), path("store"));
    drop(store);
    let and_again = restore(path("backup"), path("store"));
    assert!(matches!(again, Err(Error::Locked { .. })), "{again:?}");
    assert!(and_again.unwrap_err().to_string().contains("restore into an empty directory"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_of_one_revision_while_writes_continue() {
    let directory = tempfile::tempdir().unwrap();
    let store = std::sync::Arc::new(open(&directory.path().join("store")));
    let pair =
        |number: u64| put("left", number.to_string()).put("right", Expected::Anything, number.to_string());
    store.commit(pair(0)).await.unwrap();
    let writer = tokio::spawn({
        let store = store.clone();
        async move {
            for number in 1..300 {
                store.commit(pair(number)).await.unwrap();
            }
        }
    });
    for number in 0..10 {
        let (backup, restored) = (directory.path().join("backup"), directory.path().join(number.to_string()));
        let store = store.clone();
        let to = backup.clone();
        tokio::task::spawn_blocking(move || store.backup(to)).await.unwrap().unwrap();
        restore(&backup, &restored).unwrap();
        let entries = contents(&open(&restored)).await;
        assert_eq!((entries.len(), &entries[0].value), (2, &entries[1].value));
    }
    writer.await.unwrap();
}

#[tokio::test]
async fn a_damaged_backup_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let store = open(&path("store"));
    store.commit(put("a", "some value")).await.unwrap();
    store.commit(put("b", "another value")).await.unwrap();
    store.backup(path("backup")).unwrap();
    let good = std::fs::read(path("backup")).unwrap();
    for length in 0..good.len() {
        std::fs::write(path("short"), &good[..length]).unwrap();
        let error = restore(path("short"), path("restored")).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{length} bytes: {error}");
    }
    for place in 0..good.len() {
        let mut bad = good.clone();
        bad[place] ^= 0x41;
        std::fs::write(path("bad"), &bad).unwrap();
        let error = restore(path("bad"), path("restored")).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "byte {place}: {error}");
    }
    let mut long = good.clone();
    long.push(0);
    std::fs::write(path("long"), &long).unwrap();
    restore(path("long"), path("restored")).unwrap_err();
    assert!(!path("restored").exists(), "a refused backup leaves nothing behind");
}

/// The soak benchmark, smaller: overwriting the same objects does not make the directory grow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overwriting_does_not_grow_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let limits = HistoryLimits { count: 200, ..HistoryLimits::default() };
    let store =
        EmbeddedStore::open(directory.path(), EmbeddedOptions { limits, ..EmbeddedOptions::default() });
    let store = std::sync::Arc::new(store.unwrap());
    let mut sizes = Vec::new();
    for _ in 0..6 {
        let writers: Vec<_> = (0..20)
            .map(|writer| {
                let store = store.clone();
                tokio::spawn(async move {
                    for round in 0..160u8 {
                        let key = format!("object-{}", (writer * 7 + usize::from(round)) % 100);
                        store.commit(put(&key, vec![round; 3_000])).await.unwrap();
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        sizes.push(size(directory.path()));
    }
    assert!(sizes[5] < 40_000_000, "19,200 writes of 3 KB: {sizes:?}");
}

/// A disk that counts its syncs.
#[derive(Debug, Default)]
struct CountingDisk(AtomicUsize);

impl Disk for CountingDisk {
    fn perform(&self, step: DiskOperation, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        self.0.fetch_add(usize::from(step == DiskOperation::Sync), Ordering::SeqCst);
        act()
    }
}

#[tokio::test]
async fn forgetting_history_along_with_writes_costs_no_extra_sync() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(CountingDisk::default());
    let limits = HistoryLimits { count: 10, ..HistoryLimits::unlimited() };
    let options = EmbeddedOptions { limits, disk: disk.clone(), ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(directory.path(), options).unwrap();
    for number in 0..50 {
        store.commit(put("a", number.to_string())).await.unwrap();
    }
    let before = disk.0.load(Ordering::SeqCst);
    for number in 50..150 {
        store.commit(put("a", number.to_string())).await.unwrap();
    }
    let syncs = disk.0.load(Ordering::SeqCst) - before;
    // After a second without a write the store cleans up, and on a busy machine a write can take that long.
    assert!((100..110).contains(&syncs), "{syncs} syncs for 100 writes");
    let past = store.list(ListRequest::default().at(Revision::from_number(130))).await;
    assert!(matches!(past, Err(Error::TooOld { .. })), "{past:?}");
}

#[tokio::test]
async fn an_idle_store_forgets_history_by_age() {
    let directory = tempfile::tempdir().unwrap();
    let limits = HistoryLimits { age: Duration::from_millis(200), ..HistoryLimits::default() };
    let options = EmbeddedOptions { limits, ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(directory.path(), options).unwrap();
    let first = store.commit(put("a", "0")).await.unwrap().revision;
    for number in 1..400 {
        store.commit(put("a", number.to_string())).await.unwrap();
    }
    let newest = store.revision().await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let past = store.list(ListRequest::default().at(Revision::from_number(newest.get() - 1))).await;
        if matches!(past, Err(Error::TooOld { .. })) {
            break;
        }
        assert!(Instant::now() < deadline, "history from revision {first} on is still there");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(contents(&store).await[0].value, "399");
}

/// Returns the modes of a directory and its files.
fn modes(path: &Path) -> Vec<(String, u32)> {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut modes = vec![("directory".to_owned(), mode(path))];
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        modes.push((path.file_name().unwrap().to_string_lossy().into_owned(), mode(&path)));
    }
    modes
}

#[tokio::test]
async fn directories_and_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = open(&path);
    store.commit(put("a", "secret")).await.unwrap();
    store.backup(directory.path().join("backup")).unwrap();
    let backup = std::fs::metadata(directory.path().join("backup")).unwrap();
    assert_eq!(backup.permissions().mode() & 0o777, 0o600);
    let check = |when: &str| {
        for (name, mode) in modes(&path) {
            let expected = if name == "directory" { 0o700 } else { 0o600 };
            assert_eq!(mode, expected, "{name} {when}: {mode:o}");
        }
    };
    check("of a new store");
    drop(store);
    // A store of an older version, or one that was copied carelessly.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    for entry in std::fs::read_dir(&path).unwrap() {
        std::fs::set_permissions(entry.unwrap().path(), std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    open(&path).commit(put("a", "2")).await.unwrap();
    check("of a store that was opened");
}
