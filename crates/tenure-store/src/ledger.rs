//! The ledger: records that transactions leave about keys, kept beyond the history of values and beyond the life of the
//! keys. The store does not look into them; it keeps them in the order of revisions and within limits.

use crate::{CowMap, entry::Commit, limits::LedgerLimits, revision::Revision};
use bytes::Bytes;
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

/// Memory that a record costs beside its key and its bytes, roughly.
const OVERHEAD: usize = 128;
/// Most keys have fewer records than this. Up to then there is no space for more than there are.
const FEW: usize = 8;

/// A record about a key, as written by the transaction of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRecord {
    /// The key; it may have been deleted since.
    pub key: Bytes,
    /// The revision of the transaction.
    pub revision: Revision,
    /// When it was committed, in milliseconds since 1970.
    pub written_at: u64,
    /// The bytes that the transaction left.
    pub record: Bytes,
}

/// The keys whose records a request reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerScope {
    /// One key.
    Key(Bytes),
    /// All keys with a prefix; an empty prefix means all keys.
    Prefix(Bytes),
}

/// A place in the ledger: records are ordered by revision, then by key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerPosition {
    /// The revision.
    pub revision: Revision,
    /// The key.
    pub key: Bytes,
}

/// A request for records, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRequest {
    /// The keys to read.
    pub scope: LedgerScope,
    /// Only records before this position, from [`LedgerPage::next`]; none for the newest.
    pub before: Option<LedgerPosition>,
    /// The most records to return.
    pub limit: usize,
}

impl LedgerRequest {
    /// Requests the newest records of one key.
    pub fn key(key: impl Into<Bytes>, limit: usize) -> LedgerRequest {
        LedgerRequest { scope: LedgerScope::Key(key.into()), before: None, limit }
    }

    /// Requests the newest records of all keys with a prefix.
    pub fn prefix(prefix: impl Into<Bytes>, limit: usize) -> LedgerRequest {
        LedgerRequest { scope: LedgerScope::Prefix(prefix.into()), before: None, limit }
    }

    /// Continues after a page.
    pub fn before(self, position: LedgerPosition) -> LedgerRequest {
        LedgerRequest { before: Some(position), ..self }
    }
}

/// Records, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerPage {
    /// The records.
    pub records: Vec<LedgerRecord>,
    /// Where the next page begins, if older records follow.
    pub next: Option<LedgerPosition>,
}

/// A record in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) revision: Revision,
    pub(crate) written_at: u64,
    pub(crate) bytes: Bytes,
}

/// All kept records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    limits: LedgerLimits,
    /// The records of each key, oldest first; never empty.
    by_key: CowMap<Bytes, Arc<VecDeque<Record>>>,
    order: CowMap<LedgerPosition, ()>,
    /// Keys with more records than the limit, once for each that is too many.
    overfull: VecDeque<Bytes>,
    bytes: usize,
}

impl Ledger {
    pub(crate) fn new(limits: LedgerLimits) -> Ledger {
        Ledger { limits, ..Ledger::default() }
    }

    /// Adds the records of a commit.
    pub(crate) fn apply(&mut self, commit: &Commit) {
        for (key, bytes) in &commit.records {
            let (revision, written_at) = (commit.revision, commit.written_at);
            self.push(key.clone(), Record { revision, written_at, bytes: bytes.clone() });
        }
    }

    /// Adds a record. Those of one key come in the order of their revisions; one that is already there is not added again.
    pub(crate) fn push(&mut self, key: Bytes, record: Record) {
        if self.limits.per_key == 0 {
            return;
        }
        let (weight, revision) = (weight(&key, &record), record.revision);
        let (key, count) = match self.by_key.get_key_value_mut(&key) {
            Some((shared, records)) => {
                if records.back().is_some_and(|newest| newest.revision >= revision) {
                    return;
                }
                let records = Arc::make_mut(records);
                if records.len() < FEW {
                    records.reserve_exact(1);
                }
                records.push_back(record);
                (shared.clone(), records.len())
            }
            None => {
                self.by_key.insert(key.clone(), Arc::new(VecDeque::from([record])));
                (key, 1)
            }
        };
        self.bytes += weight;
        self.order.insert(LedgerPosition { revision, key: key.clone() }, ());
        if count > self.limits.per_key {
            self.overfull.push_back(key);
        }
    }

