//! The body of a response: whole, cut in the middle, or a watch whose events faults change.

use crate::{
    fault::{Effect, Faults},
    request_info::RequestInfo,
};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    collections::VecDeque,
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll, Waker, ready},
};
use tenure_http::{Reservation, ResponseBody};
use tenure_value::{Limits, Value, json};
use tokio::sync::watch;

/// The body of a response of a [`TestServer`](crate::TestServer).
pub struct TestBody {
    body: ResponseBody,
    /// The bytes that are delivered before the connection breaks, if it does.
    until_cut: Option<usize>,
    /// Whether the connection had an opportunity to send what came before the cut.
    is_flushed: bool,
    watch: Option<Box<WatchedBody>>,
    /// The memory of the body in the budget of the server.
    _memory: Option<Reservation>,
}

/// A watch, which faults can change while it is open.
pub(crate) struct WatchedBody {
    info: RequestInfo,
    faults: Faults,
    changed: Pin<Box<dyn Future<Output = watch::Receiver<()>> + Send>>,
    events: Events,
    /// The error event that ends the watch when its version is called too old.
    too_old: Bytes,
    /// Whether the events are lines of JSON.
    is_json: bool,
    ready: VecDeque<Result<Bytes, io::Error>>,
    is_over: bool,
}

/// The effect of faults on the events of a watch.
#[derive(Default)]
struct Events {
    until_cut: Option<usize>,
    /// The fault that turns them into bookmarks, and whether it lasts as long as the watch.
    bookmarks: Option<(u64, bool)>,
}

impl TestBody {
    /// Returns a body that arrives as it is.
    pub(crate) fn whole(body: ResponseBody, memory: Option<Reservation>) -> TestBody {
        TestBody { body, until_cut: None, is_flushed: false, watch: None, _memory: memory }
    }

    /// Breaks the connection after half of the body.
    pub(crate) fn cut(mut self) -> TestBody {
        self.until_cut = Some(self.body.bytes() / 2);
        self
    }

    /// Lets faults change the events of a watch.
    pub(crate) fn watched(
        mut self,
        info: RequestInfo,
        faults: Faults,
        too_old: Bytes,
        is_json: bool,
    ) -> TestBody {
        let changed = until_changed(faults.changes());
        let (events, ready, is_over) = (Events::default(), VecDeque::new(), false);
        let mut watch = WatchedBody { info, faults, changed, events, too_old, is_json, ready, is_over };
        watch.look();
        // The watch begins with the request, and not when the client first reads.
        let mut context = Context::from_waker(Waker::noop());
        if !watch.is_over
            && let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut self.body).poll_frame(&mut context)
            && let Ok(chunk) = frame.into_data()
        {
            watch.accept(chunk);
        }
        self.watch = Some(Box::new(watch));
        self
    }
}

fn until_changed(
    mut changes: watch::Receiver<()>,
) -> Pin<Box<dyn Future<Output = watch::Receiver<()>> + Send>> {
    Box::pin(async move {
        // The sender lives as long as the faults, which the body holds.
        let _ = changes.changed().await;
        changes
    })
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by a fault of the test server")
}

impl WatchedBody {
    /// Counts the faults that select this watch.
    fn look(&mut self) {
        let Self { info, faults, events, .. } = self;
        if faults.take(info, |effect| *effect == Effect::TooOld).is_some() {
            let last = if self.is_json { Ok(self.too_old.clone()) } else { Err(broken()) };
            self.end(last);
            return;
        }
        if let Some(taken) = faults.take(info, |effect| matches!(effect, Effect::CutWatch { .. }))
            && let Effect::CutWatch { after_events } = taken.effect
        {
            events.until_cut = Some(after_events);
        }
        if events.bookmarks.is_none()
            && let Some(taken) = faults.take(info, |effect| *effect == Effect::BookmarksOnly)
        {
            events.bookmarks = Some((taken.id, taken.is_last));
        }
        if events.until_cut == Some(0) {
            self.end(Err(broken()));
        }
    }

    fn end(&mut self, last: Result<Bytes, io::Error>) {
        self.ready.push_back(last);
        self.is_over = true;
    }

