//! Collections, pages of them and what an index selects of them, as they were last listed, joined into long pieces. A cached list is valid while nothing below its prefix has
//! changed, which a watch of the store tells; then a list costs what sending it costs. After a change the next list reuses the
//! pieces that the change did not touch. A collection that is too large to be kept is encoded while it is sent.

use crate::read::{
    Reader,
    encode_cache::EncodedForm,
    list_body::{Items, list_of},
    list_range::Range,
    scan::{Scan, no_memory_for_list},
};
use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Waker},
};
use tenure_catalog::{Cache, ResourceHandler, Target};
use tenure_http::{Encoding, Format, MemoryBudget, Reservation, Response};
use tenure_meta::{ApiError, IndexTerm};
use tenure_store::{Entry, Error, ListRequest, Listing, Revision, Store, Watch, WatchRequest};

/// What a list takes besides its key and its objects, roughly: most of it the watch.
const OVERHEAD: usize = 1024;
/// The most bytes of all lists together; a longer one is not kept.
const CAPACITY: usize = 40 * 1024 * 1024;
/// A piece of this size is complete.
const PIECE: usize = 64 * 1024;
/// Shorter pieces are joined with their neighbours.
const SHORT: usize = PIECE / 4;
/// How many objects are encoded before other requests get a turn.
const STRIDE: usize = 256;
/// A selection of fewer objects is not kept: there may be one for each object of a controller.
const MANY: usize = 64;

/// An object of a piece: its key and revision, and where its bytes end.
#[derive(Clone)]
struct Item {
    key: Bytes,
    revision: Revision,
    end: usize,
}

impl Item {
    fn is(&self, entry: &Entry) -> bool {
        self.revision == entry.modified && self.key == entry.key
    }
}

/// Consecutive objects, each after a separator.
#[derive(Clone)]
struct Piece {
    bytes: Bytes,
    items: Arc<[Item]>,
}

/// A collection, or a page of it, in one form.
struct CachedList {
    /// The bytes of its key.
    key: usize,
    pieces: Vec<Piece>,
    separator: &'static [u8],
    /// The revision that it was read at.
    read_at: Revision,
    /// The key of the first further entry, and the number of all further ones.
    rest: Option<(Bytes, usize)>,
    /// Follows the collection; `None` after the first change.
    watch: Mutex<Option<Watch>>,
}

impl CachedList {
    fn weight(&self) -> usize {
        let items = |piece: &Piece| piece.items.len() * size_of::<Item>();
        let pieces: usize = self.pieces.iter().map(|piece| piece.bytes.len() + items(piece)).sum();
        OVERHEAD + self.key + pieces
    }

    /// Returns the pieces without their first separators.
    fn bytes(&self) -> Vec<Bytes> {
        let piece = |piece: &Piece| piece.bytes.slice(self.separator.len().min(piece.bytes.len())..);
        self.pieces.iter().map(piece).collect()
    }

    /// Returns a revision at which the collection is this one: the requested revision, or else one that is not older than now.
    async fn holds(&self, store: &dyn Store, at: Option<Revision>) -> Result<Option<Revision>, ApiError> {
        let now = if at.is_none() { store.revision().await? } else { Revision::ZERO };
        let mut watch = self.watch.lock();
        let Some(open) = watch.as_mut() else { return Ok(None) };
        // An error counts as a change: the watch has lost track of the collection.
        if pin!(open.next()).poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            *watch = None;
            return Ok(None);
        }
        let known = open.progress();
        Ok(match at {
            // Nothing has changed between the two.
            Some(at) => (self.read_at <= at && at <= known).then_some(at),
            None => (known >= now).then_some(known),
        })
    }
}

/// What a list contains, but for its revision.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ListKey {
    prefix: String,
    from: String,
    limit: Option<usize>,
    /// What selects the objects; empty if all are listed.
    terms: Vec<IndexTerm>,
    form: EncodedForm,
}

impl ListKey {
    fn bytes(&self) -> usize {
        // The cache has it twice.
        2 * (size_of_val(self) + self.prefix.len() + self.from.len() + bytes_of(&self.terms))
    }
}

