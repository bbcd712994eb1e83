//! Reads: get, list and watch, and the caches that let them share work. The store knows what exists and at which revision; the
//! caches are keyed by revision and hold only encoded or decoded forms of it.

mod broadcast;
mod encode_cache;
mod event_cache;
mod frame;
mod list;
mod list_body;
mod list_cache;
mod list_options;
mod list_range;
mod scan;
mod selection;
mod view;
mod watch;

use broadcast::Broadcasts;
use encode_cache::EncodeCache;
pub use encode_cache::{EncodedForm, Placement};
use event_cache::EventCache;
use hyper::StatusCode;
pub use list::Selected;
use list_cache::ListCache;
pub use scan::parse_version;
pub use selection::Selection;
use std::{ops::RangeInclusive, sync::Arc, time::Duration};
use tenure_catalog::{
    CollectionSizes, FieldsV1Cache, Objects, ResourceHandler, SelectorIndexes, Target, WatchDispatch,
    object::prefix,
};
use tenure_http::{Format, MemoryBudget, Metrics, Request, Response, offload::Offload};
use tenure_meta::ApiError;
use tenure_store::ListRequest;

/// How many objects a collection has whose index is built at the start: the index of more takes memory that may not be needed.
const PREPARED_SIZES: RangeInclusive<usize> = scan::FEW..=100_000;
/// How many bytes of a collection cost as much as one byte of an object: most of them are copied.
const COLLECTION_BYTES: u64 = 4;

/// What reads share with all other requests of a server.
pub struct ReadLimits {
    /// The memory of lists that are being built and sent.
    pub memory: MemoryBudget,
    /// Where large objects and collections are read and encoded.
    pub offload: Arc<Offload>,
    /// How large collections are.
    pub sizes: Arc<CollectionSizes>,
}

/// Answers reads.
pub struct Reader {
    /// Access to stored objects.
    pub objects: Arc<Objects>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    encode_cache: EncodeCache,
    event_cache: EventCache,
    broadcasts: Broadcasts,
    list_cache: ListCache,
    fields_v1_cache: FieldsV1Cache,
    indexes: SelectorIndexes,
    dispatch: WatchDispatch,
    limits: ReadLimits,
    /// Becomes true when the server stops, which ends all watches.
    stopping: tokio::sync::watch::Receiver<bool>,
    /// How long a watch lasts at least that sets no timeout.
    pub min_watch: Duration,
}

impl Reader {
    /// Creates a reader. Its watches end when `stopping` becomes true.
    pub fn new(
        objects: Arc<Objects>,
        metrics: Arc<Metrics>,
        limits: ReadLimits,
        stopping: tokio::sync::watch::Receiver<bool>,
        min_watch: Duration,
    ) -> Arc<Reader> {
        Arc::new(Reader {
            objects,
            metrics,
            encode_cache: EncodeCache::default(),
            event_cache: EventCache::default(),
            broadcasts: Broadcasts::default(),
            list_cache: ListCache::default(),
            fields_v1_cache: FieldsV1Cache::default(),
            indexes: SelectorIndexes::default(),
            dispatch: WatchDispatch::default(),
            limits,
            stopping,
            min_watch,
        })
    }

    /// Returns one object.
    pub async fn get(&self, target: &Target, request: &Request) -> Result<Response, ApiError> {
        if request.query.flag("export") {
            let why = "the export parameter, deprecated since v1.14, is no longer supported";
            return Err(ApiError::bad_request(why));
        }
        let format = request.format(target.offer())?;
        let key = target.key();
        let Some(form) = EncodedForm::of(&target.handler, format, Placement::Alone) else {
            return Box::pin(self.get_view(target, request, format)).await;
        };
        let entry = match self.may_be_known(request).await? {
            true => self.objects.store.peek(key.as_bytes())?,
            false => self.objects.store.get(key.as_bytes()).await?,
        };
        let entry = entry.ok_or_else(|| target.not_found())?;
        let encoded = self.encoded(&target.handler, &entry, &form).await?;
        Ok(Response::new(StatusCode::OK, format.encoding.media_type(), encoded.bytes))
    }

    /// Returns one object in a form that depends on more than the object.
    async fn get_view(
        &self,
        target: &Target,
        request: &Request,
        format: Format,
    ) -> Result<Response, ApiError> {
        let is_known = self.may_be_known(request).await?;
        let entry = self.objects.store.peek(target.key().as_bytes())?;
        let show = async {
            let stored = match is_known {
                true => self.objects.peek(target).await?,
                false => self.objects.read(target).await?,
            };
            let stored = stored.ok_or_else(|| target.not_found())?;
            self.show(StatusCode::OK, target, request, format, &stored)
        };
        self.limits.offload.run_for(entry.map_or(0, |entry| entry.value.len()), show).await
    }

    /// Whether a request accepts what this server knows: it names a version that is not newer.
    async fn may_be_known(&self, request: &Request) -> Result<bool, ApiError> {
        let Some(version) = request.query.given("resourceVersion") else { return Ok(false) };
        let revision = parse_version(version).map_err(|why| {
            ApiError::bad_request(why.as_str()).or_in_kubernetes(ApiError::unclassified(why))
        })?;
        if revision <= self.objects.store.known() {
            return Ok(true);
        }
        let current = self.objects.store.revision().await?;
        if revision > current {
            return Err(scan::too_large(revision, current));
        }
        Ok(false)
    }

    /// Returns how many bytes of an object cost as much as a read of a collection.
    pub async fn collection_work(&self, handler: &ResourceHandler) -> usize {
        let bytes = self.limits.sizes.of(&handler.resource).await.bytes() / COLLECTION_BYTES;
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Builds the indexes of the labels of large collections, and returns for how many: after a start all clients list again, many of
    /// them by labels.
    pub async fn prepare_indexes(&self) -> usize {
        let (store, mut prepared) = (&self.objects.store, 0);
        for handler in self.objects.catalog.stored_resources() {
            let collection = prefix(&handler.resource, "");
            let known = Some(store.known());
            let count = ListRequest { at: known, ..ListRequest::prefix(collection.clone()).limit(0) };
            let count = store.list(count).await.map(|counted| counted.remaining);
            if !count.is_ok_and(|count| PREPARED_SIZES.contains(&count)) {
                continue;
            }
            match self.indexes.prepare(&self.objects, &handler, &collection).await {
                Ok(()) => prepared += 1,
                Err(failure) => tracing::debug!(%failure, collection, "no index"),
            }
        }
        prepared
    }

    /// Drops the single objects and events that were not read since the last call: each is encoded again at little cost, and after
    /// many writes there are many.
    pub fn drop_unread_objects(&self) {
        self.encode_cache.drop_unread();
        self.event_cache.drop_unread();
    }

    /// Drops what was not read since the last call, so that an idle server keeps nothing.
    pub fn drop_unread(&self) {
        self.drop_unread_objects();
        self.broadcasts.drop_unread();
        self.list_cache.drop_unread();
        self.fields_v1_cache.drop_unread();
        self.indexes.drop_unread();
        self.objects.drop_unread();
    }
}
