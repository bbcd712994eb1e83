//! WATCH: every change of a collection, in order, exactly once, as a stream of frames. A watcher is a cursor into the
//! store's history, moved on only when its client reads; nothing is queued for a slow one, and one that is slower than
//! the history is kept is told so. What several watchers see is decoded and encoded once.

use crate::{
    Answer, Encoding, Failure, Format, Outlet, Reason, Stream, View,
    object::{Stored, key, prefix, shown},
    read::{
        Selection,
        event_cache::{SharedEvent, entry_frame, frame, live_frame, object_frame},
        scan::parse_version,
        view::partial,
    },
    server::{Request, Server},
    target::Target,
};
use bytes::{Bytes, BytesMut};
use hyper::header::{self, HeaderValue};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tenure_store::{Error, ListRequest, Revision, Signal, Watch, WatchRequest};
use tenure_value::{Object, Value};
use tokio::time::{Instant, sleep_until};

/// How long a watch lasts that does not say.
const LASTING: Duration = Duration::from_secs(45 * 60);
/// How often a client that wants it learns how far it is.
const BOOKMARKS: Duration = Duration::from_secs(60);
/// How long before its end a watch says how far it is.
const FAREWELL: Duration = Duration::from_secs(2);

/// After how many bytes frames are sent, however many more there are.
const BATCH_BYTES: usize = 32 * 1024;

/// What a change is to a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

impl Event {
    pub fn word(self) -> &'static str {
        match self {
            Event::Added => "ADDED",
            Event::Modified => "MODIFIED",
            Event::Deleted => "DELETED",
            Event::Bookmark => "BOOKMARK",
            Event::Error => "ERROR",
        }
    }
}

/// How a watch begins.
#[derive(Clone, Copy)]
enum Start {
    /// With everything that is there, and then what changes.
    Everything,
    /// The same, and a mark between the two.
    EverythingMarked,
    /// With what changes after a revision.
    After(Revision),
    /// With what changes from now on.
    Now,
}

/// What the rows of a table carry of their objects.
#[derive(Clone, Copy)]
enum RowObject {
    Metadata,
    Whole,
    None,
}