    /// Tells whether a record that was added is still kept: of a key, the oldest records are removed first.
    pub(crate) fn keeps(&self, key: &[u8], revision: Revision) -> bool {
        let oldest = self.by_key.get(key).and_then(|records| records.front());
        oldest.is_some_and(|oldest| oldest.revision <= revision)
    }

    /// Returns a record.
    pub(crate) fn get(&self, key: &[u8], revision: Revision) -> Option<&Record> {
        let records = self.by_key.get(key)?;
        let place = records.binary_search_by_key(&revision, |record| record.revision).ok()?;
        records.get(place)
    }

    /// Iterates over all records, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Bytes, &Record)> {
        self.order.iter().filter_map(|(position, ())| {
            self.get(&position.key, position.revision).map(|record| (&position.key, record))
        })
    }

    /// Removes up to `most` records that the limits no longer allow and returns their positions.
    pub(crate) fn trim(&mut self, now: u64, most: usize) -> Vec<LedgerPosition> {
        let mut removed = Vec::new();
        while removed.len() < most
            && let Some(key) = self.overfull.pop_front()
        {
            let oldest = self.by_key.get(&key).filter(|records| records.len() > self.limits.per_key);
            if let Some(revision) = oldest.and_then(|records| Some(records.front()?.revision)) {
                let position = LedgerPosition { revision, key };
                self.remove(&position);
                removed.push(position);
            }
        }
        let age = u64::try_from(self.limits.age.as_millis()).unwrap_or(u64::MAX);
        let horizon = now.saturating_sub(age);
        while removed.len() < most
            && let Some((oldest, ())) = self.order.first()
        {
            let written_at = self.get(&oldest.key, oldest.revision).map_or(0, |record| record.written_at);
            if written_at >= horizon && self.bytes <= self.limits.bytes {
                break;
            }
            let oldest = oldest.clone();
            self.remove(&oldest);
            removed.push(oldest);
        }
        removed
    }

    /// Removes a record, if it exists.
    pub(crate) fn remove(&mut self, position: &LedgerPosition) {
        if self.order.remove(position).is_none() {
            return;
        }
        let Some(records) = self.by_key.get_mut(&position.key) else { return };
        let records = Arc::make_mut(records);
        // Mostly the oldest is removed: the others need not be looked at.
        let place = match records.front() {
            Some(oldest) if oldest.revision == position.revision => Ok(0),
            _ => records.binary_search_by_key(&position.revision, |record| record.revision),
        };
        if let Ok(place) = place
            && let Some(record) = records.remove(place)
        {
            self.bytes -= weight(&position.key, &record);
        }
        if records.is_empty() {
            self.by_key.remove(&position.key);
        }
    }

    /// Removes all records after a revision.
    pub(crate) fn revert(&mut self, commit: &Commit) {
        for (key, _) in &commit.records {
            self.remove(&LedgerPosition { revision: commit.revision, key: key.clone() });
        }
    }

    /// Reads a page.
    pub(crate) fn read(&self, request: &LedgerRequest) -> LedgerPage {
        match &request.scope {
            LedgerScope::Key(key) => {
                let Some(records) = self.by_key.get(key) else { return LedgerPage::default() };
                let end = request.before.as_ref().map_or(records.len(), |before| {
                    let before = (before.revision, &before.key);
                    records.partition_point(|record| (record.revision, key) < before)
                });
                let newest_first = records.range(..end).rev().map(|record| (key, record));
                page(newest_first, request.limit)
            }
            LedgerScope::Prefix(prefix) => {
                let from = request.before.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                let within = self.order.descending_from(from).filter(|(at, ())| at.key.starts_with(prefix));
                let found = within.filter_map(|(at, ())| Some((&at.key, self.get(&at.key, at.revision)?)));
                page(found, request.limit)
            }
        }
    }
}