    /// Whether events become bookmarks now.
    fn only_bookmarks(&mut self) -> bool {
        match self.events.bookmarks {
            Some((_, true)) => true,
            Some((id, false)) if self.faults.is_active(id) => true,
            _ => {
                self.events.bookmarks = None;
                false
            }
        }
    }

    /// Passes on the frames of a chunk as the faults leave them.
    fn accept(&mut self, chunk: Bytes) {
        let only_bookmarks = self.only_bookmarks();
        if !only_bookmarks && self.events.until_cut.is_none() {
            self.ready.push_back(Ok(chunk));
            return;
        }
        for frame in frames(&chunk, self.is_json) {
            let frame = if only_bookmarks { self.bookmark(&frame) } else { Some(frame) };
            let Some(frame) = frame else { continue };
            self.ready.push_back(Ok(frame));
            if let Some(left) = &mut self.events.until_cut {
                *left -= 1;
                if *left == 0 {
                    return self.end(Err(broken()));
                }
            }
        }
    }

    /// Returns the bookmark that replaces an event; `None` if the client did not ask for bookmarks.
    fn bookmark(&self, frame: &Bytes) -> Option<Bytes> {
        let event =
            json::parse(frame, &Limits::default()).ok().filter(|_| self.is_json && self.info.bookmarks)?;
        let text = |path: &[&str]| event.at(path.iter().copied()).cloned().unwrap_or_default();
        if event.get("type").and_then(Value::as_str) == Some("BOOKMARK") {
            return Some(frame.clone());
        }
        let metadata = Value::object([
            ("resourceVersion", text(&["object", "metadata", "resourceVersion"])),
            ("creationTimestamp", Value::Null),
        ]);
        let object = Value::object([
            ("apiVersion", text(&["object", "apiVersion"])),
            ("kind", text(&["object", "kind"])),
            ("metadata", metadata),
        ]);
        let bookmark = Value::object([("type", Value::from("BOOKMARK")), ("object", object)]);
        Some(format!("{bookmark}\n").into())
    }

    fn poll(
        &mut self,
        body: &mut ResponseBody,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                return Poll::Ready(Some(next.map(Frame::data)));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            if let Poll::Ready(changes) = self.changed.as_mut().poll(context) {
                self.changed = until_changed(changes);
                self.look();
                continue;
            }
            match ready!(Pin::new(&mut *body).poll_frame(context)) {
                Some(Ok(frame)) => {
                    if let Ok(chunk) = frame.into_data() {
                        self.accept(chunk);
                    }
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

/// Splits a chunk into the frames of its events.
fn frames(chunk: &Bytes, is_json: bool) -> Vec<Bytes> {
    let (mut rest, mut frames) = (chunk.clone(), Vec::new());
    while !rest.is_empty() {
        let length = match is_json {
            true => rest.iter().position(|byte| *byte == b'\n').map(|at| at + 1),
            // Each frame of a protobuf watch has its length before it.
            false => rest.first_chunk().map(|length| 4 + u32::from_be_bytes(*length) as usize),
        };
        let length = length.unwrap_or(rest.len()).min(rest.len());
        frames.push(rest.split_to(length));
    }
    frames
}

impl Body for TestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = &mut *self;
        if let Some(watch) = &mut this.watch {
            return watch.poll(&mut this.body, context);
        }
        if this.until_cut == Some(0) {
            if std::mem::replace(&mut this.is_flushed, true) {
                return Poll::Ready(Some(Err(broken())));
            }
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let frame = ready!(Pin::new(&mut this.body).poll_frame(context));
        Poll::Ready(frame.map(|frame| {
            let frame = frame?;
            let Some(left) = &mut this.until_cut else { return Ok(frame) };
            let mut bytes = frame.into_data().unwrap_or_default();
            bytes.truncate(*left);
            *left -= bytes.len();
            Ok(Frame::data(bytes))
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.watch.is_none() && self.until_cut.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.watch {
            Some(_) => SizeHint::default(),
            // A body that breaks off announces its whole length.
            None => self.body.size_hint(),
        }
    }
}
