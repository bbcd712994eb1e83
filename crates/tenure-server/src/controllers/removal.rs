//! Deletions by controllers.

use super::{CONCURRENCY, Outcome};
use crate::write::{DeleteOptions, Enforcement, Propagation, QuotaChange, Writer, is_finished};
use memchr::memmem::Finder;
use std::sync::{Arc, LazyLock};
use tenure_catalog::{
    Target,
    history::HistoryVerb,
    object::{Stored, encode},
};
use tenure_http::Request;
use tenure_meta::{ApiError, Timestamp, time::Precision};
use tenure_store::{Entry, Error, Expected, ListRequest, Transaction};
use tenure_value::Value;
use tokio::task::JoinSet;

/// Deletes all objects under a prefix of the store; returns those that still exist.
pub(super) async fn delete_all(writer: &Arc<Writer>, prefix: &str) -> Result<Left, ApiError> {
    let store = &writer.objects.store;
    let listing = store.list(ListRequest::prefix(prefix.to_string())).await?;
    if listing.entries.is_empty() {
        return Ok(Left::default());
    }
    let mut failures = Vec::new();
    let mut entries = listing.entries.into_iter();
    let mut under_way = JoinSet::new();
    loop {
        while under_way.len() < CONCURRENCY
            && let Some(entry) = entries.next()
        {
            let writer = writer.clone();
            under_way.spawn(async move {
                let Some(target) = Target::of_key(&writer.objects.catalog, &key_text(&entry.key)) else {
                    return Ok(());
                };
                let Some(options) = next_deletion(writer.objects.clock.now(), &entry)? else { return Ok(()) };
                match writer.delete_object(&target, &request(), &options, &mut Vec::new()).await {
                    Err(failure) if failure.code() != 404 => Err(failure),
                    _ => Ok(()),
                }
            });
        }
        match under_way.join_next().await {
            // One object that may not be deleted does not block the others.
            Some(Ok(Ok(()))) => {}
            Some(Ok(Err(failure))) => {
                tracing::warn!(%failure, prefix, "delete failed, retrying");
                failures.push(failure);
            }
            Some(Err(error)) => return Err(ApiError::internal(format!("deletion panicked: {error}"))),
            None => break,
        }
    }
    Ok(Left { entries: store.list(ListRequest::prefix(prefix.to_string())).await?.entries, failures })
}

/// The remaining objects under a prefix.
#[derive(Default)]
pub(super) struct Left {
    pub entries: Vec<Entry>,
    /// Why some objects could not be deleted.
    pub failures: Vec<ApiError>,
}

/// Returns the options of the next deletion of an object; `None` if it is marked already. An object whose grace period is over is
/// removed at once.
fn next_deletion(now: Timestamp, entry: &Entry) -> Result<Option<DeleteOptions>, ApiError> {
    let options = DeleteOptions::with_propagation(Propagation::Background);
    if DELETION_MARK.find(&entry.value.bytes()).is_none() {
        return Ok(Some(options));
    }
    let object = Stored::read(entry)?.object;
    let until = object.at(["metadata", "deletionTimestamp"]).and_then(Value::as_str);
    let grace = object.at(["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64);
    Ok(match until.and_then(|text| Timestamp::parse(text, Precision::Seconds)) {
        None => Some(options),
        Some(until) => {
            let over = grace.is_some_and(|grace| grace > 0) && until.seconds < now.seconds;
            over.then(|| options.without_grace_period())
        }
    })
}

/// Returns a key as text.
pub(super) fn key_text(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

/// The field of an object that is being deleted, as it is stored.
pub(super) static DELETION_MARK: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new(b"\"deletionTimestamp\""));

/// The field of an object that has owners, as it is stored.
pub(super) static OWNERS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"ownerReferences\""));

/// Replaces a live object, or removes it with its allocations if it is being deleted and has nothing left to wait for.
pub(super) async fn replace(
    writer: &Writer,
    target: &Target,
    live: &Stored,
    object: Value,
) -> Result<Outcome, ApiError> {
    let (handler, objects) = (&target.handler, &writer.objects);
    let key = target.key();
    let expected = Expected::At(live.revision);
    let is_removed = is_finished(&object, handler);
    let change = QuotaChange {
        handler,
        namespace: &target.namespace,
        name: &target.name,
        old: &live.object,
        new: if is_removed { &Value::Null } else { &object },
        enforcement: Enforcement::Record,
    };
    let (charged, _lock) = writer.charge_quotas(&change, Transaction::new()).await?;
    let entry = objects.store.peek(key.as_bytes())?.filter(|entry| entry.modified == live.revision);
    let before = writer.as_stored(handler, live, entry.as_ref()).await?;
    let (transaction, after) = if is_removed {
        let removed = charged.delete(key.clone(), expected);
        (writer.services.remove(handler, &key, &object, removed).await?, None)
    } else {
        let object = objects.convert_to_storage(handler, &object).await?;
        (charged.put(key.clone(), expected, encode(&object, &live.managers)?), Some(object))
    };
    let after = after.as_ref().map(|after| (after, &live.managers));
    let author = writer.own_author(if is_removed { HistoryVerb::Delete } else { HistoryVerb::Update }, "");
    let (transaction, _) =
        writer.history.record(transaction, handler, &key, &author, before.as_ref(), after)?;
    match objects.store.commit(transaction).await {
        Ok(_) => Ok(Outcome::Done),
        Err(Error::Conflict(_)) => Ok(Outcome::Later),
        Err(error) => Err(error.into()),
    }
}

/// Returns the request of a controller.
pub(super) fn request() -> Request {
    Request::internal(hyper::Method::DELETE, "tenure-lifecycle")
}
