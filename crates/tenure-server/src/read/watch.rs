//! WATCH: every change of a collection, in order, exactly once, as a stream of frames. A watcher is a cursor into the store's
//! history that moves when its client reads. Nothing is queued for a slow client; one that falls behind the history receives an
//! error. What several watchers receive is decoded and encoded once.

use crate::read::{
    Reader,
    broadcast::{SharedBatch, Stream},
    encode_cache::EncodedForm,
    event_cache::SharedEvent,
    frame::{Event, frame, object_frame},
    list_cache::{EncodedItems, EncodedList},
    list_range::Range,
    scan::{parse_version, too_old},
    selection::Selection,
    view::unknown_row_object,
};
use bytes::{Bytes, BytesMut};
use hyper::header::{self, HeaderValue};
use std::{
    hash::{BuildHasher, RandomState},
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tenure_catalog::{
    Target,
    object::{Stored, key, partial, prefix, shown_as},
};
use tenure_http::{
    BodySender, BodyStream, Encoding, Format, Request, Response, View,
    compression::{GzipStream, accepts_gzip},
    negotiation::not_a_stream,
};
use tenure_meta::{ApiError, Scope};
use tenure_profile::Behaviour;
use tenure_store::{Error, ListRequest, Revision, Signal, Watch, WatchRequest};
use tenure_value::{Object, Value};
use tokio::time::{Instant, Sleep, sleep};

/// The longest time that a watch lasts.
const LASTING: Duration = Duration::from_secs(365 * 24 * 3600);
/// How often bookmarks are sent.
const BOOKMARKS: Duration = Duration::from_secs(60);
/// How long before its end a watch sends a last bookmark.
const FAREWELL: Duration = Duration::from_secs(2);

/// Frames of this many bytes are sent even if more are ready.
const BATCH_BYTES: usize = 32 * 1024;

/// How long a watcher lets changes gather while they keep coming, for each watcher that the same changes wake: about what it costs to
/// send to one. Controllers wait for their own writes to come back, so that a few of them are not kept waiting.
const PAUSE_PER_WATCHER: Duration = Duration::from_micros(20);
/// The longest of these pauses, and the shortest that is worth a timer.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(2));
/// Changes keep coming if the last ones were sent before no more than this many pauses.
const KEEP_COMING: u32 = 4;

/// How a watch starts.
#[derive(Clone, Copy)]
enum Start {
    /// With all objects, and then the changes.
    Everything,
    /// The same, with a bookmark between the two.
    EverythingMarked,
    /// With the changes after a revision.
    After(Revision),
    /// With the changes from now on.
    Now,
}

/// What the rows of a table contain of their objects.
#[derive(Clone, Copy)]
enum RowObject {
    Metadata,
    Whole,
    None,
}

/// Returns a random number from 0 to 1.
fn random_fraction() -> f64 {
    RandomState::new().hash_one(()) as f64 / u64::MAX as f64
}

impl Reader {
    /// Returns a stream of changes.
    pub async fn watch(self: &Arc<Self>, target: Target, request: Request) -> Result<Response, ApiError> {
        let format = request.format(target.offer().with_streams())?;
        if format.encoding == Encoding::Yaml {
            return Err(not_a_stream(request.optional));
        }
        let selection = Selection::of(&target, &request, self.objects.catalog.profile())?;
        let start = start(&request)?;
        let seconds = request.query.integer("timeoutSeconds")?.filter(|seconds| *seconds > 0);
        let lasting = seconds.map_or_else(
            // Watches that begin together do not all end together.
            || self.min_watch + self.min_watch.mul_f64(random_fraction()),
            |seconds| Duration::from_secs(seconds as u64),
        );
        let media_type = format.encoding.stream_media_type();
        let row_object = match request.query.get("includeObject").map_or("", |value| value.as_str()) {
            "Object" => RowObject::Whole,
            "None" => RowObject::None,
            "" | "Metadata" => RowObject::Metadata,
            other if format.view == View::Table => return Err(unknown_row_object(other)),
            _ => RowObject::Metadata,
        };
        // The rows of a table depend on what was sent before, and a conversion may fail for one watcher alone.
        let can_share = format.view != View::Table && !target.handler.has_conversion_webhook();
        let stream = can_share.then(|| {
            Stream::new(place(&target, &selection), &selectors_of(&request), &target.handler, format)
        });
        let bookmarks = request.query.flag("allowWatchBookmarks");
        let gzip = matches!(start, Start::EverythingMarked)
            && bookmarks
            && self.objects.catalog.profile().behaves(Behaviour::CompressedWatchLists)
            && accepts_gzip(&request.headers);
        let watcher = Watcher {
            reader: self.clone(),
            target: Arc::new(target),
            selection,
            format,
            row_object,
            outlet: BodySender::default(),
            gzip: gzip.then(Box::default),
            bookmarks,
            end: self.objects.clock.instant() + lasting.min(LASTING),
            may_be_behind: request.query.given("resourceVersion").is_some(),
            table_begun: false,
            stream,
            sent: None,
        };
        self.metrics.watches.fetch_add(1, Relaxed);
        let watcher = Box::new(watcher);
        let stream = BodyStream::new(|outlet| watcher.run(start, outlet));
        let response = Response::stream(media_type, stream)
            .with_header(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        Ok(match gzip {
            true => response
                .with_header(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))
                .with_header(header::VARY, HeaderValue::from_static("Accept-Encoding")),
            false => response,
        })
    }
}

/// Returns the selectors of a request as they were sent.
fn selectors_of(request: &Request) -> String {
    let text = |name: &str| request.query.get(name).map_or("", |value| value.as_str());
    match ["labelSelector", "fieldSelector", "shardSelector"].map(text) {
        ["", "", ""] => String::new(),
        [labels, fields, shard] => format!("{labels}\n{fields}\n{shard}"),
    }
}

/// Returns the key or prefix of the objects that can be selected.
fn place(target: &Target, selection: &Selection) -> String {
    let resource = &target.handler.resource;
    match selection.only_name() {
        Some(name) if resource.scope != Scope::Namespaced || !target.namespace.is_empty() => {
            key(resource, &target.namespace, name)
        }
        _ => prefix(resource, &target.namespace),
    }
}

fn start(request: &Request) -> Result<Start, ApiError> {
    let query = &request.query;
    let initial = query.optional_flag("sendInitialEvents");
    let version = query.given("resourceVersion").map(|text| parse_version(text)).transpose();
    let version = version.map_err(ApiError::bad_request)?.filter(|revision| *revision != Revision::ZERO);
    Ok(match (initial, version) {
        (Some(true), _) => Start::EverythingMarked,
        (Some(false), None) => Start::Now,
        (None, None) => Start::Everything,
        (_, Some(revision)) => Start::After(revision),
    })
}

/// One client that watches.
struct Watcher {
    reader: Arc<Reader>,
    target: Arc<Target>,
    selection: Selection,
    format: Format,
    row_object: RowObject,
    outlet: BodySender,
    /// How what is sent is compressed, if it is.
    gzip: Option<Box<GzipStream>>,
    bookmarks: bool,
    end: Instant,
    /// Whether it may start with what this server knows: it named a version.
    may_be_behind: bool,
    /// Whether the columns of a table have been sent.
    table_begun: bool,
    /// What others may watch, too; `None` if it shares nothing with them.
    stream: Option<Arc<Stream>>,
    /// When it last sent changes.
    sent: Option<Instant>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.reader.metrics.watches.fetch_sub(1, Relaxed);
    }
}

