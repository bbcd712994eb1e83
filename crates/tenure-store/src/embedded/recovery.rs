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