/// Returns the bytes of a selection, which a client can make many: a selector may name thousands of values.
fn bytes_of(terms: &[IndexTerm]) -> usize {
    let values = terms.iter().flat_map(|term| term.values.iter().flatten());
    size_of_val(terms) + values.map(|value| size_of_val(value) + value.len()).sum::<usize>()
}

/// The lists by what they contain.
pub(super) struct ListCache(Cache<ListKey, Arc<CachedList>>);

impl Default for ListCache {
    fn default() -> ListCache {
        ListCache(Cache::new(CAPACITY, |list: &Arc<CachedList>| list.weight()))
    }
}

impl ListCache {
    pub fn drop_unread(&self) {
        self.0.drop_unread();
    }
}

/// Builds a list, reusing the pieces and items of the former one that have not changed.
struct ListBuilder {
    former: Option<Arc<CachedList>>,
    /// The next piece of the former list, and the next item in it.
    next: (usize, usize),
    separator: &'static [u8],
    pieces: Vec<Piece>,
    bytes: Vec<u8>,
    items: Vec<Item>,
}

impl ListBuilder {
    fn new(former: Option<Arc<CachedList>>, separator: &'static [u8]) -> ListBuilder {
        let (pieces, bytes, items) = (Vec::new(), Vec::new(), Vec::new());
        ListBuilder { former, next: (0, 0), separator, pieces, bytes, items }
    }

    /// Reuses a whole piece if the entries begin with its objects; returns their number.
    fn take_piece(&mut self, entries: &[Entry]) -> usize {
        let Some(former) = self.former.clone() else { return 0 };
        if former.pieces.get(self.next.0).is_some_and(|piece| piece.items.len() == self.next.1) {
            self.next = (self.next.0 + 1, 0);
        }
        let (at, 0) = self.next else { return 0 };
        let Some(piece) = former.pieces.get(at) else { return 0 };
        let same = piece.items.len() <= entries.len()
            && piece.items.iter().zip(entries).all(|(item, entry)| item.is(entry));
        if !same {
            return 0;
        }
        self.next = (at + 1, 0);
        if self.bytes.is_empty() || piece.bytes.len() >= SHORT {
            self.close();
            self.pieces.push(piece.clone());
        } else {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&piece.bytes);
            self.items.extend(piece.items.iter().map(|item| Item { end: start + item.end, ..item.clone() }));
            self.close_if_long();
        }
        piece.items.len()
    }

    /// Reuses the bytes of one entry if the former list has them.
    fn take_item(&mut self, entry: &Entry) -> bool {
        let Some(former) = self.former.clone() else { return false };
        while let Some(piece) = former.pieces.get(self.next.0) {
            let Some(item) = piece.items.get(self.next.1) else {
                self.next = (self.next.0 + 1, 0);
                continue;
            };
            if item.key > entry.key {
                return false;
            }
            let start = self.next.1.checked_sub(1).and_then(|before| piece.items.get(before));
            let start = start.map_or(0, |before| before.end) + self.separator.len();
            self.next.1 += 1;
            if item.is(entry) {
                self.push(entry, piece.bytes.get(start..item.end).unwrap_or_default());
                return true;
            }
        }
        false
    }

    fn push(&mut self, entry: &Entry, bytes: &[u8]) {
        if self.bytes.is_empty() {
            self.bytes.reserve(PIECE + PIECE / 8);
        }
        self.bytes.extend_from_slice(self.separator);
        self.bytes.extend_from_slice(bytes);
        self.items.push(Item { key: entry.key.clone(), revision: entry.modified, end: self.bytes.len() });
        self.close_if_long();
    }

    fn close_if_long(&mut self) {
        if self.bytes.len() >= PIECE {
            self.close();
        }
    }

    fn close(&mut self) {
        if !self.items.is_empty() {
            let bytes = std::mem::take(&mut self.bytes).into_boxed_slice().into();
            self.pieces.push(Piece { bytes, items: std::mem::take(&mut self.items).into() });
        }
    }
}

