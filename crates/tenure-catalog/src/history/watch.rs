//! A watch of the history of one object: every change from a revision on, while the client reads.

use super::{
    History,
    document::{converted, item, refusal},
};
use crate::{Objects, Target};
use bytes::Bytes;
use hyper::header::{self, HeaderValue};
use std::{sync::Arc, time::Duration};
use tenure_history::{Rebuilt, Record, TimelineStep};
use tenure_http::{BodySender, BodyStream, Request, Response, offload::Offload};
use tenure_meta::ApiError;
use tenure_store::{
    Changes, Entry, KeyChange, LedgerPosition, LedgerRequest, Revision, Signal, WatchRequest,
};
use tenure_value::Value;

/// How long a watch lasts that sets no timeout.
const LASTING: Duration = Duration::from_secs(45 * 60);

/// Starts a watch of the history of the target's object, after the revision that the request names or from now on.
pub(super) async fn watch(
    (objects, history, offload): (&Arc<Objects>, &Arc<History>, &Arc<Offload>),
    mut stopping: tokio::sync::watch::Receiver<bool>,
    target: Target,
    request: &Request,
) -> Result<Response, ApiError> {
    let after = request.query.given("resourceVersion").map(|text| text.parse::<u64>()).transpose();
    let after = after.map_err(|_| ApiError::bad_request("resourceVersion: not a revision; use a number"))?;
    let seconds = request.query.integer("timeoutSeconds")?.filter(|seconds| *seconds > 0);
    let lasting = seconds.map_or(LASTING, |seconds| Duration::from_secs(seconds as u64));
    let mut watch = WatchRequest::prefix(target.key());
    watch.after = after.filter(|after| *after > 0).map(Revision::from_number);
    let mut changes = objects.store.watch(watch).await?;
    let (objects, history, offload) = (objects.clone(), history.clone(), offload.clone());
    let clock = objects.clock.clone();
    let end = async move {
        tokio::select! {
            // The sender lives as long as the server.
            _ = stopping.wait_for(|stop| *stop) => {}
            () = clock.sleep(lasting) => {}
        }
    };
    let stream = BodyStream::new(|outlet| async move {
        loop {
            let sent = match changes.next().await {
                Ok(Signal::Changes(changes)) => {
                    // Both versions are read and compared, however large they are.
                    let work = changes.iter().map(size).sum();
                    offload.run_for(work, send(&objects, &history, &target, &changes, &outlet)).await
                }
                Ok(Signal::Progress(_)) => Ok(()),
                Err(error) => Err(ApiError::from(error)),
            };
            if let Err(failure) = sent {
                outlet.send(frame("ERROR", &failure.status())).await;
                return;
            }
        }
    });
    Ok(Response::stream("application/json", stream.until(end))
        .with_header(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private")))
}

/// Sends the change of the watched object, if the transaction has one.
async fn send(
    objects: &Objects,
    history: &History,
    target: &Target,
    changes: &Changes,
    outlet: &BodySender,
) -> Result<(), ApiError> {
    let key = target.key();
    let Some(change) = changes.iter().find(|change| change.key == key.as_bytes()) else { return Ok(()) };
    let record = changes.records().find(|(key, _)| *key == &change.key);
    let Some((_, bytes)) = record else { return Ok(()) };
    let revision = changes.revision();
    // The time of a change is that of its record; one that was trimmed since is old.
    let after =
        LedgerPosition { revision: Revision::from_number(revision.get() + 1), key: change.key.clone() };
    let request = LedgerRequest::key(change.key.clone(), 1).before(after);
    let page = objects.store.ledger(request).await?;
    let written_at = page.records.first().filter(|record| record.revision == revision);
    let written_at = written_at.map_or(0, |record| record.written_at);
    let step = step(objects, change, bytes, revision.get(), written_at)?;
    let before = match &step.before {
        Some(before) => Some(converted(objects, target, before).await?),
        None => None,
    };
    let after = match &step.after {
        Some(after) => Some(converted(objects, target, after).await?),
        None => None,
    };
    let values = history.values(&target.handler);
    let item = item(&step, before.as_ref(), after.as_ref(), target.handler.type_ref(), values);
    outlet.send(frame("ADDED", &item)).await;
    Ok(())
}

/// Returns a change as history shows it. The store has both versions, so that none has to be rebuilt.
fn step<'r>(
    objects: &Objects,
    change: &KeyChange,
    bytes: &'r [u8],
    revision: u64,
    written_at: u64,
) -> Result<TimelineStep<'r>, ApiError> {
    let record = Record::decode(bytes, revision).map_err(refusal)?;
    let read = |entry: &Option<Entry>| -> Result<Option<Rebuilt>, ApiError> {
        let Some(entry) = entry else { return Ok(None) };
        let stored = objects.decode(entry)?;
        let state = tenure_apply::State { object: stored.object, managers: stored.managers };
        Ok(Some(Rebuilt { state, revision: entry.modified.get() }))
    };
    let (before, after) = (read(&change.previous)?, read(&change.current)?);
    Ok(TimelineStep { revision, written_at, record, before, after })
}

/// Returns the bytes of both versions of a change.
fn size(change: &KeyChange) -> usize {
    [&change.previous, &change.current].into_iter().flatten().map(|entry| entry.value.len()).sum()
}

fn frame(event: &str, object: &Value) -> Bytes {
    let event = Value::object([("type", Value::from(event)), ("object", object.clone())]);
    Bytes::from(format!("{event}\n"))
}