/// When a watch sends bookmarks, and when it ends.
struct Schedule {
    bookmark: Option<Instant>,
    farewell: Option<Instant>,
    end: Instant,
}

impl Schedule {
    fn next(&self) -> Instant {
        [self.bookmark, self.farewell].into_iter().flatten().fold(self.end, Instant::min)
    }
}

/// Frames to be sent together: a single one is shared, several are joined.
#[derive(Default)]
struct Batch {
    first: Option<Bytes>,
    joined: BytesMut,
}

impl Batch {
    fn add(&mut self, frame: Bytes) {
        if self.first.is_none() && self.joined.is_empty() {
            self.first = Some(frame);
            return;
        }
        if let Some(first) = self.first.take() {
            self.joined.extend_from_slice(&first);
        }
        self.joined.extend_from_slice(&frame);
    }

    fn is_full(&self) -> bool {
        self.first.as_ref().map_or(0, Bytes::len) + self.joined.len() >= BATCH_BYTES
    }

    fn take(self) -> Option<Bytes> {
        self.first.or_else(|| (!self.joined.is_empty()).then(|| self.joined.freeze()))
    }
}

/// Changes that one watcher gathers for all.
struct Gathered {
    first: Revision,
    last: Revision,
    count: u64,
    frames: Batch,
}

