//! The body of a response on its way to the client: it keeps the request counted and its memory reserved until it is sent.

use super::{Response, ResponseBody, connections::ActiveRequest, memory::Reservation};
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

/// The most bytes that the connection accepts at once. Accepted bytes are no longer counted here, so that large bodies are
/// passed on in pieces.
const PIECE: usize = 64 * 1024;

/// The body of a response whose request is counted.
pub(super) struct SentBody {
    body: ResponseBody,
    request: ActiveRequest,
    memory: Option<Reservation>,
}

/// Converts a response for hyper.
pub(super) fn hyper_response(from: Response, mut request: ActiveRequest) -> hyper::Response<SentBody> {
    if !matches!(from.body, ResponseBody::Stream(_)) {
        request.start_sending();
    }
    let mut response = hyper::Response::new(SentBody { body: from.body, request, memory: from.memory });
    *response.status_mut() = from.code;
    *response.headers_mut() = from.headers;
    response
}

impl SentBody {
    fn next(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if let ResponseBody::Whole(bytes) = &mut self.body
            && bytes.len() > PIECE
        {
            return Poll::Ready(Some(Ok(Frame::data(bytes.split_to(PIECE)))));
        }
        Pin::new(&mut self.body).poll_frame(context)
    }
}

impl Body for SentBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = self.next(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.request.progress();
            if let (Some(memory), Some(bytes)) = (&mut self.memory, frame.data_ref()) {
                memory.shrink(bytes.len());
            }
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
