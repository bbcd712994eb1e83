//! What goes back to a client: a code, headers, and a body that is either at hand or still to come.

use super::{BodyStream, ChunkedBody, Encoding, Format, View};
use crate::{Failure, protobuf};
use bytes::Bytes;
use hyper::{
    HeaderMap, StatusCode,
    body::{Body, Frame, SizeHint},
    header::{self, HeaderName, HeaderValue},
};
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};
use tenure_value::{Value, json, yaml};

/// An answer to a request.
#[derive(Debug)]
pub struct Response {
    /// The HTTP code.
    pub code: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: ResponseBody,
}

/// The body of an [`Response`].
#[derive(Debug)]
pub enum ResponseBody {
    /// Bytes at hand.
    Whole(Bytes),
    /// Chunks that are joined as the client reads.
    Chunked(Box<ChunkedBody>),
    /// Bytes still to come, made as the client reads.
    Stream(BodyStream),
}

impl Response {
    /// Makes an answer of bytes.
    pub fn new(code: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response {
        // Room for as few as there mostly are: those of a watch are kept as long as it lasts.
        let mut headers = HeaderMap::with_capacity(3);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        Response { code, headers, body: ResponseBody::Whole(body.into()) }
    }

    /// Makes an answer of bytes to come.
    pub fn stream(media_type: &'static str, body: BodyStream) -> Response {
        let mut answer = Response::new(StatusCode::OK, media_type, Bytes::new());
        answer.body = ResponseBody::Stream(body);
        answer
    }

    /// Makes an answer of pieces.
    pub fn pieces(media_type: &'static str, body: ChunkedBody) -> Response {
        let mut answer = Response::new(StatusCode::OK, media_type, Bytes::new());
        answer.body = ResponseBody::Chunked(Box::new(body));
        answer
    }

    /// Makes an answer of plain text.
    pub fn text(code: StatusCode, text: impl Into<String>) -> Response {
        Response::new(code, "text/plain; charset=utf-8", text.into())
    }

    /// Makes an answer of a document.
    pub fn document(code: StatusCode, document: &Value, format: Format) -> Response {
        let (encoding, body): (Encoding, Bytes) = match format.encoding {
            Encoding::Yaml => (Encoding::Yaml, yaml::to_string(document).into()),
            // A kind without a protobuf form is given as what it has.
            Encoding::Protobuf => match protobuf::encode(document) {
                Ok(body) => (Encoding::Protobuf, body),
                Err(_) => (Encoding::Json, json::to_vec(document).into()),
            },
            Encoding::Json => (Encoding::Json, json::to_vec(document).into()),
        };
        Response::new(code, encoding.media_type(), body)
    }

    /// Makes an answer of a failure.
    pub fn failure(failure: &Failure, format: Format) -> Response {
        let code = StatusCode::from_u16(failure.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut answer = Response::document(code, &failure.status(), Format { view: View::Whole, ..format });
        if let Some(seconds) = failure.retry_after {
            answer.headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        answer.with_warnings(&failure.warnings)
    }

    /// Adds `Warning` headers; what is told twice is told once.
    pub fn with_warnings(mut self, warnings: &[String]) -> Response {
        for (at, warning) in warnings.iter().enumerate() {
            if warnings[..at].contains(warning) {
                continue;
            }
            let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
            if let Ok(value) = HeaderValue::try_from(format!("299 - \"{quoted}\"")) {
                self.headers.append(header::WARNING, value);
            }
        }
        self
    }

    /// Sets a header.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Response {
        self.headers.insert(name, value);
        self
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            ResponseBody::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            ResponseBody::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            ResponseBody::Chunked(pieces) => {
                Poll::Ready(pieces.take_next().map(|bytes| Ok(Frame::data(bytes))))
            }
            ResponseBody::Stream(stream) => {
                stream.poll_next(context).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, ResponseBody::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ResponseBody::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            ResponseBody::Chunked(pieces) => {
                pieces.left().map_or_else(SizeHint::default, |left| SizeHint::with_exact(left as u64))
            }
            ResponseBody::Stream(_) => SizeHint::default(),
        }
    }
}
