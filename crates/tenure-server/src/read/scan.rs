//! The scan of a collection: page by page, at one revision however long it takes. The caller says which entries count; a scan with
//! a limit ends when that many have counted, and returns where the next page starts.

use super::{Reader, list_body::ListMetadata, list_range::Range, selection::Selection};
use bytes::Bytes;
use tenure_catalog::{
    IndexRequest, Page, Target,
    object::{key, prefix},
};
use tenure_http::{MemoryBudget, Request, Reservation};
use tenure_meta::{ApiError, IndexTerm, Reason, Scope};
use tenure_store::{Entry, Error, ListRequest, Listing, Revision};

/// How many entries are read from the store at once while a selector chooses among them.
const CHUNK: usize = 1000;

/// A selection among fewer entries visits them all, without an index.
pub(super) const FEW: usize = 256;

/// How many entries are visited before other requests get a turn.
const STRIDE: usize = 256;

/// How many bytes an object takes as a document, for each byte that it takes in the store.
pub(super) const BYTES_PER_STORED_BYTE: usize = 4;

/// A scan under way.
pub(crate) struct Scan<'a> {
    reader: &'a Reader,
    target: &'a Target,
    prefix: String,
    /// The key of the only object that can be selected, if the request names one.
    only: Option<String>,
    /// What an index can answer, and whether that is the whole selection; empty if every entry has to be visited.
    terms: (Vec<IndexTerm>, bool),
    page: Option<Page>,
    at: Option<Revision>,
    from: String,
    /// Whether every entry counts.
    everything: bool,
    /// The selector of the shard that is listed.
    shard: Option<String>,
    limit: Option<usize>,
    kept: usize,
    listing: Option<Listing>,
    position: usize,
    /// The bytes of what the caller keeps.
    bytes: usize,
    memory: Reservation,
}