impl Server {
    /// Answers with a stream of changes.
    pub(crate) async fn watch(self: &Arc<Self>, target: Target, request: Request) -> Result<Answer, Failure> {
        let format = request.format(target.offer().with_streams())?;
        if format.encoding == Encoding::Yaml {
            let message = "only the following media types are accepted: application/json;stream=watch, application/json";
            return Err(Failure::new(Reason::NotAcceptable, message));
        }
        let selection = Selection::of(&target, &request)?;
        let start = start(&request)?;
        let seconds = request.query.integer("timeoutSeconds")?.filter(|seconds| *seconds > 0);
        let lasting = seconds.map_or(LASTING, |seconds| Duration::from_secs(seconds as u64));
        let media_type = match format.encoding {
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            _ => "application/json",
        };
        let row_object = match request.query.get("includeObject").map_or("", |value| value.as_str()) {
            "Object" => RowObject::Whole,
            "None" => RowObject::None,
            _ => RowObject::Metadata,
        };
        let watcher = Watcher {
            api: self.clone(),
            target,
            selection,
            format,
            row_object,
            outlet: Outlet::default(),
            bookmarks: request.query.flag("allowWatchBookmarks"),
            end: Instant::now().checked_add(lasting).unwrap_or_else(|| Instant::now() + LASTING),
            may_be_behind: request.query.given("resourceVersion").is_some(),
            table_begun: false,
        };
        self.metrics.watches.fetch_add(1, Relaxed);
        let stream = Stream::new(|outlet| watcher.run(start, outlet));
        Ok(Answer::stream(media_type, stream)
            .with_header(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private")))
    }
}

fn start(request: &Request) -> Result<Start, Failure> {
    let query = &request.query;
    let initial = query.optional_flag("sendInitialEvents");
    let matching = query.given("resourceVersionMatch");
    let forbidden = |message: &str| {
        Failure::invalid_option(
            "ListOptions",
            "FieldValueForbidden",
            "resourceVersionMatch",
            format!("Forbidden: {message}"),
        )
    };
    match (initial, matching.map(|word| word.as_str())) {
        (None, Some(_)) => {
            return Err(forbidden(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
        }
        (Some(_), matching) if matching != Some("NotOlderThan") => {
            return Err(forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
        }
        _ => {}
    }
    let version = query.given("resourceVersion").map(|text| parse_version(text)).transpose();
    let version = version.map_err(Failure::bad_request)?.filter(|revision| *revision != Revision::ZERO);
    Ok(match (initial, version) {
        (Some(true), _) => Start::EverythingMarked,
        (Some(false), None) => Start::Now,
        (None, None) => Start::Everything,
        (_, Some(revision)) => Start::After(revision),
    })
}

/// One client that watches.
struct Watcher {
    api: Arc<Server>,
    target: Target,
    selection: Selection,
    format: Format,
    row_object: RowObject,
    outlet: Outlet,
    bookmarks: bool,
    end: Instant,
    /// Whether it may begin with what this server knows: it named a version.
    may_be_behind: bool,
    /// Whether the columns of a table have been sent.
    table_begun: bool,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.api.metrics.watches.fetch_sub(1, Relaxed);
    }
}

/// When a watch says how far it is, and when it ends.
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

/// Frames on their way to a client: one as it is shared, several joined.
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
        self.joined.len() >= BATCH_BYTES
    }

    fn take(self) -> Option<Bytes> {
        self.first.or_else(|| (!self.joined.is_empty()).then(|| self.joined.freeze()))
    }
}

/// Returns the next signal if it is there already.
async fn at_hand(watch: &mut Watch) -> Option<Result<Signal, Error>> {
    tokio::select! {
        biased;
        signal = watch.next() => Some(signal),
        () = std::future::ready(()) => None,
    }
}

impl Watcher {
    async fn run(mut self, start: Start, outlet: Outlet) {
        self.outlet = outlet;
        if let Err(failure) = self.follow(start).await {
            let last = frame(Event::Error, &failure.status(), self.format.encoding);
            self.send(last).await;
        }
    }

    /// Sends what happens until the watch is over; a failure is for the client to know.
    async fn follow(&mut self, start: Start) -> Result<(), Failure> {
        // What happens once is boxed: its room would be kept as long as the watch lasts.
        let after = match start {
            Start::After(revision) => Some(revision),
            Start::Now => None,
            Start::Everything => Some(Box::pin(self.everything()).await?),
            Start::EverythingMarked => {
                let revision = Box::pin(self.everything()).await?;
                if self.bookmarks {
                    self.bookmark(revision, true).await;
                }
                Some(revision)
            }
        };
        let mut watch = Box::pin(self.open(after)).await?;
        let mut stop = self.api.stopping();
        let mut told = after.unwrap_or_default();
        let now = Instant::now();
        let mut schedule = Schedule {
            bookmark: self.bookmarks.then_some(now + BOOKMARKS),
            farewell: self.bookmarks.then(|| self.end.checked_sub(FAREWELL).unwrap_or(now).max(now)),
            end: self.end,
        };
        let alarm = sleep_until(schedule.next());
        let stopped = async move {
            // The sender lives as long as the server.
            let _ = stop.wait_for(|stop| *stop).await;
        };
        tokio::pin!(alarm, stopped);
        loop {
            // In this order, so that a watch that always has news ends all the same.
            tokio::select! {
                biased;
                () = &mut alarm => {
                    let now = Instant::now();
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
                        self.bookmark(progress, false).await;
                    }
                    alarm.as_mut().reset(schedule.next());
                }
                () = &mut stopped => return Ok(()),
                signal = watch.next() => {
                    // Whoever is behind gets all that is at hand in one go.
                    let (mut batch, mut next) = (Batch::default(), Some(signal));
                    let mut ended = Ok(());
                    while let Some(signal) = next {
                        ended = self.gather(signal, after, &mut batch).await;
                        if ended.is_err() || batch.is_full() {
                            break;
                        }
                        next = at_hand(&mut watch).await;
                    }
                    if let Some(frames) = batch.take() {
                        self.outlet.send(frames).await;
                    }
                    ended?;
                }
            }
        }
    }

    /// Adds to a batch what a signal of the store is to this watcher.
    async fn gather(
        &mut self,
        signal: Result<Signal, Error>,
        after: Option<Revision>,
        batch: &mut Batch,
    ) -> Result<(), Failure> {
        let Signal::Changes(changes) = signal? else { return Ok(()) };
        let revision = changes.revision();
        // A watch that was asked to start later than now begins there.
        if after.is_some_and(|after| revision <= after) {
            return Ok(());
        }
        for change in &changes {
            if self.selection.decide(&change.key, None) != Some(false) {
                let sight = self.api.event_cache.sight(&self.target.served, revision, change);
                if let Some(frame) = self.change(&sight).await? {
                    self.api.metrics.events.fetch_add(1, Relaxed);
                    batch.add(frame);
                }
            }
        }
        Ok(())
    }

    /// Sends everything that is there as additions, and returns the revision it was read at.
    async fn everything(&mut self) -> Result<Revision, Failure> {
        let api = self.api.clone();
        let mut list = ListRequest::prefix(self.place());
        list.at = if self.may_be_behind { Some(api.store.known()) } else { None };
        let listing = api.store.list(list).await?;
        if self.target.served.asks() {
            // A webhook is asked for many at once.
            let stored = listing.entries.iter().map(|entry| api.decoded(entry)).collect::<Result<_, _>>()?;
            for stored in api.for_reading(&self.target.served, stored).await? {
                self.addition(&stored).await;
            }
            return Ok(listing.revision);
        }
        for entry in listing.entries {
            match self.selection.decide(&entry.key, None) {
                Some(false) => {}
                Some(true) if self.format.view != View::Table => {
                    let frame = entry_frame(&api, &self.target.served, &entry, self.format, Event::Added);
                    let frame = frame.await?;
                    self.send(frame).await;
                }
                _ => {
                    let served = &self.target.served;
                    let stored = api.for_reading_one(served, api.decoded(&entry)?).await?;
                    if self.format.view == View::Table {
                        self.addition(&stored).await;
                    } else if self.selection.matches(&stored.object) {
                        let frame = live_frame(&api, served, &entry.key, &stored, self.format, Event::Added)?;
                        self.send(frame).await;
                    }
                }
            }
        }
        Ok(listing.revision)
    }

    /// Sends an object that is there, if it is meant.
    async fn addition(&mut self, stored: &Stored) {
        if self.selection.matches(&stored.object) {
            let frame = match self.format.view {
                View::Table => self.row(Event::Added, stored, stored.revision),
                _ => object_frame(stored, stored.revision, self.format, Event::Added),
            };
            self.send(frame).await;
        }
    }

    /// Returns where in the store the objects are that can be meant.
    fn place(&self) -> String {
        let resource = &self.target.served.resource;
        let namespaced = resource.scope == crate::kinds::Scope::Namespaced;
        match self.selection.only_name() {
            Some(name) if !namespaced || !self.target.namespace.is_empty() => {
                key(resource, &self.target.namespace, name)
            }
            _ => prefix(resource, &self.target.namespace),
        }
    }

    async fn open(&mut self, after: Option<Revision>) -> Result<Watch, Failure> {
        let mut request = WatchRequest::prefix(self.place());
        request.after = after;
        match self.api.store.watch(request.clone()).await {
            // A version that has not been reached: start now and wait for it.
            Err(Error::Future { .. }) => {
                request.after = None;
                Ok(self.api.store.watch(request).await?)
            }
            opened => Ok(opened?),
        }
    }

    /// Returns the frame that tells what a change is to this watcher, if it is anything.
    async fn change(&mut self, sight: &SharedEvent) -> Result<Option<Bytes>, Failure> {
        let (was, is) = if self.selection.decide(&sight.change.key, None) == Some(true) {
            (sight.change.previous.is_some(), sight.change.current.is_some())
        } else {
            let meant = |stored: Option<&Stored>| stored.is_some_and(|of| self.selection.matches(&of.object));
            (meant(sight.previous(&self.api).await?), meant(sight.current(&self.api).await?))
        };
        let event = match (was, is) {
            (false, false) => return Ok(None),
            (false, true) => Event::Added,
            (true, true) => Event::Modified,
            (true, false) => Event::Deleted,
        };
        if self.format.view == View::Table {
            let api = self.api.clone();
            let stored = if is { sight.current(&api).await? } else { sight.previous(&api).await? };
            return Ok(stored.map(|stored| self.row(event, stored, sight.revision)));
        }
        sight.frame(&self.api, self.format, event).await.map(Some)
    }

    /// Writes an object as a table of one row.
    fn row(&mut self, event: Event, stored: &Stored, revision: Revision) -> Bytes {
        let managers = (!self.format.without_managers).then_some(&stored.managers);
        let object = shown(&stored.object, managers, Some(revision));
        let table = self.table(&object, revision);
        frame(event, &table, self.format.encoding)
    }

    /// Makes a table of one row; the columns are told once.
    fn table(&mut self, object: &Value, revision: Revision) -> Value {
        let now = self.api.now();
        let columns = if self.table_begun { Value::Null } else { self.target.served.columns() };
        self.table_begun = true;
        let object_of = match self.row_object {
            RowObject::Whole => object.clone(),
            RowObject::None => Value::Null,
            RowObject::Metadata => partial(object),
        };
        let row = Value::object([
            ("cells", Value::array(self.target.served.cells(object, now))),
            ("object", object_of),
        ]);
        Value::object([
            ("kind", Value::from("Table")),
            ("apiVersion", Value::from("meta.k8s.io/v1")),
            ("metadata", Value::object([("resourceVersion", Value::from(revision.to_string()))])),
            ("columnDefinitions", columns),
            ("rows", Value::array([row])),
        ])
    }

    /// Says how far the watch is.
    async fn bookmark(&mut self, revision: Revision, initial: bool) {
        let mut metadata = Object::default().with("resourceVersion", revision.to_string());
        if initial {
            let end = Value::object([("k8s.io/initial-events-end", Value::from("true"))]);
            metadata = metadata.with("annotations", end);
        }
        let resource = &self.target.served.resource;
        let mark = Value::object([
            ("kind", Value::from(resource.kind.clone())),
            ("apiVersion", Value::from(resource.api_version.clone())),
            ("metadata", Value::Object(metadata)),
        ]);
        let mark = match self.format.view {
            View::Whole => mark,
            View::PartialObjectMetadata | View::PartialObjectMetadataList => partial(&mark),
            View::Table => self.table(&mark, revision),
        };
        let mark = frame(Event::Bookmark, &mark, self.format.encoding);
        self.send(mark).await;
    }

    async fn send(&mut self, frame: Bytes) {
        self.api.metrics.events.fetch_add(1, Relaxed);
        self.outlet.send(frame).await;
    }
}
