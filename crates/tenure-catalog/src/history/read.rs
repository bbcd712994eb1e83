//! GET of `history` below an object: its changes, newest first and in pages; those of one field; or the object as it was. The
//! name may be that of an object that was deleted.

use super::{
    History,
    document::{converted, refusal},
    page::{AtVersion, PageRequest, Subject, moment, page},
    watch,
};
use crate::{
    Objects, Target,
    object::{Stored, shown},
};
use hyper::StatusCode;
use std::sync::Arc;
use tenure_apply::State;
use tenure_history::{Entry, Rebuilt, Record, rebuild, secret};
use tenure_http::{MediaTypes, Request, Response, offload::Offload};
use tenure_meta::ApiError;
use tenure_store::{Entry as StoreEntry, LedgerRecord, LedgerRequest, Revision};

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
    entry: Option<StoreEntry>,
    records: Vec<LedgerRecord>,
}

impl Loaded {
    /// Returns how many bytes a response works on at most: every version may be as large as the object or the largest record.
    fn work(&self) -> usize {
        let live = self.entry.as_ref().map_or(0, |entry| entry.value.len());
        let largest = self.records.iter().map(|record| record.record.len()).max().unwrap_or(0);
        live.max(largest).saturating_mul(self.records.len() + 1)
    }

    /// Returns the object, if it exists.
    fn live(&self, objects: &Objects) -> Result<Option<Rebuilt>, ApiError> {
        let stored = self.entry.as_ref().map(|entry| objects.decode(entry)).transpose()?;
        Ok(stored.map(|Stored { object, managers, revision }| Rebuilt {
            state: State { object, managers },
            revision: revision.get(),
        }))
    }

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
        request.format(MediaTypes::Text)?;
        if request.query.flag("watch") {
            let parts = (&self.objects, &self.history, &self.offload);
            return watch::watch(parts, self.stopping.clone(), target, request).await;
        }
        let loaded = self.load(&target).await?;
        // A short history of a small object does not wait until others have computed.
        self.offload.run_for(loaded.work(), self.answer(&target, request, &loaded)).await
    }

    /// Answers a request by what was loaded.
    async fn answer(
        &self,
        target: &Target,
        request: &Request,
        loaded: &Loaded,
    ) -> Result<Response, ApiError> {
        let format = request.format(MediaTypes::Text)?;
        let live = loaded.live(&self.objects)?;
        let values = self.history.values(&target.handler);
        let document = match request.query.given("at") {
            Some(at) => {
                let moment = moment(at)?;
                let records = loaded.records.iter().map(entry);
                let rebuilt = rebuild(live, records, moment).map_err(refusal)?;
                let converted = converted(&self.objects, target, &rebuilt).await?;
                let object = secret::redact(&converted.object, values);
                shown(&object, Some(&converted.managers), Some(Revision::from_number(rebuilt.revision)))
            }
            None => {
                let wanted = PageRequest::of(&request.query)?;
                let resource = &target.handler.resource;
                let subject = Subject {
                    api_version: resource.api_version.clone(),
                    kind: resource.kind.clone(),
                    namespace: target.namespace.clone(),
                    name: target.name.clone(),
                    ty: target.handler.type_ref(),
                    values,
                };
                let versions = Converted { objects: &self.objects, target };
                let field = request.query.given("field").map(|field| field.as_str());
                page(&subject, live.as_ref(), loaded.entries(), field, &wanted, &versions).await?
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
                return Ok(Loaded { entry, records: page.records });
            }
        }
    }
}

/// Versions at the version of the API that a request names.
struct Converted<'a> {
    objects: &'a Objects,
    target: &'a Target,
}

impl AtVersion for Converted<'_> {
    async fn at_version(&self, version: &Rebuilt) -> Result<State, ApiError> {
        converted(self.objects, self.target, version).await
    }
}
