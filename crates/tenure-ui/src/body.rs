//! Responses of the page: whole ones, and streams of JSON lines that last while the page is open.

use crate::PageError;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame};
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};
use tenure_value::{Object, Value, json};
use tokio::sync::mpsc;

/// How many lines wait for a page that reads slowly.
const LINES: usize = 64;

/// The body of a response.
pub enum PageBody {
    /// All of it.
    Whole(Option<Bytes>),
    /// Lines that are sent as they come.
    Lines(PageLines),
}

/// Lines and the work that makes them, which goes on only while the next line is awaited: a page that does not read costs nothing.
pub struct PageLines {
    /// `None` when all lines were made.
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    lines: mpsc::Receiver<Bytes>,
}

impl PageLines {
    /// Polls for the next line; `None` is the end.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Poll::Ready(line) = self.lines.poll_recv(context) {
            return Poll::Ready(line);
        }
        if let Some(work) = &mut self.work
            && work.as_mut().poll(context).is_ready()
        {
            self.work = None;
        }
        self.lines.poll_recv(context)
    }
}

impl Body for PageBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            PageBody::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            PageBody::Lines(lines) => {
                lines.poll_next(context).map(|line| line.map(|line| Ok(Frame::data(line))))
            }
        }
    }
}

/// Sends the lines of a stream.
pub(crate) struct Lines(mpsc::Sender<Bytes>);

/// The page no longer reads the stream.
pub(crate) struct Closed;

impl Lines {
    /// Sends a document as a line.
    pub async fn send(&self, line: &Value) -> Result<(), Closed> {
        let mut bytes = json::to_vec(line);
        bytes.push(b'\n');
        self.0.send(bytes.into()).await.map_err(|_| Closed)
    }

    /// Sends an error as the last line.
    pub async fn fail(&self, error: &PageError) -> Result<(), Closed> {
        let line = describe(error.status(), &error.to_string()).with("type", "error");
        self.send(&Value::Object(line)).await
    }
}

/// Returns a stream of the lines that a future sends.
pub(crate) fn lines<F>(make: impl FnOnce(Lines) -> F) -> Response<PageBody>
where
    F: Future<Output = ()> + Send + 'static,
{
    let (sender, lines) = mpsc::channel(LINES);
    let lines = PageLines { work: Some(Box::pin(make(Lines(sender)))), lines };
    response(StatusCode::OK, "application/x-ndjson", PageBody::Lines(lines))
}

/// Returns a response with a document.
pub(crate) fn document(value: &Value) -> Response<PageBody> {
    response(StatusCode::OK, "application/json", PageBody::Whole(Some(json::to_vec(value).into())))
}

/// Returns a response without a body.
pub(crate) fn empty(code: StatusCode) -> Response<PageBody> {
    response(code, "text/plain", PageBody::Whole(None))
}

/// Returns the response for an error.
pub(crate) fn failure(error: &PageError) -> Response<PageBody> {
    refusal(error.status(), &error.to_string())
}

/// Returns the response of a request that is refused.
pub(crate) fn refusal(code: StatusCode, message: &str) -> Response<PageBody> {
    let mut response = document(&Value::Object(describe(code, message)));
    *response.status_mut() = code;
    response
}

fn describe(code: StatusCode, message: &str) -> Object {
    Object::default().with("error", message).with("code", i64::from(code.as_u16()))
}

/// Returns a response with the headers of all responses. Nothing may be loaded from elsewhere, run inline, framed or cached, unless the
/// caller changes a header.
pub(crate) fn response(code: StatusCode, media_type: &'static str, body: PageBody) -> Response<PageBody> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";