/// Returns the next signal if it is ready.
async fn at_hand(watch: &mut Watch) -> Option<Result<Signal, Error>> {
    tokio::select! {
        biased;
        signal = watch.next() => Some(signal),
        () = std::future::ready(()) => None,
    }
}

/// Waits until a pause is over.
async fn elapsed(pause: &mut Option<Pin<Box<Sleep>>>) {
    if let Some(pause) = pause {
        pause.as_mut().await;
    }
}

impl Watcher {
    /// Serves the client. Boxed, since a future keeps its arguments beside what it makes of them.
    async fn run(mut self: Box<Self>, start: Start, outlet: BodySender) {
        self.outlet = outlet;
        let ended = self.follow(start).await.map_err(|failure| failure.status());
        if let Err(last) = ended.map_err(|status| frame(Event::Error, &status, self.format.encoding)) {
            self.send(last).await;
        }
        if let Some(gzip) = self.gzip.take() {
            self.outlet.send(gzip.finish()).await;
        }
    }

    /// Sends events until the watch ends; an error is sent to the client.
    async fn follow(&mut self, start: Start) -> Result<(), ApiError> {
        // Boxed, since this happens once and its memory would be kept as long as the watch lasts.
        let after = match start {
            Start::After(revision) => Some(revision),
            Start::Now => None,
            Start::Everything => Some(Box::pin(self.begin()).await?),
            Start::EverythingMarked => {
                let revision = Box::pin(self.begin()).await?;
                if self.bookmarks {
                    Box::pin(self.bookmark(revision, true)).await;
                }
                if let Some(gzip) = &mut self.gzip {
                    gzip.store();
                }
                Some(revision)
            }
        };
        let mut watch = Box::pin(self.open(after)).await?;
        // Allocated only while it is needed.
        let mut pause: Option<Pin<Box<Sleep>>> = None;
        let mut stop = self.reader.stopping.clone();
        let mut told = after.unwrap_or_default();
        let objects = self.reader.objects.clone();
        let clock = &objects.clock;
        let now = clock.instant();
        let mut schedule = Schedule {
            bookmark: self.bookmarks.then_some(now + BOOKMARKS),
            farewell: self.bookmarks.then(|| self.end.checked_sub(FAREWELL).unwrap_or(now).max(now)),
            end: self.end,
        };
        let alarm = clock.sleep_until(schedule.next());
        let stopped = async move {
            // The sender lives as long as the server.
            let _ = stop.wait_for(|stop| *stop).await;
        };
        // When the definition of a kind changes, its objects are read differently: the client starts again.
        let (catalog, handler) = (self.reader.objects.catalog.clone(), self.target.handler.clone());
        let redefined: Pin<Box<dyn Future<Output = ()> + Send>> = match handler.is_custom() {
            true => Box::pin(async move { catalog.redefined(&handler).await }),
            false => Box::pin(std::future::pending()),
        };
        tokio::pin!(alarm, stopped, redefined);
        loop {
            // In this order, so that a busy watch ends in time.
            tokio::select! {
                biased;
                () = &mut alarm => {
                    let now = clock.instant();
                    if now >= schedule.end {
                        return Ok(());
                    }
                    let parting = schedule.farewell.take_if(|at| *at <= now).is_some();
                    let due = schedule.bookmark.is_some_and(|at| at <= now);
                    if due {
                        schedule.bookmark = Some(now + BOOKMARKS);
                    }
                    let progress = watch.progress();
                    if due || parting && progress > told {
                        told = progress;
                        Box::pin(self.bookmark(progress, false)).await;
                    }
                    alarm.set(clock.sleep_until(schedule.next()));
                }
                () = &mut stopped => return Ok(()),
                () = &mut redefined => {
                    // The objects of a definition that is removed were deleted before it.
                    while let Some(signal) = at_hand(&mut watch).await {
                        Box::pin(self.deliver(signal, &mut watch, after)).await?;
                    }
                    return Ok(());
                }
                () = elapsed(&mut pause), if pause.is_some() => pause = None,
                signal = watch.next(), if pause.is_none() => {
                    // Boxed, so that a watch that waits does not keep its memory.
                    Box::pin(self.deliver(signal, &mut watch, after)).await?;
                    pause = self.pause(watch.audience()).map(|time| Box::pin(sleep(time)));
                }
            }
        }
    }