/// A collection, or a page of it, in one form.
pub(super) struct EncodedList {
    pub revision: Revision,
    /// The number of objects.
    pub count: usize,
    pub items: EncodedItems,
    /// The key of the first further entry, and the number of all further ones.
    pub rest: Option<(Bytes, usize)>,
    /// The memory of what is not shared with the cache.
    pub memory: Option<Reservation>,
}

/// The items of a collection.
pub(super) enum EncodedItems {
    /// Encoded, in pieces that need a separator between them.
    Pieces(Vec<Bytes>),
    /// Too large to be kept: the entries, which are encoded one by one, and their bytes as they are stored.
    Entries(Arc<[Entry]>, usize),
}

impl Reader {
    /// Returns a collection or a page of it, from the cache while nothing in the collection has changed. For handlers without a
    /// conversion webhook.
    pub(super) async fn whole(
        &self,
        handler: &ResourceHandler,
        Range { prefix, from, limit, at }: Range,
        form: &EncodedForm,
        failed: impl Fn(Error) -> ApiError,
    ) -> Result<EncodedList, ApiError> {
        let key = ListKey { prefix, from, limit, terms: Vec::new(), form: form.clone() };
        let former = self.list_cache.0.get(&key);
        if let Some(whole) = self.held(former.as_deref(), at).await? {
            return Ok(whole);
        }
        let (prefix, from) = (key.prefix.clone().into(), key.from.clone().into());
        let listing = self.objects.store.list(ListRequest { prefix, from, limit, at }).await;
        self.build(handler, key, former, listing.map_err(failed)?).await
    }

    /// Returns a cached list if nothing in the collection has changed since.
    async fn held(
        &self,
        former: Option<&CachedList>,
        at: Option<Revision>,
    ) -> Result<Option<EncodedList>, ApiError> {
        let Some(list) = former else { return Ok(None) };
        let Some(revision) = list.holds(&*self.objects.store, at).await? else { return Ok(None) };
        // The bytes are those of the cache, however many clients read them.
        let memory = Some(self.limits.memory.reservation());
        let count = list.pieces.iter().map(|piece| piece.items.len()).sum();
        let (items, rest) = (EncodedItems::Pieces(list.bytes()), list.rest.clone());
        Ok(Some(EncodedList { revision, count, items, rest, memory }))
    }

    /// Encodes what was read and keeps it, unless it is too large; what the former list has is not encoded again.
    async fn build(
        &self,
        handler: &ResourceHandler,
        key: ListKey,
        former: Option<Arc<CachedList>>,
        Listing { entries, revision, remaining, next }: Listing,
    ) -> Result<EncodedList, ApiError> {
        let form = &key.form;
        let (count, rest) = (entries.len(), next.map(|next| (next, remaining)));
        let bytes: usize = entries.iter().map(|entry| entry.value.len()).sum();
        if bytes > form.most_kept() {
            let memory = Some(self.reserve(count * size_of::<Entry>())?);
            let items = EncodedItems::Entries(entries.into(), bytes);
            return Ok(EncodedList { revision, count, items, rest, memory });
        }
        let memory = if bytes > MemoryBudget::SMALL { Some(self.reserve(bytes)?) } else { None };
        let separator = form.separator();
        let mut builder = ListBuilder::new(former, separator);
        let (mut left, mut encoded) = (&entries[..], 0);
        while let [entry, after @ ..] = left {
            match builder.take_piece(left) {
                0 => left = after,
                many => {
                    left = left.get(many..).unwrap_or_default();
                    continue;
                }
            }
            if !builder.take_item(entry) {
                builder.push(entry, &form.encode_entry(&self.objects, handler, entry)?.bytes);
                encoded += 1;
                // A long list yields to other requests now and then.
                if encoded % STRIDE == 0 {
                    tokio::task::yield_now().await;
                }
            }
        }
        builder.close();
        let watch = WatchRequest::prefix(key.prefix.clone()).after(revision);
        // Without a watch, the next list can still reuse the pieces.
        let watch = Mutex::new(self.objects.store.watch(watch).await.ok());
        let pieces = builder.pieces;
        let list =
            CachedList { key: key.bytes(), pieces, separator, read_at: revision, rest: rest.clone(), watch };
        let items = EncodedItems::Pieces(list.bytes());
        self.list_cache.0.insert(&key, Arc::new(list));
        Ok(EncodedList { revision, count, items, rest, memory })
    }

