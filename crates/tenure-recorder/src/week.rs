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

const DAYS: u64 = 7;
/// How many changes come at once.
const TOGETHER: u64 = 50;

/// A cluster and what is kept of it.
struct Cluster {
    objects: u64,
    changes_a_day: u64,
    store: EmbeddedOptions,
    /// How many bytes the directory may take.
    most: u64,
    /// How many changes are kept at least.
    kept: usize,
}

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
    // A limit that is reached on the first day, as the default one is in a cluster with a hundred times as many objects. Beside the
    // changes a directory has objects, the journal, and free pages of the table.
    let bytes = 1 << 20;
    let ledger = LedgerLimits { bytes, ..LedgerLimits::default() };
    let store = EmbeddedOptions { ledger, journal_file: 1 << 20, ..EmbeddedOptions::default() };
    let most = (12 << 20) + 4 * bytes as u64;
    a_week_of(Cluster { objects: 400, changes_a_day: 12_000, store, most, kept: 500 }).await;
}

/// 50,000 objects, five changes a second on average, and the limits that `tenure record` has by default: the directory stays within
/// the volume that its manifest requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a quarter of an hour: cargo test --release -p tenure-recorder --lib -- --ignored --nocapture a_week"]
async fn a_week_of_a_large_cluster_stays_within_the_default_limits() {
    let store = EmbeddedOptions::default();
    a_week_of(Cluster { objects: 50_000, changes_a_day: 432_000, store, most: 4 << 30, kept: 100_000 }).await;
}

async fn a_week_of(cluster: Cluster) {
    let directory = TempDir::new().unwrap();
    let seconds = Arc::new(AtomicU64::new(1_800_000_000));
    let now = {
        let seconds = seconds.clone();
        Arc::new(move || UNIX_EPOCH + Duration::from_secs(seconds.load(SeqCst)))
    };
    let clock = Clock::new({
        let now = now.clone();
        move || now()
    });
    let Cluster { objects, changes_a_day, store, most, kept: least } = cluster;
    let store = EmbeddedOptions { clock, ..store };
    let options = ArchiveOptions { store, now, ..ArchiveOptions::default() };
    let archive = Archive::open(directory.path(), options).unwrap();
    let kind = RecordedKind {
        group: "example.com".into(),
        resource: "widgets".into(),
        namespace: None,
        is_secret: false,
        ty: TypeRef::untyped(),
    };
    for at in (0..objects).step_by(500) {
        let page = at..objects.min(at + 500);
        let page = page.map(|number| Observation::First(key(number), version(number + 1))).collect();
        archive.record(&kind, page, Some(&objects.to_string())).await.unwrap();
    }
    let (mut revision, mut sizes) = (objects, Vec::new());
    for _ in 0..DAYS {
        for _ in 0..changes_a_day / TOGETHER {
            seconds.fetch_add(86_400 * TOGETHER / changes_a_day, SeqCst);
            let changed = (0..TOGETHER).map(|_| {
                revision += 1;
                // Some objects change much more often than others.
                let number = (revision * revision) % objects;
                Observation::Changed(key(number), version(revision))
            });
            let changed: Vec<Observation> = changed.collect();
            archive.record(&kind, changed, Some(&revision.to_string())).await.unwrap();
        }
        sizes.push(size(directory.path()));
    }
    println!("{} changes, bytes at the end of each day: {sizes:?}", DAYS * changes_a_day);
    assert!(sizes.iter().all(|size| *size < most), "{sizes:?}");
    assert!(sizes[6] < sizes[1] + sizes[1] / 2, "it still grows: {sizes:?}");
    // What is kept is the newest, and leads back without a gap.
    let mut kept = 0;
    for number in 0..objects {
        let Some(loaded) = archive.load(&key(number)).await.unwrap() else { continue };
        let steps =
            Timeline::new(loaded.live.clone(), loaded.entries()).collect::<Result<Vec<_>, _>>().unwrap();
        assert_eq!(steps.len(), loaded.entries().count());
        kept += steps.len();
    }
    println!("{kept} changes are kept");
    assert!(kept > least, "{kept} changes are kept");
}
