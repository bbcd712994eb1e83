//! WATCH: every change of a collection, in order, exactly once, as a stream of frames. A watcher is a cursor into the
//! store's history; nothing is queued for a slow one, and what several watchers see is decoded and encoded once.

use super::{
    Api, Request,
    feed::{Shared, Side},
    object::{Stored, prefix, shown},
    read::{Selection, parse_version},
    target::Target,
    view::partial,
};
use crate::{Answer, Encoding, Failure, Format, Reason, View, protobuf};
use bytes::Bytes;
use hyper::header::{self, HeaderValue};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tenure_store::{Error, Revision, Signal, Watch, WatchRequest};
use tenure_value::{Object, Value, json};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

/// How many frames may wait for a client to read them.
const FRAMES: usize = 64;
/// How long a watch lasts that does not say.
const LASTING: Duration = Duration::from_secs(45 * 60);
/// How often a client that wants it learns how far it is.
const BOOKMARKS: Duration = Duration::from_secs(60);
/// How long before its end a watch says how far it is.
const FAREWELL: Duration = Duration::from_secs(2);

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
    fn word(self) -> &'static str {
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

impl Api {
    /// Answers with a stream of changes.
    pub(crate) async fn watch(self: &Arc<Self>, target: Target, request: Request) -> Result<Answer, Failure> {
        let format = request.format(target.offer())?;
        if format.encoding == Encoding::Yaml {
            let message = "only the following media types are accepted: application/json;stream=watch, application/json";
            return Err(Failure::new(Reason::NotAcceptable, message));
        }
        let selection = Selection::of(&target, &request)?;
        let start = start(&request)?;
        let seconds = request.query.integer("timeoutSeconds")?.filter(|seconds| *seconds > 0);
        let lasting = seconds.map_or(LASTING, |seconds| Duration::from_secs(seconds as u64));
        let bookmarks = request.query.flag("allowWatchBookmarks");
        let media_type = match format.encoding {
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            _ => "application/json",
        };
        let (frames, answer) = mpsc::channel(FRAMES);
        let end = Instant::now() + lasting;
        let watcher = Watcher {
            api: self.clone(),
            target,
            request,
            selection,
            format,
            frames,
            bookmarks,
            end,
            table_begun: false,
        };
        tokio::spawn(watcher.run(start));
        Ok(Answer::stream(media_type, answer)
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
    api: Arc<Api>,
    target: Target,
    request: Request,
    selection: Selection,
    format: Format,
    frames: mpsc::Sender<Bytes>,
    bookmarks: bool,
    end: Instant,
    /// Whether the columns of a table have been sent.
    table_begun: bool,
}

/// The client is gone, or has been told that the watch is over.
struct Over;

impl Watcher {
    async fn run(mut self, start: Start) {
        let metrics = self.api.clone();
        metrics.metrics.watches.fetch_add(1, Relaxed);
        // Whatever ends a watch has been told to the client, if there still is one.
        let _ = self.follow(start).await;
        metrics.metrics.watches.fetch_sub(1, Relaxed);
    }

    async fn follow(&mut self, start: Start) -> Result<(), Over> {
        let (after, marked) = match start {
            Start::After(revision) => (Some(revision), false),
            Start::Now => (None, false),
            Start::Everything | Start::EverythingMarked => {
                let revision = self.everything().await?;
                (Some(revision), matches!(start, Start::EverythingMarked))
            }
        };
        if marked && self.bookmarks {
            self.bookmark(after.unwrap_or_default(), true).await?;
        }
        let prefix = prefix(&self.target.served.resource, &self.target.namespace);
        let mut stop = self.api.stopping();
        let mut watch = self.open(prefix, after).await?;
        let mut told = after.unwrap_or_default();
        let mut next_bookmark = Instant::now() + BOOKMARKS;
        let farewell = self.end.checked_sub(FAREWELL).unwrap_or(self.end).max(Instant::now());
        let mut parted = false;
        loop {
            tokio::select! {
                signal = watch.next() => match signal {
                    Ok(Signal::Changes(changes)) => {
                        let revision = changes.revision();
                        // A watch that was asked to start later than now begins there.
                        if after.is_some_and(|after| revision <= after) {
                            continue;
                        }
                        for change in &changes {
                            let shared = self.api.feed.change(revision, change);
                            self.change(revision, &shared).await?;
                        }
                    }
                    Ok(Signal::Progress(_)) => {}
                    Err(error) => return self.fail(&error.into()).await,
                },
                () = sleep_until(next_bookmark), if self.bookmarks => {
                    next_bookmark += BOOKMARKS;
                    told = watch.progress();
                    self.bookmark(told, false).await?;
                }
                () = sleep_until(farewell), if self.bookmarks && !parted => {
                    parted = true;
                    let progress = watch.progress();
                    if progress > told {
                        self.bookmark(progress, false).await?;
                    }
                }
                () = sleep_until(self.end) => return Ok(()),
                () = self.frames.closed() => return Err(Over),
                _ = stop.changed() => return Ok(()),
            }
        }
    }

    /// Sends everything that is there as additions, and returns the revision it was read at.
    async fn everything(&mut self) -> Result<Revision, Over> {
        let listed = self.api.select_all(&self.target, &self.selection).await;
        let (items, revision) = match listed {
            Ok(listed) => listed,
            Err(failure) => {
                self.fail(&failure).await?;
                return Err(Over);
            }
        };
        for stored in &items {
            let frame = self.frame(Event::Added, stored);
            self.send(frame).await?;
        }
        Ok(revision)
    }

    async fn open(&mut self, prefix: String, after: Option<Revision>) -> Result<Watch, Over> {
        let mut request = WatchRequest::prefix(prefix);
        request.after = after;
        let opened = match self.api.store.watch(request.clone()).await {
            // A version that has not been reached: start now and wait for it.
            Err(Error::Future { .. }) => {
                request.after = None;
                self.api.store.watch(request).await
            }
            opened => opened,
        };
        match opened {
            Ok(watch) => Ok(watch),
            Err(error) => {
                self.fail(&error.into()).await?;
                Err(Over)
            }
        }
    }

    /// Tells what a change is to this watcher, if it is anything.
    async fn change(&mut self, revision: Revision, shared: &Shared) -> Result<(), Over> {
        let (was, is) = match self.sides(shared).await {
            Ok(sides) => sides,
            Err(failure) => {
                self.fail(&failure).await?;
                return Err(Over);
            }
        };
        let (event, stored) = match (was, is) {
            (None, None) => return Ok(()),
            (None, Some(is)) => (Event::Added, is),
            (Some(_), Some(is)) => (Event::Modified, is),
            // What it last was, with the version of the change that took it away.
            (Some(was), None) => (Event::Deleted, Stored { revision, ..was }),
        };
        let shareable = self.format.view != View::Table;
        let key = (self.target.served.resource.api_version.clone(), self.format, event);
        let frame = if shareable {
            shared.frame(key, || self.frame(event, &stored))
        } else {
            self.frame(event, &stored)
        };
        self.send(frame).await
    }

    /// Returns the object before and after a change, each if this watcher sees it.
    async fn sides(&self, shared: &Shared) -> Result<(Option<Stored>, Option<Stored>), Failure> {
        let (api, served) = (&self.api, &self.target.served);
        let seen = |stored: &Stored| self.selection.matches(&stored.object);
        let is = shared.at(Side::Current, api, served).await?.filter(seen);
        // Of a change that stays in sight nobody looks at the past, so it need not be converted.
        if is.is_some() && self.selection.is_everything() {
            return Ok((shared.previous().cloned(), is));
        }
        Ok((shared.at(Side::Previous, api, served).await?.filter(seen), is))
    }

    fn frame(&mut self, event: Event, stored: &Stored) -> Bytes {
        let managers = (!self.format.without_managers).then_some(&stored.managers);
        let object = shown(&stored.object, managers, Some(stored.revision));
        self.event(event, object, stored.revision)
    }

    fn event(&mut self, event: Event, object: Value, revision: Revision) -> Bytes {
        let object = match self.format.view {
            View::Whole => object,
            View::PartialObjectMetadata | View::PartialObjectMetadataList => partial(&object),
            View::Table => self.table(&object, revision),
        };
        frame(event, &object, self.format.encoding)
    }

    /// Writes an object as a table of one row; the columns are told once.
    fn table(&mut self, object: &Value, revision: Revision) -> Value {
        let now = self.api.now();
        let columns = if self.table_begun { Value::Null } else { self.target.served.columns() };
        self.table_begun = true;
        let object_of = match self.request.query.get("includeObject").map_or("", |value| value.as_str()) {
            "Object" => object.clone(),
            "None" => Value::Null,
            _ => partial(object),
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
    async fn bookmark(&mut self, revision: Revision, initial: bool) -> Result<(), Over> {
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
        let frame = self.event(Event::Bookmark, mark, revision);
        self.send(frame).await
    }

    /// Tells the client why the watch ends.
    async fn fail(&mut self, failure: &Failure) -> Result<(), Over> {
        self.send(frame(Event::Error, &failure.status(), self.format.encoding)).await
    }

    async fn send(&mut self, frame: Bytes) -> Result<(), Over> {
        self.api.metrics.events.fetch_add(1, Relaxed);
        let waiting = tokio::time::timeout_at(self.end + FAREWELL, self.frames.send(frame));
        match waiting.await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Over),
        }
    }
}

fn frame(event: Event, object: &Value, encoding: Encoding) -> Bytes {
    if encoding == Encoding::Protobuf {
        return protobuf::event(event.word(), object).unwrap_or_else(|error| {
            let failure = Failure::new(Reason::InternalError, error.to_string());
            protobuf::event(Event::Error.word(), &failure.status()).unwrap_or_default()
        });
    }
    let mut bytes = Vec::with_capacity(1024);
    bytes.extend_from_slice(b"{\"type\":\"");
    bytes.extend_from_slice(event.word().as_bytes());
    bytes.extend_from_slice(b"\",\"object\":");
    json::write(object, &mut bytes);
    bytes.extend_from_slice(b"}\n");
    bytes.into()
}