    /// Returns a collection, a page of it, or what an index selects of it, as a list; `None` if entries have to be looked at.
    pub(super) async fn list_cached(
        self: &Arc<Self>,
        target: &Target,
        format: Format,
        form: &EncodedForm,
        scan: &mut Scan<'_>,
    ) -> Result<Option<Response>, ApiError> {
        if scan.is_everything() {
            let whole = self.whole(&target.handler, scan.range(), form, |error| scan.failure(error)).await?;
            return self.list_of_whole(target, format, form, scan, whole).await.map(Some);
        }
        match scan.is_exact() {
            true => self.list_indexed(target, format, form, scan).await,
            false => Ok(None),
        }
    }

    /// Returns what an index selects of a collection, as a list; `None` if no index answers.
    async fn list_indexed(
        self: &Arc<Self>,
        target: &Target,
        format: Format,
        form: &EncodedForm,
        scan: &mut Scan<'_>,
    ) -> Result<Option<Response>, ApiError> {
        let handler = &target.handler;
        let (Range { prefix, from, limit, at }, terms) = (scan.range(), scan.terms().to_vec());
        let key = ListKey { prefix, from, limit, terms, form: form.clone() };
        let former = self.list_cache.0.get(&key);
        if let Some(whole) = self.held(former.as_deref(), at).await? {
            return self.list_of_whole(target, format, form, scan, whole).await.map(Some);
        }
        let Some(listing) = scan.read_indexed().await? else { return Ok(None) };
        if listing.entries.len() >= MANY {
            let whole = self.build(handler, key, former, listing).await?;
            return self.list_of_whole(target, format, form, scan, whole).await.map(Some);
        }
        let bytes: usize = listing.entries.iter().map(|entry| entry.value.len()).sum();
        let memory = if bytes > MemoryBudget::SMALL { Some(self.reserve(bytes)?) } else { None };
        let mut pieces = Vec::with_capacity(listing.entries.len());
        for entry in &listing.entries {
            pieces.push(self.encoded(handler, entry, form).await?.bytes);
        }
        let items = Items::Encoded { count: pieces.len(), pieces };
        let mut response = list_of(handler, format, items, &scan.metadata())?;
        response.memory = memory;
        Ok(Some(response))
    }

    /// Returns the list of what was read.
    async fn list_of_whole(
        self: &Arc<Self>,
        target: &Target,
        format: Format,
        form: &EncodedForm,
        scan: &Scan<'_>,
        EncodedList { revision, count, items, rest, memory }: EncodedList,
    ) -> Result<Response, ApiError> {
        let handler = &target.handler;
        let metadata = scan.metadata_of(revision, rest);
        let mut response = match items {
            EncodedItems::Pieces(pieces) => {
                list_of(handler, format, Items::Encoded { count, pieces }, &metadata)?
            }
            EncodedItems::Entries(entries, stored) => {
                let bytes = match format.encoding {
                    // The length comes first in protobuf, so that everything is encoded twice.
                    Encoding::Protobuf => self.encoded_bytes(handler, form, &entries).await?,
                    _ => stored,
                };
                let (reader, handler, form) = (self.clone(), handler.clone(), form.clone());
                let produce = move |at: usize| {
                    let encoded = form.encode_entry(&reader.objects, &handler, entries.get(at)?);
                    let failed = |failure: &ApiError| tracing::warn!(%failure, "list ends early");
                    encoded.inspect_err(failed).ok().map(|encoded| encoded.bytes)
                };
                let items = Items::Produced { count, bytes, produce: Arc::new(produce) };
                list_of(&target.handler, format, items, &metadata)?
            }
        };
        response.memory = memory;
        Ok(response)
    }

    /// Returns how many bytes entries take when they are encoded.
    async fn encoded_bytes(
        &self,
        handler: &ResourceHandler,
        form: &EncodedForm,
        entries: &[Entry],
    ) -> Result<usize, ApiError> {
        let mut bytes = 0;
        for (place, entry) in entries.iter().enumerate() {
            bytes += form.encode_entry(&self.objects, handler, entry)?.bytes.len();
            if place % STRIDE == 0 {
                tokio::task::yield_now().await;
            }
        }
        Ok(bytes)
    }

