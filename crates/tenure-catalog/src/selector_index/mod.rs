//! Indexes for selectors: the entries of a collection by label, by label and value, and by the value of a selectable field. The
//! index of a collection is built by the first list that needs it, follows the changes of the store when it is asked again, and
//! is dropped when it is not used. It shows one revision exactly: an older one is read with the changes since.

mod dispatch;
mod postings;

use crate::{catalog::ResourceHandler, objects::Objects, splice};
use bytes::Bytes;
pub use dispatch::WatchDispatch;
use parking_lot::Mutex;
use postings::{Builder, Postings, Query};
use std::{
    collections::{BTreeMap, HashMap},
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
};
use tenure_meta::{ApiError, IndexTerm, IndexedBy, SelectableField};
use tenure_store::{
    Changes, Entry, Error, ListRequest, Listing, Revision, Signal, Store, Watch, WatchRequest,
};
use tenure_value::{Text, Value};

/// The most bytes of all indexes together, roughly. A collection that exceeds it alone is not indexed.
const CAPACITY: usize = 192 * 1024 * 1024;
/// How many entries are decoded before other requests get a turn.
const STRIDE: usize = 256;

/// A page of a collection that is selected by an index.
pub struct IndexRequest<'a> {
    /// The resource.
    pub handler: &'a ResourceHandler,
    /// The requirements, at least one; all must hold.
    pub terms: &'a [IndexTerm],
    /// The prefix of the keys of the whole collection.
    pub collection: &'a str,
    /// The prefix of the keys to return.
    pub prefix: &'a str,
    /// The first key to return; empty for the beginning.
    pub from: &'a str,
    /// The most entries.
    pub limit: usize,
    /// The revision to read at; `None` for any that is not before `not_before`.
    pub at: Option<Revision>,
    /// A revision that the index must have reached.
    pub not_before: Revision,
}

/// A collection as one definition reads it: its prefix, the version, and the generation of the rules.
type Collection = (String, Text, u64);

/// The indexes of the collections that selectors were used on.
#[derive(Default)]
pub struct SelectorIndexes {
    known: Mutex<HashMap<Collection, Arc<CollectionIndex>>>,
}

/// The index of one collection.
#[derive(Default)]
struct CollectionIndex {
    state: tokio::sync::Mutex<State>,
    weight: AtomicUsize,
    was_read: AtomicBool,
}

#[derive(Default)]
struct State {
    postings: Postings,
    /// The fields that are indexed.
    fields: Vec<SelectableField>,
    /// Follows the collection; `None` if the index has to be compared with all of it.
    watch: Option<Watch>,
    /// Whether the collection is too large for an index.
    is_too_large: bool,
}

impl SelectorIndexes {
    /// Returns the entries that meet all requirements, in the order of their keys; `None` if a scan is better or the revision
    /// cannot be read.
    pub async fn list(
        &self,
        objects: &Objects,
        request: &IndexRequest<'_>,
    ) -> Result<Option<Listing>, ApiError> {
        let store = &*objects.store;
        if request.handler.has_conversion_webhook() {
            return Ok(None);
        }
        let index = self.of(request.handler, request.collection);
        index.was_read.store(true, Relaxed);
        let mut state = index.state.lock().await;
        if state.is_too_large {
            return Ok(None);
        }
        state.index_fields(request.terms);
        if state.catch_up(objects, request.handler, request.collection).await.is_err() {
            // An object that cannot be read; the scan reports it if it is selected.
            state.watch = None;
        }
        let weight = state.postings.weight();
        state.bound();
        index.weight.store(state.postings.weight(), Relaxed);
        let Some(watch) = state.watch.as_mut() else { return Ok(None) };
        let revision = watch.progress();
        let at = request.at.unwrap_or(revision);
        if revision < request.not_before {
            return Ok(None);
        }
        let former = if at < revision {
            changed_since(store, request.prefix, at, revision).await
        } else {
            Some(BTreeMap::new())
        };
        let Some(former) = former else { return Ok(None) };
        let listing = state.find(objects, request, at, former)?;
        drop(state);
        if weight > CAPACITY / 2 {
            self.evict();
        }
        Ok(Some(listing))
    }

