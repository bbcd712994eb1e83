//! GET of `history` below an object: its changes, newest first and in pages; those of one field; or the object as it was. The
//! name may be that of an object that was deleted.

use super::{
    History,
    document::{converted, field_item, item, refusal},
    watch,
};
use crate::{
    Objects, Target,
    object::{Stored, shown},
};
use hyper::StatusCode;
use std::sync::Arc;
use tenure_apply::State;
use tenure_fields::Path;
use tenure_history::{Entry, Moment, Rebuilt, Record, Timeline, Values, rebuild, secret};
use tenure_http::{MediaTypes, Request, Response, offload::Offload};
use tenure_meta::{
    ApiError,
    time::{Precision, Timestamp},
};
use tenure_store::{LedgerRecord, LedgerRequest, Revision};
use tenure_value::{Object, Value, json};

/// How many changes a page has unless the request says otherwise, and at most.
const PAGE: usize = 100;
const LARGEST_PAGE: usize = 1000;
/// The bytes, as JSON, with which a page ends before it has all its changes: values may be as large as objects.
const PAGE_BYTES: usize = 2 << 20;
/// How often object and records are read again if a write came between.
const ATTEMPTS: usize = 8;

/// Answers requests for history.
pub struct HistoryReader {
    objects: Arc<Objects>,
    history: Arc<History>,
    offload: Arc<Offload>,
    /// Becomes true when the server stops, which ends all watches.
    stopping: tokio::sync::watch::Receiver<bool>,
}

/// An object as it is stored, and its records, newest first.
struct Loaded {
    live: Option<Rebuilt>,
    records: Vec<LedgerRecord>,
}

impl Loaded {
    fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.records.iter().map(entry)
    }
}

fn entry(record: &LedgerRecord) -> Entry<'_> {
    Entry { revision: record.revision.get(), written_at: record.written_at, bytes: &record.record }
}

impl HistoryReader {
    /// Creates the reader of a server.
    pub fn new(
        objects: Arc<Objects>,
        history: Arc<History>,
        offload: Arc<Offload>,
        stopping: tokio::sync::watch::Receiver<bool>,
    ) -> Arc<HistoryReader> {
        Arc::new(HistoryReader { objects, history, offload, stopping })
    }

    /// Answers a request for the history of the target's object.
    pub async fn get(self: &Arc<Self>, target: Target, request: &Request) -> Result<Response, ApiError> {
        let format = request.format(MediaTypes::Text)?;
        let field = request.query.given("field").map(|field| field.to_string());
        if request.query.flag("watch") {
            let parts = (&self.objects, &self.history, &self.offload);
            return watch::watch(parts, self.stopping.clone(), target, request).await;
        }
        let loaded = self.load(&target).await?;
        let values = self.history.values(&target.handler);
        let document = match request.query.given("at") {
            Some(at) => {
                let moment = moment(at)?;
                let records = loaded.records.iter().map(entry);
                let rebuilt = rebuild(loaded.live.clone(), records, moment).map_err(refusal)?;
                let converted = converted(&self.objects, &target, &rebuilt).await?;
                let object = secret::redact(&converted.object, values);
                shown(&object, Some(&converted.managers), Some(Revision::from_number(rebuilt.revision)))
            }
            None => {
                let page = Page::of(request)?;
                self.page(&target, &loaded, field.as_deref(), &page, values).await?
            }
        };
        Ok(Response::document(StatusCode::OK, &document, format))
    }

