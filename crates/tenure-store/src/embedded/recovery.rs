//! Turning the records of a data file back into a state, believing nothing: every record's checksum, the number of
//! records, the completeness of every transaction and the absence of gaps are checked.

use super::record::{Record, Totals};
use crate::Change;
use crate::entry::Commit;
use crate::history::History;
use crate::ledger::State;
use std::sync::Arc;

/// Builds a state from records in the order of their keys, which is the order of their revisions.
#[derive(Debug)]
pub(crate) struct Recovery {
    totals: Totals,
    state: State,
    seen: u64,
    /// The records of the transaction being read.
    open: Vec<Record>,
}

impl Recovery {
    /// Starts with what the file claims to contain.
    pub(crate) fn new(totals: Totals) -> Recovery {
        let state = State { history: History::starting_after(totals.compacted), ..State::default() };
        Recovery { totals, state, seen: 0, open: Vec::new() }
    }

    /// Takes the next record.
    pub(crate) fn add(&mut self, record: Record) -> Result<(), String> {
        self.seen += 1;
        if record.revision > self.totals.compacted {
            if self.open.first().is_some_and(|first| first.revision != record.revision) {
                self.close_transaction()?;
            }
            self.open.push(record);
            return Ok(());
        }
        // Before the kept history only what was current when it began is left.
        let key = record.key.escape_ascii().to_string();
        let entry = record.entry.ok_or_else(|| format!("a deletion of {key} before the kept history"))?;
        if self.state.index.get(&entry.key).is_some() {
            return Err(format!("two records of {key} before the kept history"));
        }
        self.state.index.insert(entry);
        Ok(())
    }

    /// Ends with the state, if it is all that the file claims to contain.
    pub(crate) fn finish(mut self) -> Result<State, String> {
        if !self.open.is_empty() {
            self.close_transaction()?;
        }
        let Totals { newest, records, .. } = self.totals;
        if self.seen != records {
            return Err(format!("{} records where there should be {records}", self.seen));
        }
        let found = self.state.history.newest();
        if found != newest {
            return Err(format!("the newest transaction is {found} where it should be {newest}"));
        }
        Ok(self.state)
    }

    fn close_transaction(&mut self) -> Result<(), String> {
        let records = std::mem::take(&mut self.open);
        let Some(Record { revision, count, written_at, .. }) = records.first() else { return Ok(()) };
        let (revision, written_at) = (*revision, *written_at);
        if revision != self.state.history.newest().next() {
            return Err(format!("transaction {revision} follows {}", self.state.history.newest()));
        }
        if records.len() as u64 != u64::from(*count) {
            return Err(format!("transaction {revision} has {} of {count} records", records.len()));
        }
        let changes = records.into_iter().map(|record| {
            let previous = self.state.index.get(&record.key).cloned();
            Change { key: record.key, previous, current: record.entry }
        });
        let changes = changes.collect();
        self.state.apply(Arc::new(Commit { revision, written_at, changes }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, Revision};
    use bytes::Bytes;

    /// A record written as `revision key`, `-key` for a deletion, of a transaction with so many changes.
    fn record(revision: u64, key: &str, count: u32) -> Record {
        let name = Bytes::copy_from_slice(key.trim_start_matches('-').as_bytes());
        let revision = Revision::from_number(revision);
        let entry = Entry { key: name.clone(), value: "v".into(), created: revision, modified: revision };
        let entry = (!key.starts_with('-')).then_some(entry);
        Record { revision, key: name, entry, count, written_at: 0 }
    }

    /// A record's revision, key and number of changes.
    type Row = (u64, &'static str, u32);

    fn recover(compacted: u64, newest: u64, records: &[Row]) -> Result<State, String> {
        let totals = Totals {
            compacted: Revision::from_number(compacted),
            newest: Revision::from_number(newest),
            records: records.len() as u64,
        };
        let mut recovery = Recovery::new(totals);
        for (revision, key, count) in records {
            recovery.add(record(*revision, key, *count))?;
        }
        recovery.finish()
    }

    #[test]
    fn whole_files_are_recovered() {
        let state =
            recover(4, 6, &[(1, "a", 1), (3, "b", 2), (5, "-a", 2), (5, "c", 2), (6, "a", 1)]).unwrap();
        let at = |revision| {
            let entries = state.index.range(b"", b"", Revision::from_number(revision));
            entries.map(|entry| String::from_utf8_lossy(&entry.key).into_owned()).collect::<String>()
        };
        assert_eq!([at(4), at(5), at(6)], ["ab", "bc", "abc"]);
        assert_eq!(state.history.newest().get(), 6);
        let empty = recover(7, 7, &[]).unwrap();
        assert_eq!(empty.history.newest().get(), 7, "an emptied store remembers its revision");
    }

    #[test]
    fn anything_missing_is_noticed() {
        let cases: [(&str, u64, u64, &[Row]); 6] = [
            ("a gap", 0, 3, &[(1, "a", 1), (3, "a", 1)]),
            ("a missing end", 0, 3, &[(1, "a", 1), (2, "a", 1)]),
            ("a missing beginning", 0, 2, &[(2, "a", 1)]),
            ("half a transaction", 0, 1, &[(1, "a", 2)]),
            ("a deletion before history", 4, 4, &[(1, "-a", 1)]),
            ("two states of one key before history", 4, 4, &[(1, "a", 1), (2, "a", 1)]),
        ];
        for (what, compacted, newest, records) in cases {
            assert!(recover(compacted, newest, records).is_err(), "{what}");
        }
        let totals =
            Totals { records: 2, newest: Revision::from_number(3), compacted: Revision::from_number(3) };
        let mut recovery = Recovery::new(totals);
        recovery.add(record(1, "a", 1)).unwrap();
        assert!(recovery.finish().is_err(), "a missing record before history");
    }
}
