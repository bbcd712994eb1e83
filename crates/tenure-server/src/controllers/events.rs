//! Events expire: one that has not been written for a while is deleted, as Kubernetes does it.

use crate::write::Writer;
use std::{collections::HashMap, time::Duration};
use tenure_catalog::object::{Stored, meta_text};
use tenure_meta::{ApiError, Timestamp, time::Precision};
use tenure_store::{Entry, Error, Expected, ListRequest, Revision, Transaction};

/// The prefix of events in the store.
const PREFIX: &str = "objects/core/events/";
/// How many events are deleted in one transaction.
const BATCH: usize = 100;
/// The shortest and the longest pause between two scans of all events.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));

/// Deletes events that were last written longer ago than `ttl`, until the server stops.
pub(super) async fn expire(writer: &Writer, ttl: Duration) {
    // When events that were seen were last written, so that each is read once.
    let mut written = HashMap::new();
    let clock = &writer.objects.clock;
    loop {
        let start = clock.now();
        // Of the servers that share a store the leader does the work.
        if writer.objects.store.leads()
            && let Err(failure) = delete_expired(writer, ttl, &mut written).await
        {
            tracing::warn!(%failure, "events cannot be expired, retrying");
        }
        clock.sleep_since(start, (ttl / 60).clamp(PAUSE.0, PAUSE.1)).await;
    }
}

/// The revision of an event, and the second of its last write.
type Written = HashMap<Vec<u8>, (Revision, i64)>;

async fn delete_expired(writer: &Writer, ttl: Duration, written: &mut Written) -> Result<(), ApiError> {
    let store = &writer.objects.store;
    let oldest = writer.objects.clock.now().seconds - ttl.as_secs() as i64;
    let listing = store.list(ListRequest::prefix(PREFIX)).await?;
    let mut known = HashMap::with_capacity(listing.entries.len());
    let mut expired = Vec::new();
    for entry in &listing.entries {
        let before = written.get(&entry.key[..]).filter(|(revision, _)| *revision == entry.modified);
        let second = match before {
            Some((_, second)) => *second,
            None => last_write(entry)?,
        };
        match second < oldest {
            true => expired.push(entry),
            false => drop(known.insert(entry.key.to_vec(), (entry.modified, second))),
        }
    }
    *written = known;
    for batch in expired.chunks(BATCH) {
        let deletion = batch.iter().fold(Transaction::new(), |transaction, entry| {
            transaction.delete(entry.key.clone(), Expected::At(entry.modified))
        });
        match store.commit(deletion).await {
            // One of them was written meanwhile; the next scan decides again.
            Ok(_) | Err(Error::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns the second of the last write of an event, by its managers and its creation.
fn last_write(entry: &Entry) -> Result<i64, ApiError> {
    let stored = Stored::read(entry)?;
    let created = Timestamp::parse(meta_text(&stored.object, "creationTimestamp"), Precision::Seconds);
    let managed = stored.managers.iter().filter_map(|manager| manager.time).map(|time| time.unix());
    Ok(managed.chain(created.map(|time| time.seconds)).max().unwrap_or_default())
}
