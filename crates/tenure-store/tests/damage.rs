//! Any one file of the directory is missing, truncated, doubled or from another store, with and without the watermark: the
//! store refuses to open and changes nothing, or it opens with everything that was acknowledged. It never has less.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tenure_store::{
    EmbeddedOptions, EmbeddedStore, Entry, Error, Expected, HistoryLimits, LedgerRequest, ListRequest, Store,
    Transaction,
};

const WRITES: u64 = 60;

/// Small files, so that a few writes make several of each kind.
fn options() -> EmbeddedOptions {
    let limits = HistoryLimits { count: 12, ..HistoryLimits::unlimited() };
    EmbeddedOptions { limits, journal_file: 6 * 1024, ..EmbeddedOptions::default() }
}

/// Writes a store and returns its entries.
async fn build(path: &Path, salt: u8) -> Vec<Entry> {
    let store = EmbeddedStore::open(path, options()).unwrap();
    for number in 0..WRITES {
        let key = format!("key-{}", number % 17);
        let value = vec![salt.wrapping_add(number as u8); 1_000];
        let transaction = Transaction::new().put(key.clone(), Expected::Anything, value);
        store.commit(transaction.record(key, format!("{number}"))).await.unwrap();
    }
    store.list(ListRequest::default()).await.unwrap().entries
}

fn files(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    // The lock names the process, and redb notes in the table that it is open; neither is data.
    let bytes = |name: &str| match name {
        "lock" | "table.redb" => Vec::new(),
        name => fs::read(path.join(name)).unwrap(),
    };
    files(path).into_iter().map(|name| (name.clone(), bytes(&name))).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in files(from) {
        fs::copy(from.join(&name), to.join(&name)).unwrap();
    }
}

