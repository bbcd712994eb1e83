//! Responses: a status code, headers, and a body that is complete, chunked or streamed.

use super::{
    BodyStream, ChunkedBody, Encoding, Format, View,
    memory::{MemoryBudget, Reservation},
    warning,
};
use bytes::Bytes;
use hyper::{
    HeaderMap, Method, StatusCode,
    body::{Body, Frame, SizeHint},
    header::{self, HeaderName, HeaderValue},
};
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tenure_meta::ApiError;
use tenure_value::{Value, json, yaml};

/// How many headers most responses have: the type, two of flow control, and how long they may be kept.
const HEADERS: usize = 4;

/// The response to a request.
#[derive(Debug)]
pub struct Response {
    /// The HTTP status code.
    pub code: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: ResponseBody,
    /// The memory of the body in the budget of the server, if it is large.
    pub memory: Option<Reservation>,
}

/// The body of a [`Response`].
#[derive(Debug)]
pub enum ResponseBody {
    /// The complete body.
    Whole(Bytes),
    /// Chunks that are joined as the client reads.
    Chunked(Box<ChunkedBody>),
    /// A body that is produced as the client reads.
    Stream(BodyStream),
}

impl MemoryBudget {
    /// Reserves the memory of a large response until the client has read it. A read that does not fit is refused; the result of a
    /// write is sent in any case.
    pub fn hold(&self, mut response: Response, method: &Method) -> Response {
        let bytes = response.body.bytes();
        if response.memory.is_some() || bytes <= MemoryBudget::SMALL {
            return response;
        }
        response.memory = self.reserve(bytes);
        match response.memory.is_none() && *method == Method::GET {
            true => Response::busy("the server has too many large responses in flight, try again later"),
            false => response,
        }
    }
}

impl Response {
    /// Creates a response with a complete body.
    pub fn new(code: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response {
        // The headers of most responses, so that they never grow: a watch keeps their memory until it ends.
        let mut headers = HeaderMap::with_capacity(HEADERS);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        Response { code, headers, body: ResponseBody::Whole(body.into()), memory: None }
    }

    /// Creates a response with a streamed body.
    pub fn stream(media_type: &'static str, body: BodyStream) -> Response {
        let mut response = Response::new(StatusCode::OK, media_type, Bytes::new());
        response.body = ResponseBody::Stream(body);
        response
    }

    /// Creates a response with a chunked body.
    pub fn pieces(media_type: &'static str, body: ChunkedBody) -> Response {
        let mut response = Response::new(StatusCode::OK, media_type, Bytes::new());
        response.body = ResponseBody::Chunked(Box::new(body));
        response
    }

    /// Creates a plain text response.
    pub fn text(code: StatusCode, text: impl Into<String>) -> Response {
        Response::new(code, "text/plain; charset=utf-8", text.into())
    }

    /// Creates a response with a document.
    pub fn document(code: StatusCode, document: &Value, format: Format) -> Response {
        let (encoding, body): (Encoding, Bytes) = match format.encoding {
            Encoding::Yaml => (Encoding::Yaml, yaml::to_string(document).into()),
            // A kind without a protobuf encoding is encoded as JSON.
            Encoding::Protobuf => match tenure_codec::protobuf::encode(document) {
                Ok(body) => (Encoding::Protobuf, body),
                Err(_) => (Encoding::Json, json::to_vec(document).into()),
            },
            Encoding::Cbor => (Encoding::Cbor, tenure_codec::cbor::encode(document).into()),
            Encoding::Json => (Encoding::Json, json::to_vec(document).into()),
        };
        Response::new(code, encoding.media_type(), body)
    }

    /// Creates a response with the `Status` of an error.
    pub fn failure(failure: &ApiError, format: Format) -> Response {
        let code = StatusCode::from_u16(failure.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = match failure.is_plain {
            true => Response::text(code, failure.message.as_str()),
            false => Response::document(code, &failure.status(), Format { view: View::Whole, ..format }),
        };
        if let Some(seconds) = failure.retry_after {
            response.headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.with_warnings(&failure.warnings)
    }

    /// Creates the response to a request that exceeds the memory of the server.
    pub fn busy(why: &str) -> Response {
        let mut response = Response::text(StatusCode::TOO_MANY_REQUESTS, format!("{why}\n"));
        response.headers.insert(header::RETRY_AFTER, HeaderValue::from(1));
        response
    }

    /// Adds `Warning` headers, without duplicates and within the limits of Kubernetes.
    pub fn with_warnings(mut self, warnings: &[String]) -> Response {
        if warnings.is_empty() {
            return self;
        }
        for text in warning::limited(warnings) {
            if let Ok(value) = HeaderValue::try_from(warning::header(&text)) {
                self.headers.append(header::WARNING, value);
            }
        }
        self
    }

    /// Returns the response to a HEAD request: the same headers with the length of the body, and no body.
    pub fn without_body(mut self) -> Response {
        if let Some(length) = self.body.size_hint().exact() {
            self.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        self.body = ResponseBody::Whole(Bytes::new());
        self
    }

    /// Sets a header.
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Response {
        self.headers.insert(name, value);
        self
    }
}

impl ResponseBody {
    /// Returns the bytes that the body occupies until it is sent; a stream occupies almost nothing.
    pub fn bytes(&self) -> usize {
        match self {
            ResponseBody::Whole(bytes) => bytes.len(),
            ResponseBody::Chunked(chunks) => chunks.length(),
            ResponseBody::Stream(_) => 0,
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            ResponseBody::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            ResponseBody::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            ResponseBody::Chunked(chunks) => {
                Poll::Ready(chunks.take_next().map(|bytes| Ok(Frame::data(bytes))))
            }
            ResponseBody::Stream(stream) => match stream.poll_next(context) {
                Poll::Ready(None) if stream.is_broken() => {
                    Poll::Ready(Some(Err(io::Error::other("the body is incomplete"))))
                }
                chunk => chunk.map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes)))),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, ResponseBody::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ResponseBody::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            ResponseBody::Chunked(chunks) => {
                chunks.left().map_or_else(SizeHint::default, |left| SizeHint::with_exact(left as u64))
            }
            ResponseBody::Stream(_) => SizeHint::default(),
        }
    }
}
