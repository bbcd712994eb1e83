//! Fights that began before the server started: they are found again in the records of the last hour, which are in the store. Only
//! objects that were written often enough to be part of one are rebuilt.

use super::{History, milliseconds};
use crate::{Objects, Target, object::Stored};
use std::collections::HashMap;
use tenure_apply::State;
use tenure_history::{Entry, Fights, Rebuilt, Takeover, Timeline, takeovers};
use tenure_meta::{ApiError, Timestamp};
use tenure_store::{LedgerRecord, LedgerRequest};

/// The most records that are looked at, newest first.
const MOST_RECORDS: usize = 20_000;
/// How many are read at once.
const PAGE: usize = 1000;

/// A takeover that a record tells of.
struct Earlier {
    key: String,
    manager: String,
    takeover: Takeover,
    written_at: u64,
}

impl History {
    /// Finds the fights that were going on when the server started.
    pub async fn recall(&self, objects: &Objects, started: Timestamp) -> Result<(), ApiError> {
        if !self.options.enabled {
            return Ok(());
        }
        let started = milliseconds(started);
        let mut earlier = Vec::new();
        for (key, records) in recent(objects, started).await? {
            if records.len() >= Fights::FEWEST_WRITES {
                self.takeovers_of(objects, &key, &records, &mut earlier).await?;
            }
            tokio::task::yield_now().await;
        }
        earlier.sort_by_key(|one: &Earlier| one.written_at);
        let mut fights = Fights::default();
        for Earlier { key, manager, takeover, written_at } in earlier {
            let Some(target) = Target::of_key(&objects.catalog, &key) else { continue };
            // Whoever looks at events has seen the report.
            let _ = fights.observe(&key, &manager, &takeover, self.values(&target.handler), written_at);
        }
        self.fights.lock().recall(fights);
        Ok(())
    }

    /// Finds the takeovers in the records of one object, which are given newest first.
    async fn takeovers_of(
        &self,
        objects: &Objects,
        key: &str,
        records: &[LedgerRecord],
        found: &mut Vec<Earlier>,
    ) -> Result<(), ApiError> {
        let Some(target) = Target::of_key(&objects.catalog, key) else { return Ok(()) };
        if !self.records(&target.handler) {
            return Ok(());
        }
        let entry = objects.store.get(key.as_bytes()).await?;
        let live = entry.map(|entry| objects.decode(&entry)).transpose()?;
        let live = live.map(|Stored { object, managers, revision }| Rebuilt {
            state: State { object, managers },
            revision: revision.get(),
        });
        let entries = records.iter().map(|record| Entry {
            revision: record.revision.get(),
            written_at: record.written_at,
            bytes: &record.record,
        });
        // What cannot be rebuilt is not remembered: the walk ends there.
        for step in Timeline::new(live, entries).map_while(Result::ok) {
            let (Some(before), Some(after)) = (&step.before, &step.after) else { continue };
            let old = (&before.state.object, &before.state.managers);
            let new = (&after.state.object, &after.state.managers);
            let taken = takeovers(&step.record.manager, old, new, target.handler.type_ref());
            found.extend(taken.into_iter().map(|takeover| Earlier {
                key: key.to_owned(),
                manager: step.record.manager.to_string(),
                takeover,
                written_at: step.written_at,
            }));
        }
        Ok(())
    }
}

/// Returns the records of the time that counts, by key, newest first.
async fn recent(objects: &Objects, started: u64) -> Result<HashMap<String, Vec<LedgerRecord>>, ApiError> {
    let mut found: HashMap<String, Vec<LedgerRecord>> = HashMap::new();
    let (mut request, mut count) = (LedgerRequest::prefix("", PAGE), 0);
    loop {
        let page = objects.store.ledger(request.clone()).await?;
        count += page.records.len();
        for record in page.records {
            if record.written_at + Fights::MEMORY < started {
                return Ok(found);
            }
            if let Ok(key) = std::str::from_utf8(&record.key) {
                found.entry(key.to_owned()).or_default().push(record);
            }
        }
        match page.next {
            Some(next) if count < MOST_RECORDS => request = request.before(next),
            _ => return Ok(found),
        }
    }
}