impl Reader {
    /// Starts a scan of the collection that a request names.
    pub(super) async fn scan<'a>(
        &'a self,
        target: &'a Target,
        request: &Request,
        selection: &Selection,
    ) -> Result<Scan<'a>, ApiError> {
        let query = &request.query;
        // A client that accepts any version gets everything that is known at once.
        let any = query.given("resourceVersion").is_some_and(|version| version == "0");
        let limit = query.integer("limit")?.filter(|limit| *limit > 0 && !any).map(|limit| limit as usize);
        query.integer("timeoutSeconds")?;
        let page = query.given("continue").map(|token| Page::parse(token)).transpose()?;
        let at = self.revision_to_read(request, page.as_ref()).await?;
        let scan = self.scan_at(target, selection, at);
        let from = page.as_ref().map_or_else(String::new, |page| format!("{}{}", scan.prefix, page.start));
        let only = scan.only.clone().filter(|_| page.is_none());
        Ok(Scan { only, page, from, limit, ..scan })
    }

    /// Starts a scan of a whole collection at a revision, the current one if it is `None`.
    pub(super) fn scan_at<'a>(
        &'a self,
        target: &'a Target,
        selection: &Selection,
        at: Option<Revision>,
    ) -> Scan<'a> {
        let resource = &target.handler.resource;
        let is_one_namespace = resource.scope == Scope::Cluster || !target.namespace.is_empty();
        let only = selection.only_name().filter(|_| is_one_namespace);
        Scan {
            reader: self,
            target,
            prefix: prefix(resource, &target.namespace),
            only: only.map(|name| key(resource, &target.namespace, name)),
            terms: selection.index_terms(),
            page: None,
            at,
            from: String::new(),
            everything: selection.is_everything(),
            shard: selection.shard(),
            limit: None,
            kept: 0,
            listing: None,
            position: 0,
            bytes: 0,
            memory: self.limits.memory.reservation(),
        }
    }

    /// Returns the revision that a list is read at; `None` for the current one.
    async fn revision_to_read(
        &self,
        request: &Request,
        page: Option<&Page>,
    ) -> Result<Option<Revision>, ApiError> {
        let query = &request.query;
        let version = query.given("resourceVersion");
        let matching = query.given("resourceVersionMatch").map(|word| word.as_str());
        if let Some(page) = page {
            if version.is_some_and(|version| version != "0") {
                return Err(ApiError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            return Ok(page.revision);
        }
        let Some(version) = version else { return Ok(None) };
        let revision = parse_version(version)
            .map_err(|why| ApiError::bad_request(format!("invalid resource version: {why}")))?;
        let known = self.objects.store.known();
        if revision > known {
            let current = self.objects.store.revision().await?;
            if revision > current {
                return Err(too_large(revision, current));
            }
        }
        // A first page without resourceVersionMatch reads exactly that version, unless it is 0.
        let exact = matching == Some("Exact")
            || matching.is_none()
                && revision != Revision::ZERO
                && query.integer("limit")?.is_some_and(|limit| limit > 0);
        // What this server knows is not older, so that no other server is asked.
        Ok(Some(if exact { revision } else { known.max(revision) }))
    }
}

impl Scan<'_> {
    /// Returns the next entry; `None` at the end, or when the limit is reached.
    pub async fn next(&mut self) -> Result<Option<Entry>, ApiError> {
        loop {
            if self.is_full() {
                return Ok(None);
            }
            if let Some(listing) = &self.listing {
                if let Some(entry) = listing.entries.get(self.position).cloned() {
                    self.position += 1;
                    // A long scan yields to other requests now and then.
                    if self.position.is_multiple_of(STRIDE) {
                        tokio::task::yield_now().await;
                    }
                    return Ok(Some(entry));
                }
                match &listing.next {
                    Some(next) => self.from = String::from_utf8_lossy(next).into_owned(),
                    None => return Ok(None),
                }
            }
            self.read().await?;
        }
    }

    /// Whether every entry is selected, so that no entry has to be looked at.
    pub fn is_everything(&self) -> bool {
        self.everything
    }

    /// Whether all entries are selected by what they were read with, so that none has to be looked at.
    pub fn is_exact(&self) -> bool {
        self.everything || self.terms.1 && !self.terms.0.is_empty()
    }

    /// Returns what an index can answer of the selection.
    pub fn terms(&self) -> &[IndexTerm] {
        &self.terms.0
    }

    /// Reads all entries that an index selects. If it turns out that none answers, returns `None` and goes back to the start.
    pub async fn read_indexed(&mut self) -> Result<Option<Listing>, ApiError> {
        let (from, mut entries) = (self.from.clone(), Vec::new());
        self.read().await?;
        while self.is_exact() {
            let Some(entry) = self.next().await? else {
                let (next, remaining) = self.rest().unzip();
                let (revision, remaining) = (self.at.unwrap_or_default(), remaining.unwrap_or_default());
                return Ok(Some(Listing { entries, revision, remaining, next }));
            };
            self.kept += 1;
            entries.push(entry);
        }
        if !entries.is_empty() {
            (self.from, self.listing, self.kept) = (from, None, 0);
        }
        Ok(None)
    }

    /// Returns what is read, apart from the selection.
    pub fn range(&self) -> Range {
        Range { prefix: self.prefix.clone(), from: self.from.clone(), limit: self.limit, at: self.at }
    }

    /// Returns the revision that is read; `None` for the current one.
    pub fn at(&self) -> Option<Revision> {
        self.at
    }

    /// Returns the entries that were read together with the last one and come after it.
    pub fn at_hand(&self) -> &[Entry] {
        self.listing.as_ref().and_then(|listing| listing.entries.get(self.position..)).unwrap_or_default()
    }

    /// Counts the last entry, of which the caller keeps so many bytes. Fails if these do not fit into memory together with all
    /// that is in flight.
    pub fn keep(&mut self, bytes: usize) -> Result<(), ApiError> {
        self.kept += 1;
        self.bytes += bytes;
        let wanted = self.bytes.saturating_sub(MemoryBudget::SMALL).saturating_sub(self.memory.bytes());
        if self.memory.grow(wanted) { Ok(()) } else { Err(no_memory_for_list()) }
    }

    /// Returns the memory of what the caller keeps.
    pub fn take_memory(&mut self) -> Option<Reservation> {
        let empty = self.reader.limits.memory.reservation();
        Some(std::mem::replace(&mut self.memory, empty)).filter(|memory| memory.bytes() > 0)
    }

    /// Returns the metadata of the list.
    pub fn metadata(&self) -> ListMetadata {
        self.metadata_of(self.at.unwrap_or_default(), self.rest())
    }

    /// Returns the key of the first entry after the limit, and the number of all further ones.
    fn rest(&self) -> Option<(Bytes, usize)> {
        let listing = self.listing.as_ref().filter(|_| self.is_full())?;
        let next = listing.entries.get(self.position).map(|entry| &entry.key).or(listing.next.as_ref())?;
        Some((next.clone(), listing.entries.len() - self.position + listing.remaining))
    }

    /// Returns the metadata of a list at a revision, of which a key and as many entries from there on are left.
    pub fn metadata_of(&self, revision: Revision, rest: Option<(Bytes, usize)>) -> ListMetadata {
        let mut metadata = ListMetadata { revision, shard: self.shard.clone(), ..ListMetadata::default() };
        if let Some((next, remaining)) = rest {
            let start =
                String::from_utf8_lossy(next.get(self.prefix.len()..).unwrap_or_default()).into_owned();
            metadata.resume = Some(Page { revision: Some(revision), start }.token());
            metadata.remaining = self.everything.then_some(remaining);
        }
        metadata
    }

    fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.kept >= limit)
    }

    /// Reads the next entries: all of them if all are selected.
    pub async fn read(&mut self) -> Result<(), ApiError> {
        if let Some(listing) = self.read_index().await? {
            self.at = Some(listing.revision);
            (self.listing, self.position) = (Some(listing), 0);
            return Ok(());
        }
        let mut list = ListRequest::prefix(self.prefix.clone()).from(self.from.clone());
        list.limit = if self.everything { self.limit.map(|limit| limit - self.kept) } else { Some(CHUNK) };
        list.at = self.at;
        if let Some(only) = &self.only {
            // Keys that begin like this one come after it.
            (list.prefix, list.limit) = (only.clone().into(), Some(1));
        }
        let listing = self.reader.objects.store.list(list).await.map_err(|error| self.failure(error))?;
        self.at = Some(listing.revision);
        let listing = match &self.only {
            Some(only) => Listing {
                entries: listing.entries.into_iter().filter(|entry| entry.key == only.as_bytes()).collect(),
                next: None,
                ..listing
            },
            None => listing,
        };
        (self.listing, self.position) = (Some(listing), 0);
        Ok(())
    }

    /// Returns the error of a list that the store cannot read.
    pub fn failure(&self, error: Error) -> ApiError {
        match (error, &self.page) {
            (Error::TooOld { .. }, Some(page)) => page.expired(),
            (error, _) => too_old(error),
        }
    }

    /// Reads the next entries from an index, if one can answer and is faster; otherwise all are visited from now on.
    async fn read_index(&mut self) -> Result<Option<Listing>, ApiError> {
        if self.terms.0.is_empty() || self.only.is_some() {
            return Ok(None);
        }
        let mut not_before = self.at.unwrap_or_default();
        if self.listing.is_none() {
            let count = ListRequest { at: self.at, ..ListRequest::prefix(self.prefix.clone()).limit(0) };
            let count = self.reader.objects.store.list(count).await.map_err(|error| self.failure(error))?;
            not_before = count.revision;
            if count.remaining < FEW {
                self.terms.0.clear();
                self.at = Some(not_before);
                return Ok(None);
            }
        }
        let wanted =
            self.limit.filter(|_| self.terms.1).map_or(CHUNK, |limit| (limit - self.kept).min(CHUNK));
        let collection = prefix(&self.target.handler.resource, "");
        let request = IndexRequest {
            handler: &self.target.handler,
            terms: &self.terms.0,
            collection: &collection,
            prefix: &self.prefix,
            from: &self.from,
            limit: wanted,
            at: self.at,
            not_before,
        };
        let listing = self.reader.indexes.list(&self.reader.objects, &request).await?;
        if listing.is_none() {
            self.terms.0.clear();
        }
        Ok(listing)
    }
}

/// Returns the error of a list whose revision has been compacted, and any other error as it is.
pub(super) fn too_old(error: Error) -> ApiError {
    match error {
        Error::TooOld { .. } => {
            ApiError::new(Reason::Expired, "The resourceVersion for the provided list is too old.")
        }
        error => error.into(),
    }
}

/// Returns the error of a list that does not fit into memory together with all that is in flight.
pub(super) fn no_memory_for_list() -> ApiError {
    let why = "the server has too many large responses in flight, try again later";
    let mut error = ApiError::new(Reason::TooManyRequests, why);
    error.retry_after = Some(1);
    error
}

/// Reads a resource version.
pub fn parse_version(text: &str) -> Result<Revision, String> {
    text.parse().map(Revision::from_number).map_err(|_| {
        format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        )
    })
}

/// Returns the error for a version that has not been reached yet.
pub(crate) fn too_large(asked: Revision, current: Revision) -> ApiError {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let mut failure = ApiError::new(Reason::Timeout, message);
    failure.retry_after = Some(1);
    failure.with_causes(vec![tenure_meta::Cause {
        reason: "ResourceVersionTooLarge".into(),
        message: "Too large resource version".into(),
        field: String::new(),
        extension: None,
    }])
}