    /// Builds the index of the labels of a collection, unless there is one. It is dropped like others if no list needs it.
    pub async fn prepare(
        &self,
        objects: &Objects,
        handler: &ResourceHandler,
        collection: &str,
    ) -> Result<(), ApiError> {
        if handler.has_conversion_webhook() {
            return Ok(());
        }
        let index = self.of(handler, collection);
        let mut state = index.state.lock().await;
        if state.watch.is_none() && !state.is_too_large {
            state.catch_up(objects, handler, collection).await?;
            state.bound();
            index.weight.store(state.postings.weight(), Relaxed);
        }
        drop(state);
        self.evict();
        Ok(())
    }

    fn of(&self, handler: &ResourceHandler, collection: &str) -> Arc<CollectionIndex> {
        let key = (collection.to_owned(), handler.resource.api_version.clone(), handler.generation());
        self.known.lock().entry(key).or_default().clone()
    }

    /// Drops the largest indexes until the others fit.
    fn evict(&self) {
        let mut known = self.known.lock();
        let weight = |index: &CollectionIndex| index.weight.load(Relaxed);
        while known.len() > 1 && known.values().map(|index| weight(index)).sum::<usize>() > CAPACITY {
            let largest = known.iter().max_by_key(|(_, index)| weight(index)).map(|(key, _)| key.clone());
            known.retain(|key, _| Some(key) != largest.as_ref());
        }
    }

    /// Drops the indexes that were not used since the last call.
    pub fn drop_unread(&self) {
        self.known.lock().retain(|_, index| index.was_read.swap(false, Relaxed));
    }
}

impl State {
    /// Adds the fields of the requirements. A kind has few of them, so that the index is rebuilt a few times at most.
    fn index_fields(&mut self, terms: &[IndexTerm]) {
        for term in terms {
            if let IndexedBy::Field(field) = &term.by
                && !self.fields.contains(field)
            {
                self.fields.push(field.clone());
                (self.postings, self.watch) = (Postings::default(), None);
            }
        }
    }

    /// Empties an index that is too large.
    fn bound(&mut self) {
        if self.is_too_large || self.postings.weight() > CAPACITY {
            *self = State { is_too_large: true, ..State::default() };
        }
    }