    /// Reserves the memory of a large list.
    fn reserve(&self, bytes: usize) -> Result<Reservation, ApiError> {
        self.limits.memory.reserve(bytes).ok_or_else(no_memory_for_list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tenure_meta::LabelSelector;

    /// The names and revisions of a collection.
    type State = BTreeMap<String, u64>;

    fn entries(state: &State) -> Vec<Entry> {
        let entry = |(name, revision): (&String, &u64)| Entry {
            key: format!("pods/{name}").into(),
            value: Bytes::new().into(),
            created: Revision::from_number(1),
            modified: Revision::from_number(*revision),
        };
        state.iter().map(entry).collect()
    }

    fn text(entry: &Entry) -> Vec<u8> {
        let key = String::from_utf8_lossy(&entry.key);
        format!("{key}@{}{}", entry.modified, "x".repeat(700 + entry.modified.get() as usize % 300))
            .into_bytes()
    }

    /// Lists a collection, and says how many of its objects had to be encoded.
    fn list(state: &State, former: Option<Arc<CachedList>>) -> (Arc<CachedList>, usize) {
        let (all, mut encoded) = (entries(state), 0);
        let mut builder = ListBuilder::new(former, b",");
        let mut rest = &all[..];
        while let [entry, after @ ..] = rest {
            match builder.take_piece(rest) {
                0 => rest = after,
                many => {
                    rest = &rest[many..];
                    continue;
                }
            }
            if !builder.take_item(entry) {
                builder.push(entry, &text(entry));
                encoded += 1;
            }
        }
        builder.close();
        let pieces = builder.pieces;
        let (read_at, rest, watch) = (Revision::ZERO, None, Mutex::default());
        (Arc::new(CachedList { key: 0, pieces, separator: b",", read_at, rest, watch }), encoded)
    }

    #[test]
    fn every_value_of_a_selector_weighs() {
        let values: Vec<String> = (0..1000).map(|number| format!("value-{number:05}")).collect();
        let selector = LabelSelector::parse(&format!("app in ({})", values.join(","))).unwrap();
        let (terms, is_exact) = selector.index_terms();
        assert!(is_exact && bytes_of(&terms) > 1000 * "value-00000".len());
    }

    #[test]
    fn a_list_equals_its_collection_whatever_is_cached() {
        let (mut state, mut former, mut revision) = (State::new(), None, 1);
        let mut random = 7u64;
        for round in 0..200 {
            // A few random changes, and many in some rounds.
            for _ in 0..if round % 20 == 0 { 300 } else { round % 4 } {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let name = format!("{:03}", (random >> 33) % 600);
                revision += 1;
                match (random >> 20) % 3 {
                    0 => drop(state.remove(&name)),
                    _ => drop(state.insert(name, revision)),
                }
            }
            let (next, _) = list(&state, former.clone());
            let expected: Vec<Vec<u8>> = entries(&state).iter().map(text).collect();
            assert!(next.bytes().join(&b',') == expected.join(&b','), "round {round}");
            let long = next.pieces.iter().filter(|piece| piece.bytes.len() >= SHORT).count();
            assert!(next.pieces.len() <= 2 * long + 2, "{} pieces, {long} long", next.pieces.len());
            former = Some(next);
        }
    }

    #[test]
    fn unchanged_pieces_are_shared() {
        let mut state: State = (0..1000).map(|at| (format!("{at:04}"), 1)).collect();
        let (before, all) = list(&state, None);
        assert_eq!(all, 1000);
        state.insert("0500".into(), 2);
        let (after, encoded) = list(&state, Some(before.clone()));
        assert_eq!(encoded, 1);
        let shared =
            |piece: &Piece| before.pieces.iter().any(|former| former.bytes.as_ptr() == piece.bytes.as_ptr());
        let anew = after.pieces.iter().filter(|piece| !shared(piece)).count();
        assert!(after.pieces.len() > 5 && anew == 1, "{anew} of {} anew", after.pieces.len());
    }
}