    /// Returns how long to let changes gather after some were sent to a number of watchers. There is no pause after the first changes
    /// in a while, so that watchers react at once.
    fn pause(&mut self, audience: usize) -> Option<Duration> {
        let (longest, shortest) = PAUSES;
        let pause =
            PAUSE_PER_WATCHER.saturating_mul(u32::try_from(audience).unwrap_or(u32::MAX)).min(longest);
        if pause < shortest {
            return None;
        }
        let now = Instant::now();
        let before = self.sent.replace(now);
        before.filter(|before| now - *before <= pause * KEEP_COMING).map(|_| pause)
    }

    /// Sends what a signal says. A watcher that is behind gets everything that is ready at once.
    async fn deliver(
        &mut self,
        signal: Result<Signal, Error>,
        watch: &mut Watch,
        after: Option<Revision>,
    ) -> Result<(), ApiError> {
        let stream = self.stream.clone().filter(|_| watch.audience() > 1);
        let stream = stream.as_ref();
        let (mut batch, mut gathered, mut ended) = (Batch::default(), None, Ok(()));
        let mut next = Some(signal);
        while let Some(signal) = next {
            match stream.and_then(|stream| self.shared_batch(stream, &signal, after)) {
                Some(shared) => {
                    self.offer(stream, &mut gathered, &mut batch);
                    self.reader.metrics.events.fetch_add(shared.count, Relaxed);
                    batch.add(shared.frames);
                    watch.skip_to(shared.last);
                }
                None => ended = self.gather(signal, after, &mut gathered).await,
            }
            let is_full =
                batch.is_full() || gathered.as_ref().is_some_and(|gathered| gathered.frames.is_full());
            next = if ended.is_ok() && !is_full { at_hand(watch).await } else { None };
        }
        // The last transaction may be incomplete, which is not for others.
        self.offer(stream.filter(|_| ended.is_ok()), &mut gathered, &mut batch);
        self.send_batch(batch).await;
        ended
    }

    /// Returns the batch that begins with a signal, if another watcher has gathered it.
    fn shared_batch(
        &self,
        stream: &Arc<Stream>,
        signal: &Result<Signal, Error>,
        after: Option<Revision>,
    ) -> Option<SharedBatch> {
        let Ok(Signal::Changes(changes)) = signal else { return None };
        let first = changes.revision();
        if after.is_some_and(|after| first <= after) {
            return None;
        }
        self.reader.broadcasts.find(stream, first)
    }

    /// Moves gathered frames to a batch, and offers them to the other watchers of a stream.
    fn offer(&self, stream: Option<&Arc<Stream>>, gathered: &mut Option<Gathered>, batch: &mut Batch) {
        let Some(Gathered { first, last, count, frames }) = gathered.take() else { return };
        let Some(frames) = frames.take() else { return };
        if let Some(stream) = stream {
            let handler = &self.target.handler;
            self.reader.broadcasts.offer(stream, (first, last), (count, frames.clone()), handler);
        }
        batch.add(frames);
    }

    /// Adds the frames of a signal to those that were gathered.
    async fn gather(
        &mut self,
        signal: Result<Signal, Error>,
        after: Option<Revision>,
        gathered: &mut Option<Gathered>,
    ) -> Result<(), ApiError> {
        let Signal::Changes(changes) = signal? else { return Ok(()) };
        let revision = changes.revision();
        // A watch that starts after a future revision skips everything before it.
        if after.is_some_and(|after| revision <= after) {
            return Ok(());
        }
        for change in &changes {
            if self.selection.decide(&change.key, None) != Some(false) {
                let event = self.reader.event_cache.event(&self.target.handler, revision, change);
                if let Some(frame) = self.change(&event).await? {
                    self.reader.metrics.events.fetch_add(1, Relaxed);
                    let new =
                        || Gathered { first: revision, last: revision, count: 0, frames: Batch::default() };
                    let gathered = gathered.get_or_insert_with(new);
                    gathered.frames.add(frame);
                    gathered.count += 1;
                    gathered.last = revision;
                }
            }
        }
        Ok(())
    }

    /// Sends all objects as additions, from outside of the workers if there are many; returns the revision they were read at.
    async fn begin(&mut self) -> Result<Revision, ApiError> {
        let reader = self.reader.clone();
        let work = reader.collection_work(&self.target.handler).await;
        reader.limits.offload.run_for(work, self.everything()).await
    }