fn page<'a>(mut newest_first: impl Iterator<Item = (&'a Bytes, &'a Record)>, limit: usize) -> LedgerPage {
    let mut records: Vec<LedgerRecord> = Vec::new();
    for (key, record) in newest_first.by_ref().take(limit) {
        let Record { revision, written_at, bytes } = record.clone();
        records.push(LedgerRecord { key: key.clone(), revision, written_at, record: bytes });
    }
    let more = newest_first.next().is_some();
    let last = records.last().filter(|_| more);
    let next = last.map(|last| LedgerPosition { revision: last.revision, key: last.key.clone() });
    LedgerPage { records, next }
}

fn weight(key: &Bytes, record: &Record) -> usize {
    OVERHEAD + key.len() + record.bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn record(revision: u64) -> Record {
        let revision = Revision::from_number(revision);
        Record { revision, written_at: revision.get(), bytes: vec![7; 100].into() }
    }

    fn ledger(limits: LedgerLimits, records: &[(&'static str, u64)]) -> Ledger {
        let mut ledger = Ledger::new(limits);
        for (key, revision) in records {
            ledger.push(Bytes::from_static(key.as_bytes()), record(*revision));
        }
        ledger
    }

    fn describe(page: &LedgerPage) -> Vec<String> {
        let one = |record: &LedgerRecord| format!("{}{}", record.key.escape_ascii(), record.revision);
        page.records.iter().map(one).collect()
    }

    #[test]
    fn records_are_read_newest_first_in_pages() {
        let all = [("a", 1), ("b", 1), ("a", 2), ("c", 3), ("a", 4), ("b", 4)];
        let ledger = ledger(LedgerLimits::unlimited(), &all);
        let page = ledger.read(&LedgerRequest::prefix("", 4));
        assert_eq!(describe(&page), ["b4", "a4", "c3", "a2"]);
        let page = ledger.read(&LedgerRequest::prefix("", 4).before(page.next.unwrap()));
        assert_eq!((describe(&page), page.next), (vec!["b1".to_owned(), "a1".to_owned()], None));
        let page = ledger.read(&LedgerRequest::key("a", 2));
        assert_eq!(describe(&page), ["a4", "a2"]);
        let page = ledger.read(&LedgerRequest::key("a", 2).before(page.next.unwrap()));
        assert_eq!((describe(&page), page.next), (vec!["a1".to_owned()], None));
        assert_eq!(ledger.read(&LedgerRequest::key("none", 2)), LedgerPage::default());
        assert_eq!(describe(&ledger.read(&LedgerRequest::prefix("b", 9))), ["b4", "b1"]);
    }

    #[test]
    fn limits_by_number_age_and_bytes_remove_the_oldest() {
        let all = [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5)];
        let unlimited = LedgerLimits::unlimited();
        let cases = [
            (LedgerLimits { per_key: 2, ..unlimited.clone() }, vec!["b5", "a4", "a3", "b2"]),
            (LedgerLimits { age: Duration::from_millis(2), ..unlimited.clone() }, vec!["b5", "a4", "a3"]),
            (LedgerLimits { bytes: 2 * (OVERHEAD + 101), ..unlimited.clone() }, vec!["b5", "a4"]),
            (LedgerLimits { per_key: 0, ..unlimited.clone() }, vec![]),
            (unlimited, vec!["b5", "a4", "a3", "b2", "a1"]),
        ];
        for (limits, expected) in cases {
            let mut ledger = ledger(limits.clone(), &all);
            while !ledger.trim(5, 1).is_empty() {}
            assert_eq!(describe(&ledger.read(&LedgerRequest::prefix("", 9))), expected, "{limits:?}");
            assert_eq!(ledger.iter().count(), expected.len());
            assert_eq!(ledger.bytes, expected.len() * (OVERHEAD + 101));
        }
    }

    #[test]
    fn a_clone_does_not_see_later_records() {
        let mut origin = ledger(LedgerLimits::unlimited(), &[("a", 1)]);
        let fork = origin.clone();
        origin.push("a".into(), record(2));
        assert_eq!(describe(&fork.read(&LedgerRequest::key("a", 9))), ["a1"]);
        assert_eq!(describe(&origin.read(&LedgerRequest::key("a", 9))), ["a2", "a1"]);
    }
}