/// The ways to damage a file, by name.
fn damages(file: &Path, other_store: &Path) -> Vec<(&'static str, PathBuf, Option<Vec<u8>>)> {
    let bytes = fs::read(file).unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    let mut damages = vec![("missing", file.to_owned(), None)];
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    for (what, length) in [
        ("empty", 0),
        ("halved", used / 2),
        ("shorter", used.saturating_sub(1)),
        ("cut", used.saturating_sub(900)),
    ] {
        damages.push((what, file.to_owned(), Some(bytes[..length].to_vec())));
    }
    let foreign = fs::read(other_store.join(name)).ok();
    damages.extend(foreign.map(|bytes| ("from another store", file.to_owned(), Some(bytes))));
    if let Some(number) = name.strip_prefix("journal-").and_then(|number| number.parse::<u64>().ok()) {
        for place in [number + 1, number + 5] {
            let double = file.with_file_name(format!("journal-{place}"));
            damages.push(("doubled", double, Some(bytes.clone())));
        }
    } else {
        damages.push(("doubled", file.with_extension("copy"), Some(bytes)));
    }
    damages
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_to_any_file_is_noticed() {
    let place = tempfile::tempdir().unwrap();
    let (whole, other, damaged) =
        (place.path().join("whole"), place.path().join("other"), place.path().join("damaged"));
    let expected = build(&whole, 0).await;
    build(&other, 100).await;
    let names = files(&whole);
    assert!(names.iter().filter(|name| name.starts_with("journal-")).count() >= 3, "{names:?}");
    let (mut refused, mut opened) = (0, 0);
    for name in names.iter().filter(|name| *name != "lock") {
        for watermark in ["present", "absent"] {
            for (what, file, bytes) in damages(&whole.join(name), &other) {
                copy(&whole, &damaged);
                let target = damaged.join(file.file_name().unwrap());
                match bytes {
                    Some(bytes) => fs::write(&target, bytes).unwrap(),
                    None => fs::remove_file(&target).unwrap(),
                }
                if watermark == "absent" {
                    let _ = fs::remove_file(damaged.join("acknowledged"));
                }
                let before = contents(&damaged);
                let case = format!("{} {what}, watermark {watermark}", target.display());
                match EmbeddedStore::open(&damaged, options()) {
                    Ok(store) => {
                        let entries = store.list(ListRequest::default()).await.unwrap().entries;
                        assert!(entries == expected, "{case}: opened with other data");
                        assert_eq!(store.revision().await.unwrap().get(), WRITES, "{case}");
                        opened += 1;
                    }
                    Err(error @ (Error::Damaged { .. } | Error::UnknownFormat { .. })) => {
                        assert!(contents(&damaged) == before, "{case}: refused, but files changed ({error})");
                        assert!(error.to_string().contains("damaged"), "{case}: names no file: {error}");
                        refused += 1;
                    }
                    Err(error) => panic!("{case}: {error}"),
                }
                fs::remove_dir_all(&damaged).unwrap();
            }
        }
    }
    assert!(refused > 40 && opened > 0, "{refused} refused, {opened} opened");
}

#[tokio::test]
async fn a_missing_journal_file_is_named_with_advice() {
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("store");
    build(&store, 0).await;
    let journals: Vec<_> = files(&store).into_iter().filter(|name| name.starts_with("journal-")).collect();
    let middle = store.join(&journals[journals.len() / 2]);
    fs::remove_file(&middle).unwrap();
    let error = EmbeddedStore::open(&store, options()).unwrap_err().to_string();
    for part in [
        &*middle.to_string_lossy(),
        "it is missing, but the later",
        "Restore a backup",
        "nothing was removed",
    ] {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

#[tokio::test]
async fn a_repair_keeps_what_can_be_read_and_reports_what_is_lost() {
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("store");
    build(&store, 0).await;
    let journals: Vec<_> = files(&store).into_iter().filter(|name| name.starts_with("journal-")).collect();
    let middle = store.join(&journals[journals.len() - 2]);
    fs::remove_file(&middle).unwrap();
    let names = files(&store);
    let repair = EmbeddedStore::repair(&store, &options()).unwrap();
    assert_eq!(repair.acknowledged.map(|revision| revision.get()), Some(WRITES));
    assert!(repair.recovered.get() < WRITES && repair.recovered.get() > 0, "{repair:?}");
    assert!(repair.problems.iter().any(|problem| problem.contains("missing")), "{repair:?}");
    let kept = files(&repair.old_files);
    let moved = names.iter().filter(|name| !["lock", "format"].contains(&&***name));
    assert!(moved.clone().all(|name| kept.contains(name)), "{names:?} {kept:?}");
    let store = EmbeddedStore::open(&store, options()).unwrap();
    let listing = store.list(ListRequest::default()).await.unwrap();
    assert_eq!((listing.entries.len(), listing.revision), (repair.entries, repair.revision));
    assert!(repair.revision.get() > WRITES, "no revision is assigned twice");
    let records = store.ledger(LedgerRequest::prefix("", 1_000)).await.unwrap().records;
    assert!(records.iter().all(|record| record.revision <= repair.recovered));
    store.commit(Transaction::new().put("new", Expected::Absent, "1")).await.unwrap();
}

#[tokio::test]
async fn a_missing_watermark_is_repaired_without_loss() {
    let place = tempfile::tempdir().unwrap();
    let store = place.path().join("store");
    let expected = build(&store, 0).await;
    fs::remove_file(store.join("acknowledged")).unwrap();
    let error = EmbeddedStore::open(&store, options()).unwrap_err().to_string();
    assert!(
        error.contains("acknowledged: damaged: it is missing") && error.contains("tenure store repair"),
        "{error}"
    );
    let repair = EmbeddedStore::repair(&store, &options()).unwrap();
    assert_eq!((repair.recovered.get(), repair.acknowledged), (WRITES, None));
    let store = EmbeddedStore::open(&store, options()).unwrap();
    assert_eq!(store.list(ListRequest::default()).await.unwrap().entries, expected);
}