    /// Sends all objects as additions; returns the revision they were read at.
    async fn everything(&mut self) -> Result<Revision, ApiError> {
        let reader = self.reader.clone();
        let handler = self.target.handler.clone();
        let at = if self.may_be_behind { Some(reader.objects.store.known()) } else { None };
        let form = EncodedForm::added(&handler, self.format).filter(|_| !handler.has_conversion_webhook());
        let Some(form) = form else { return self.everything_decoded(at).await };
        if !self.selection.is_everything() {
            return self.everything_selected(at, &form).await;
        }
        let EncodedList { revision, count, items, memory: _memory, .. } = reader
            .whole(&handler, Range::whole(place(&self.target, &self.selection), at), &form, too_old)
            .await?;
        reader.metrics.events.fetch_add(count as u64, Relaxed);
        match items {
            EncodedItems::Pieces(pieces) => {
                for piece in pieces {
                    self.put(piece).await;
                }
            }
            EncodedItems::Entries(entries, _) => {
                let mut batch = Batch::default();
                for entry in entries.iter() {
                    batch.add(form.encode_entry(&reader.objects, &handler, entry)?.bytes);
                    self.send_if_full(&mut batch).await;
                }
                self.send_batch(batch).await;
            }
        }
        Ok(revision)
    }

    /// Sends the selected objects, from an index if there is one.
    async fn everything_selected(
        &mut self,
        at: Option<Revision>,
        form: &EncodedForm,
    ) -> Result<Revision, ApiError> {
        let reader = self.reader.clone();
        let target = self.target.clone();
        let mut scan = reader.scan_at(&target, &self.selection, at);
        let mut batch = Batch::default();
        while let Some(entry) = scan.next().await? {
            let (selection, handler) = (&self.selection, &target.handler);
            let is_selected = scan.is_exact().then_some(true).or_else(|| selection.decide(&entry.key, None));
            if is_selected == Some(false) {
                continue;
            }
            let is_selected =
                is_selected == Some(true) || selection.matches(&reader.objects.read_object(handler, &entry)?);
            if is_selected {
                batch.add(form.encode_entry(&reader.objects, handler, &entry)?.bytes);
                reader.metrics.events.fetch_add(1, Relaxed);
                self.send_if_full(&mut batch).await;
            }
        }
        self.send_batch(batch).await;
        match scan.at() {
            Some(revision) => Ok(revision),
            None => Err(ApiError::internal("a scan without a revision")),
        }
    }

    /// Sends the objects of a watch whose events depend on more than the object: a table, or a conversion webhook.
    async fn everything_decoded(&mut self, at: Option<Revision>) -> Result<Revision, ApiError> {
        let reader = self.reader.clone();
        let handler = self.target.handler.clone();
        let request = ListRequest { at, ..ListRequest::prefix(place(&self.target, &self.selection)) };
        let listing = reader.objects.store.list(request).await?;
        if handler.has_conversion_webhook() {
            // A webhook converts many objects in one call.
            let decoded = listing.entries.iter().map(|entry| reader.objects.decode(entry));
            let decoded = decoded.collect::<Result<_, _>>()?;
            for stored in reader.objects.convert_from_storage(&handler, decoded).await? {
                self.addition(&stored).await;
            }
            return Ok(listing.revision);
        }
        for entry in listing.entries {
            if self.selection.decide(&entry.key, None) != Some(false) {
                let stored = reader.objects.read_stored(&handler, &entry)?;
                self.addition(&stored).await;
            }
        }
        Ok(listing.revision)
    }

    async fn send_if_full(&mut self, batch: &mut Batch) {
        if batch.is_full() {
            self.send_batch(std::mem::take(batch)).await;
        }
    }

    async fn send_batch(&mut self, batch: Batch) {
        if let Some(frames) = batch.take() {
            self.put(frames).await;
        }
    }

    /// Sends an object as an addition, if it is selected.
    async fn addition(&mut self, stored: &Stored) {
        if self.selection.matches(&stored.object) {
            let frame = match self.format.view {
                View::Table => self.row(Event::Added, stored, stored.revision),
                _ => object_frame(stored, stored.revision, self.format, Event::Added),
            };
            self.send(frame).await;
        }
    }

    async fn open(&mut self, after: Option<Revision>) -> Result<Watch, ApiError> {
        let mut request = WatchRequest::prefix(place(&self.target, &self.selection));
        request.after = after;
        match self.open_at(&request).await {
            // A future revision: start now and wait for it.
            Err(Error::Future { .. }) => {
                request.after = None;
                Ok(self.open_at(&request).await?)
            }
            opened => Ok(opened?),
        }
    }

