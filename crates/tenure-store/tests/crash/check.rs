//! Checks a directory across many kills: records what was acknowledged and what a watcher has seen, and compares
//! both with the content after each reopening.

use super::{limits, writer};
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap};
use std::iter::Sum;
use std::path::Path;
use tenure_store::{
    EmbeddedOptions, EmbeddedStore, Entry, Error, LedgerLimits, LedgerRequest, ListRequest, Revision, Signal,
    Store, WatchRequest,
};

/// Totals of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    pub kills: u64,
    pub acknowledged: u64,
    pub resumed: u64,
    pub refused: u64,
    pub recovered: u64,
}

impl Sum for Report {
    fn sum<I: Iterator<Item = Report>>(reports: I) -> Report {
        reports.fold(Report::default(), |a, b| Report {
            kills: a.kills + b.kills,
            acknowledged: a.acknowledged + b.acknowledged,
            resumed: a.resumed + b.resumed,
            refused: a.refused + b.refused,
            recovered: a.recovered + b.recovered,
        })
    }
}

/// The expected state of a key: its last acknowledged write.
#[derive(Clone, Copy, Debug)]
struct Acknowledged {
    revision: u64,
    /// The number written; `None` for a deletion.
    number: Option<u64>,
}

#[derive(Default)]
pub struct Witness {
    keys: HashMap<String, Acknowledged>,
    given: HashMap<u64, String>,
    newest: u64,
    watched: Revision,
    mirror: BTreeMap<Bytes, Entry>,
    pub report: Report,
}

impl Witness {
    /// Records a line of the writer's output. An incomplete line is ignored.
    pub fn record_output(&mut self, line: &str) {
        let mut words = line.split(' ');
        let (Some(revision), Some(key), Some(what)) = (words.next(), words.next(), words.next()) else {
            return;
        };
        let revision: u64 = revision.parse().unwrap();
        let other = self.given.insert(revision, format!("{key} {what}"));
        assert_eq!(other, None, "revision {revision} was given twice, now to {key}");
        let number = what.parse().ok();
        let known = self.keys.entry(key.to_owned()).or_insert(Acknowledged { revision, number });
        if known.revision <= revision {
            *known = Acknowledged { revision, number };
        }
        self.newest = self.newest.max(revision);
        self.report.acknowledged += 1;
    }

    /// Opens the directory and checks everything; the watch continues where the last inspection ended.
    pub fn inspect(&mut self, directory: &Path, history: u64) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let options = EmbeddedOptions { limits: limits(history), ..EmbeddedOptions::default() };
        let store = EmbeddedStore::open(directory, options).expect("the store must open after any kill");
        runtime.block_on(async {
            self.check_acknowledged(&store).await;
            self.check_ledger(&store).await;
            self.watch_on(&store).await;
        });
    }

    /// Checks that every acknowledged write, or a later one of the same key, is present and intact.
    pub async fn check_acknowledged(&self, store: &EmbeddedStore) {
        let revision = store.revision().await.unwrap().get();
        assert!(
            revision >= self.newest,
            "revision {} was acknowledged, but the store is at {revision}",
            self.newest
        );
        let listing = store.list(ListRequest::default()).await.unwrap();
        let entries: HashMap<_, _> = listing.entries.iter().map(|entry| (&entry.key[..], entry)).collect();
        for entry in &listing.entries {
            writer::number_of(&entry.value.bytes());
            if !entry.key.starts_with(b"twin-") {
                let twin = entries.get(&[b"twin-", &entry.key[..]].concat()[..]).expect("half a transaction");
                assert_eq!((&entry.value, entry.modified), (&twin.value, twin.modified));
            }
        }
        for (key, acknowledged) in &self.keys {
            match (entries.get(key.as_bytes()), acknowledged.number) {
                (Some(entry), number) if entry.modified.get() == acknowledged.revision => {
                    assert_eq!(Some(writer::number_of(&entry.value.bytes())), number, "{key}");
                }
                // A later write whose acknowledgement the writer did not live to print.
                (Some(entry), _) => assert!(entry.modified.get() > acknowledged.revision, "{key} went back"),
                (None, None) => {}
                (None, Some(number)) => {
                    let newer = revision > acknowledged.revision;
                    assert!(newer, "{key}: number {number} is lost at {}", acknowledged.revision);
                    // Only an unacknowledged deletion explains this; the watch below has to show it.
                }
            }
        }
    }

    /// Checks that the ledger and the entries agree: the newest record of a key is that of its entry, or of its
    /// deletion, and every acknowledged write that the limits keep has its record.
    pub async fn check_ledger(&self, store: &EmbeddedStore) {
        let listing = store.list(ListRequest::default()).await.unwrap();
        let page = store.ledger(LedgerRequest::prefix("", usize::MAX)).await.unwrap();
        let mut newest: HashMap<Bytes, (Revision, u64)> = HashMap::new();
        let mut kept: HashMap<u64, (String, u64)> = HashMap::new();
        for record in page.records {
            let number = writer::number_of(&record.record);
            let key = String::from_utf8(record.key.to_vec()).unwrap();
            newest.entry(record.key).or_insert((record.revision, number));
            kept.insert(record.revision.get(), (key, number));
        }
        for entry in listing.entries.iter().filter(|entry| !entry.key.starts_with(b"twin-")) {
            let expected = (entry.modified, writer::number_of(&entry.value.bytes()));
            assert_eq!(newest.remove(&entry.key), Some(expected), "the record of {:?}", entry.key);
        }
        for (key, (revision, number)) in newest {
            assert_eq!(
                number, 0,
                "{key:?} is gone, but its last record of revision {revision} is not a deletion"
            );
        }
        for (key, acknowledged) in &self.keys {
            if let Some(record) = kept.get(&acknowledged.revision) {
                assert_eq!(*record, (key.clone(), acknowledged.number.unwrap_or(0)));
            } else {
                let later = kept.values().filter(|(other, _)| other == key).count();
                assert!(later >= LedgerLimits::default().per_key, "{key}: an acknowledged record is lost");
            }
        }
    }

    /// Reads every change since the last inspection; together they must lead to exactly the current content.
    async fn watch_on(&mut self, store: &EmbeddedStore) {
        let listing = store.list(ListRequest::default()).await.unwrap();
        let current: BTreeMap<_, _> =
            listing.entries.iter().map(|entry| (entry.key.clone(), entry.clone())).collect();
        match store.watch(WatchRequest::default().after(self.watched)).await {
            Ok(mut watch) => {
                while self.watched < listing.revision {
                    let Signal::Changes(changes) = watch.next().await.unwrap() else { continue };
                    assert_eq!(changes.revision().get(), self.watched.get() + 1, "a gap or a repetition");
                    for change in &changes {
                        let known = match &change.current {
                            Some(entry) => self.mirror.insert(change.key.clone(), entry.clone()),
                            None => self.mirror.remove(&change.key),
                        };
                        assert_eq!(known, change.previous, "the previous value is not what was seen");
                    }
                    self.watched = changes.revision();
                    self.report.resumed += 1;
                }
                assert!(self.mirror == current, "the watched changes do not lead to the current content");
            }
            Err(Error::TooOld { .. }) => {
                self.watched = listing.revision;
                self.mirror = current;
            }
            Err(error) => panic!("{error}"),
        }
    }
}