    /// Reads an object and its records, as of one moment if writes leave one.
    async fn load(&self, target: &Target) -> Result<Loaded, ApiError> {
        let key = target.key();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let page = self.objects.store.ledger(LedgerRequest::key(key.clone(), usize::MAX)).await?;
            let entry = self.objects.store.get(key.as_bytes()).await?;
            let fits = match (&entry, page.records.first()) {
                (Some(entry), Some(newest)) => entry.modified == newest.revision,
                (None, Some(newest)) => {
                    Record::decode(&newest.record, newest.revision.get()).is_ok_and(|record| !record.remains)
                }
                (_, None) => true,
            };
            if entry.is_none() && page.records.is_empty() {
                return Err(target.not_found());
            }
            if fits || attempt == ATTEMPTS {
                let stored = entry.map(|entry| self.objects.decode(&entry)).transpose()?;
                let live = stored.map(|Stored { object, managers, revision }| Rebuilt {
                    state: State { object, managers },
                    revision: revision.get(),
                });
                return Ok(Loaded { live, records: page.records });
            }
        }
    }

    /// Returns a page of changes.
    async fn page(
        &self,
        target: &Target,
        loaded: &Loaded,
        field: Option<&str>,
        page: &Page,
        values: Values,
    ) -> Result<Value, ApiError> {
        let mut timeline = Timeline::new(loaded.live.clone(), loaded.entries());
        let mut items = Vec::new();
        let mut path: Option<Path> = None;
        // The version after a change is the version before the next newer one.
        let mut known: Option<(u64, State)> = None;
        let (mut next, mut bytes, mut text) = (None, 0, Vec::new());
        for step in timeline.by_ref() {
            // Others compute between two changes, and the deadline of the request counts.
            tokio::task::yield_now().await;
            let step = step.map_err(refusal)?;
            if page.before.is_some_and(|before| step.revision >= before) {
                continue;
            }
            if items.len() >= page.limit || bytes >= PAGE_BYTES {
                next = items.last().map(|(revision, _)| *revision);
                break;
            }
            let after = match (&step.after, known.take()) {
                (Some(after), Some((revision, state))) if revision == after.revision => Some(state),
                (Some(after), _) => Some(converted(&self.objects, target, after).await?),
                (None, _) => None,
            };
            let before = match &step.before {
                Some(before) => Some(converted(&self.objects, target, before).await?),
                None => None,
            };
            let item = match field {
                None => Some(item(&step, before.as_ref(), after.as_ref(), target, values)),
                Some(field) => {
                    let sample = after.as_ref().or(before.as_ref());
                    let path = match &path {
                        Some(path) => path,
                        None => path.insert(parse_path(field, target, sample)?),
                    };
                    field_item(&step, before.as_ref(), after.as_ref(), path, target, values)
                }
            };
            if let Some(item) = item {
                text.clear();
                json::write(&item, &mut text);
                bytes += text.len();
                items.push((step.revision, item));
            }
            known = step.before.as_ref().zip(before).map(|(rebuilt, state)| (rebuilt.revision, state));
        }
        let resource = &target.handler.resource;
        let mut metadata = Object::default();
        if let Some(next) = next {
            metadata = metadata.with("continue", next.to_string());
        }
        if let Some(live) = &loaded.live {
            metadata = metadata.with("resourceVersion", live.revision.to_string());
        }
        let mut document = Object::default()
            .with("apiVersion", "tenure.dev/v1")
            .with("kind", "ObjectHistory")
            .with("metadata", metadata)
            .with(
                "object",
                Value::object([
                    ("apiVersion", Value::from(resource.api_version.clone())),
                    ("kind", Value::from(resource.kind.clone())),
                    ("name", Value::from(target.name.clone())),
                    ("namespace", Value::from(target.namespace.clone())),
                ]),
            )
            .with("exists", loaded.live.is_some())
            .with("items", Value::array(items.into_iter().map(|(_, item)| item)));
        // Older changes were trimmed or not recorded, so that the list does not reach the creation.
        if let Some(oldest) = timeline.gap().or_else(|| timeline.current().map(|current| current.revision))
            && next.is_none()
        {
            document = document.with("beginsAfter", oldest.to_string());
        }
        Ok(document.into())
    }
}

/// Which part of the changes is asked for.
struct Page {
    limit: usize,
    /// Only changes before this revision.
    before: Option<u64>,
}

impl Page {
    fn of(request: &Request) -> Result<Page, ApiError> {
        let limit = request.query.integer("limit")?.filter(|limit| *limit > 0);
        let limit =
            limit.map_or(PAGE, |limit| usize::try_from(limit).unwrap_or(LARGEST_PAGE).min(LARGEST_PAGE));
        let before = request.query.given("continue").map(|text| text.parse::<u64>()).transpose();
        let before = before.map_err(|_| {
            ApiError::bad_request(
                "continue: not a token of this list; use metadata.continue of the page before",
            )
        })?;
        Ok(Page { limit, before })
    }
}

/// Reads the moment of a version: a revision or a time.
fn moment(text: &str) -> Result<Moment, ApiError> {
    if let Ok(revision) = text.parse::<u64>() {
        return Ok(Moment::Revision(revision));
    }
    let time = Timestamp::parse(text, Precision::Seconds).ok_or_else(|| {
        ApiError::bad_request(format!(
            "at: {text:?} is neither a revision nor a time; use a resourceVersion or a time such as 2026-01-02T03:04:05Z"
        ))
    })?;
    // The whole second is meant, unless the text has a fraction.
    let fraction = if text.contains('.') { u64::from(time.nanos / 1_000_000) } else { 999 };
    Ok(Moment::Time(u64::try_from(time.seconds).unwrap_or_default().saturating_mul(1000) + fraction))
}

fn parse_path(field: &str, target: &Target, sample: Option<&State>) -> Result<Path, ApiError> {
    let object = sample.map(|state| &state.object);
    Path::parse_in(field, target.handler.type_ref(), object)
        .map_err(|error| ApiError::bad_request(format!("field {field:?}: {error}")))
}