    async fn open_at(&self, request: &WatchRequest) -> Result<Watch, Error> {
        let Watcher { reader, target, selection, .. } = self;
        let (terms, _) = selection.index_terms();
        // A label or field with one value wakes the watcher for fewest changes.
        let term = terms.iter().min_by_key(|term| term.values.as_ref().map_or(usize::MAX, Vec::len));
        match term.filter(|_| selection.only_name().is_none() && !target.handler.has_conversion_webhook()) {
            Some(term) => reader.dispatch.watch(&reader.objects, &target.handler, term, request).await,
            None => reader.objects.store.watch(request.clone()).await,
        }
    }

    /// Returns the frame of a change, if it concerns this watcher.
    async fn change(&mut self, shared: &SharedEvent) -> Result<Option<Bytes>, ApiError> {
        let (was, is) = if self.selection.decide(&shared.change.key, None) == Some(true) {
            (shared.change.previous.is_some(), shared.change.current.is_some())
        } else {
            let meant =
                |stored: Option<&Stored>| stored.is_some_and(|stored| self.selection.matches(&stored.object));
            (meant(shared.previous(&self.reader).await?), meant(shared.current(&self.reader).await?))
        };
        let event = match (was, is) {
            (false, false) => return Ok(None),
            (false, true) => Event::Added,
            (true, true) => Event::Modified,
            (true, false) => Event::Deleted,
        };
        if self.format.view == View::Table {
            let reader = self.reader.clone();
            let stored = if is { shared.current(&reader).await? } else { shared.previous(&reader).await? };
            return Ok(stored.map(|stored| self.row(event, stored, shared.revision)));
        }
        shared.frame(&self.reader, self.format, event).await.map(Some)
    }

    /// Returns the frame of an object as a table of one row.
    fn row(&mut self, event: Event, stored: &Stored, revision: Revision) -> Bytes {
        let object = shown_as(&stored.object, &stored.managers, self.format.managed_fields, revision);
        let table = self.table(&object, revision);
        frame(event, &table, self.format.encoding)
    }

    /// Returns a table of one row; only the first has column definitions.
    fn table(&mut self, object: &Value, revision: Revision) -> Value {
        let now = self.reader.objects.clock.now();
        let columns =
            if self.table_begun { Value::Null } else { self.target.handler.strategy().table_columns() };
        self.table_begun = true;
        let object_of = match self.row_object {
            RowObject::Whole => object.clone(),
            RowObject::None => Value::Null,
            RowObject::Metadata => partial(object, self.format.meta_version),
        };
        let row = Value::object([
            ("cells", Value::array(self.target.handler.strategy().table_cells(object, now))),
            ("object", object_of),
        ]);
        Value::object([
            ("kind", Value::from("Table")),
            ("apiVersion", Value::from(self.format.meta_version.api_version())),
            ("metadata", Value::object([("resourceVersion", Value::from(revision.to_string()))])),
            ("columnDefinitions", columns),
            ("rows", Value::array([row])),
        ])
    }

    /// Sends a bookmark.
    async fn bookmark(&mut self, revision: Revision, initial: bool) {
        let mut metadata = Object::default().with("resourceVersion", revision.to_string());
        if initial {
            let end = Value::object([("k8s.io/initial-events-end", Value::from("true"))]);
            metadata = metadata.with("annotations", end);
        }
        let resource = &self.target.handler.resource;
        let mark = Value::object([
            ("kind", Value::from(resource.kind.clone())),
            ("apiVersion", Value::from(resource.api_version.clone())),
            ("metadata", Value::Object(metadata)),
        ]);
        let mark = match self.format.view {
            View::Whole => mark,
            View::PartialObjectMetadata | View::PartialObjectMetadataList => {
                partial(&mark, self.format.meta_version)
            }
            View::Table => self.table(&mark, revision),
        };
        let mark = frame(Event::Bookmark, &mark, self.format.encoding);
        self.send(mark).await;
    }

    async fn send(&mut self, frame: Bytes) {
        self.reader.metrics.events.fetch_add(1, Relaxed);
        self.put(frame).await;
    }

    async fn put(&mut self, frames: Bytes) {
        let sent = match &mut self.gzip {
            Some(gzip) => gzip.piece(&frames),
            None => frames,
        };
        self.outlet.send(sent).await;
    }
}