    /// Applies what has changed. Without a watch afterwards, the index is not complete.
    async fn catch_up(
        &mut self,
        objects: &Objects,
        handler: &ResourceHandler,
        collection: &str,
    ) -> Result<(), ApiError> {
        let mut applied = 0;
        while let Some(watch) = &mut self.watch {
            match poll(watch) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(changes)) => {
                    for change in &changes {
                        match &change.current {
                            Some(entry) => self.insert(objects, handler, entry)?,
                            None => self.postings.remove(&change.key),
                        }
                    }
                    applied += 1;
                    if applied % STRIDE == 0 {
                        tokio::task::yield_now().await;
                    }
                }
                // The watch has lost track of the collection, as after a long time without a request.
                Poll::Ready(Err(_)) => self.watch = None,
            }
        }
        let listing = objects.store.list(ListRequest::prefix(collection.to_owned())).await?;
        if self.postings.is_empty() {
            self.build(objects, handler, &listing.entries).await?;
        } else {
            self.compare(objects, handler, &listing.entries).await?;
        }
        if self.is_too_large {
            return Ok(());
        }
        let watch = WatchRequest::prefix(collection.to_owned()).after(listing.revision);
        self.watch = objects.store.watch(watch).await.ok();
        Ok(())
    }

    fn insert(
        &mut self,
        objects: &Objects,
        handler: &ResourceHandler,
        entry: &Entry,
    ) -> Result<(), ApiError> {
        // Conversion changes fields, but not labels.
        if let Some(labels) = splice::labels(entry).filter(|_| self.fields.is_empty()) {
            self.postings.insert(entry, &labels, Vec::new());
            return Ok(());
        }
        let object = objects.read_object(handler, entry)?;
        let labels = object.at(["metadata", "labels"]).unwrap_or(&Value::Null);
        self.postings.insert(entry, labels, self.fields.iter().map(|field| field.value(&object)).collect());
        Ok(())
    }

    /// Indexes all entries of the collection, of which none is indexed yet.
    async fn build(
        &mut self,
        objects: &Objects,
        handler: &ResourceHandler,
        entries: &[Entry],
    ) -> Result<(), ApiError> {
        let mut builder = Builder::default();
        for (place, entry) in entries.iter().enumerate() {
            self.push(&mut builder, objects, handler, entry)?;
            if place % STRIDE == 0 {
                if builder.weight() > CAPACITY {
                    self.is_too_large = true;
                    return Ok(());
                }
                tokio::task::yield_now().await;
            }
        }
        self.postings = builder.finish();
        Ok(())
    }

    /// Brings the index to the state of the collection, and reads only what differs.
    async fn compare(
        &mut self,
        objects: &Objects,
        handler: &ResourceHandler,
        entries: &[Entry],
    ) -> Result<(), ApiError> {
        self.postings.retain(entries);
        for (place, entry) in entries.iter().enumerate() {
            if !self.postings.has(entry) {
                self.insert(objects, handler, entry)?;
            }
            if place % STRIDE == 0 {
                if self.postings.weight() > CAPACITY {
                    self.is_too_large = true;
                    return Ok(());
                }
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// Adds an entry of the collection to the postings that are built.
    fn push(
        &self,
        builder: &mut Builder,
        objects: &Objects,
        handler: &ResourceHandler,
        entry: &Entry,
    ) -> Result<(), ApiError> {
        if self.fields.is_empty()
            && splice::labels_text(&entry.value.bytes()).is_some_and(|text| builder.push_text(entry, text))
        {
            return Ok(());
        }
        let object = objects.read_object(handler, entry)?;
        let labels = object.at(["metadata", "labels"]).unwrap_or(&Value::Null);
        builder.push(entry, labels, self.fields.iter().map(|field| field.value(&object)).collect());
        Ok(())
    }

    /// Returns a page as it was at a revision, given the states of the entries that changed since.
    fn find(
        &self,
        objects: &Objects,
        request: &IndexRequest<'_>,
        at: Revision,
        former: BTreeMap<Bytes, Option<Entry>>,
    ) -> Result<Listing, ApiError> {
        let query = Query {
            terms: request.terms,
            fields: &self.fields,
            prefix: request.prefix.as_bytes(),
            from: request.from.as_bytes(),
            limit: request.limit,
        };
        let (mut entries, mut next) = self.postings.find(&query, &former);
        let found = entries.len();
        for (key, entry) in former {
            let is_in_page =
                &key[..] >= request.from.as_bytes() && next.as_ref().is_none_or(|next| key < *next);
            let Some(entry) = entry.filter(|_| is_in_page) else { continue };
            let object = objects.read_object(request.handler, &entry)?;
            if request.terms.iter().all(|term| term.matches(&object)) {
                entries.push(entry);
            }
        }
        if entries.len() > found {
            entries.sort_by(|a, b| a.key.cmp(&b.key));
            if let Some(beyond) = entries.get(request.limit) {
                next = Some(beyond.key.clone());
                entries.truncate(request.limit);
            }
        }
        Ok(Listing { entries, revision: at, remaining: 0, next })
    }
}

/// Returns the next changes if they are at hand; an error ends the watch.
fn poll(watch: &mut Watch) -> Poll<Result<Changes, Error>> {
    loop {
        match pin!(watch.next()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(Signal::Changes(changes))) => return Poll::Ready(Ok(changes)),
            Poll::Ready(Ok(Signal::Progress(_))) => {}
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
        }
    }
}

/// Returns the entries under a prefix that changed between two revisions, as they were at the first; `None` if that is not known.
async fn changed_since(
    store: &dyn Store,
    prefix: &str,
    at: Revision,
    until: Revision,
) -> Option<BTreeMap<Bytes, Option<Entry>>> {
    let mut watch = store.watch(WatchRequest::prefix(prefix.to_owned()).after(at)).await.ok()?;
    let mut former = BTreeMap::new();
    loop {
        match poll(&mut watch) {
            Poll::Pending => return Some(former),
            Poll::Ready(Ok(changes)) if changes.revision() > until => return Some(former),
            Poll::Ready(Ok(changes)) => {
                for change in &changes {
                    former.entry(change.key.clone()).or_insert_with(|| change.previous.clone());
                }
            }
            Poll::Ready(Err(_)) => return None,
        }
    }
}
