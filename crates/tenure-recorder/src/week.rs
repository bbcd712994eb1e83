//! A week of a busy cluster at speed, on a clock of its own: the directory reaches a size and keeps it.

use crate::{Archive, ArchiveOptions, ObjectKey, Observation, archive::RecordedKind};
use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, UNIX_EPOCH},
};
use tempfile::TempDir;
use tenure_apply::{Managers, State};
use tenure_history::{Rebuilt, Timeline};
use tenure_schema::TypeRef;
use tenure_store::{Clock, EmbeddedOptions, LedgerLimits};
use tenure_value::Value;

const OBJECTS: u64 = 400;
const DAYS: u64 = 7;
const CHANGES_A_DAY: u64 = 12_000;
/// How many changes come at once.
const TOGETHER: u64 = 50;
/// A limit that is reached on the first day, as the default one is in a cluster with a hundred times as many objects.
const BYTES: usize = 1 << 20;
/// What a directory has beside the changes: objects, the journal, free pages of the table.
const BESIDE: u64 = 12 << 20;

/// Returns a version of an object with a status of half a kilobyte that changes with each.
fn version(revision: u64) -> Rebuilt {
    let data = (0..10).map(|at| (format!("k{at}"), Value::from(format!("{at:048}"))));
    let status =
        Value::object([("count", Value::from(format!("{revision:012}"))), ("data", Value::object(data))]);
    let object = Value::object([
        ("apiVersion", Value::from("example.com/v1")),
        ("kind", "Widget".into()),
        ("status", status),
    ]);
    Rebuilt { state: State { object, managers: Managers::default() }, revision }
}

fn key(number: u64) -> ObjectKey {
    ObjectKey {
        group: "example.com".into(),
        resource: "widgets".into(),
        namespace: "default".into(),
        name: format!("w{number}"),
    }
}

fn size(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    entries
        .map(
            |entry| if entry.path().is_dir() { size(&entry.path()) } else { entry.metadata().unwrap().len() },
        )
        .sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_week_of_changes_stays_within_the_limits() {
    let directory = TempDir::new().unwrap();
    let seconds = Arc::new(AtomicU64::new(1_800_000_000));
    let now = {
        let seconds = seconds.clone();
        Arc::new(move || UNIX_EPOCH + Duration::from_secs(seconds.load(SeqCst)))
    };
    let store = EmbeddedOptions {
        ledger: LedgerLimits { bytes: BYTES, ..LedgerLimits::default() },
        journal_file: 1 << 20,
        clock: Clock::new({
            let now = now.clone();
            move || now()
        }),
        ..EmbeddedOptions::default()
    };
    let options = ArchiveOptions { store, now, ..ArchiveOptions::default() };
    let archive = Archive::open(directory.path(), options).unwrap();
    let kind = RecordedKind {
        group: "example.com".into(),
        resource: "widgets".into(),
        namespace: None,
        is_secret: false,
        ty: TypeRef::untyped(),
    };
    let first = (0..OBJECTS).map(|number| Observation::First(key(number), version(number + 1))).collect();
    archive.record(&kind, first, Some("1000")).await.unwrap();
    let (mut revision, mut sizes) = (1000, Vec::new());
    for _ in 0..DAYS {
        for _ in 0..CHANGES_A_DAY / TOGETHER {
            seconds.fetch_add(86_400 * TOGETHER / CHANGES_A_DAY, SeqCst);
            let changed = (0..TOGETHER).map(|_| {
                revision += 1;
                // Some objects change much more often than others.
                let number = (revision * revision) % OBJECTS;
                Observation::Changed(key(number), version(revision))
            });
            let changed: Vec<Observation> = changed.collect();
            archive.record(&kind, changed, Some(&revision.to_string())).await.unwrap();
        }
        sizes.push(size(directory.path()));
    }
    println!("{} changes, bytes at the end of each day: {sizes:?}", DAYS * CHANGES_A_DAY);
    assert!(sizes.iter().all(|size| *size < BESIDE + 4 * BYTES as u64), "{sizes:?}");
    assert!(sizes[6] < sizes[1] + sizes[1] / 2, "it still grows: {sizes:?}");
    // What is kept is the newest, and leads back without a gap.
    let mut kept = 0;
    for number in 0..OBJECTS {
        let Some(loaded) = archive.load(&key(number)).await.unwrap() else { continue };
        let steps =
            Timeline::new(loaded.live.clone(), loaded.entries()).collect::<Result<Vec<_>, _>>().unwrap();
        assert_eq!(steps.len(), loaded.entries().count());
        kept += steps.len();
    }
    assert!(kept > 500, "{kept} changes are kept");
}
