//! The body of a request, from a connection or from memory.

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// The body of a request. One type for both kinds, so that the code of requests is compiled once.
#[derive(Debug)]
pub enum RequestBody {
    /// From a connection.
    Connection(Incoming),
    /// From memory.
    Whole(Full<Bytes>),
}

impl From<Incoming> for RequestBody {
    fn from(body: Incoming) -> RequestBody {
        RequestBody::Connection(body)
    }
}

impl From<Bytes> for RequestBody {
    fn from(body: Bytes) -> RequestBody {
        RequestBody::Whole(Full::new(body))
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            RequestBody::Connection(body) => Pin::new(body).poll_frame(context),
            RequestBody::Whole(body) => Pin::new(body).poll_frame(context).map_err(|never| match never {}),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            RequestBody::Connection(body) => body.is_end_stream(),
            RequestBody::Whole(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            RequestBody::Connection(body) => body.size_hint(),
            RequestBody::Whole(body) => body.size_hint(),
        }
    }
}
