//! A connection of HTTP/1.1. Hyper reads its requests and writes its responses, except those that last: a stream, such as a watch,
//! takes the connection over until it ends, and hyper gets it back afterwards. Hyper keeps two buffers of 8 KiB for a connection as
//! long as it exists; a stream needs none, and each of its chunks is written as it is.

use super::{
    BodyStream,
    connections::{ActiveRequest, Purpose},
    handover::{Handover, Takeover},
    request_line,
    service::Service,
    shutdown::{ConnectionError, HttpConnection},
};
use bytes::{Buf, Bytes, BytesMut};
use hyper::{HeaderMap, server::conn::http1};
use hyper_util::rt::{TokioIo, TokioTimer};
use memchr::memmem::Finder;
use std::{
    cmp::Ordering,
    future::Future,
    io::{self, IoSlice, Write},
    pin::Pin,
    sync::{Arc, LazyLock},
    task::{Context, Poll, ready},
    time::{Duration, SystemTime},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The most bytes that are read at a time from a client while it gets a stream; usually there are none.
const READ_BYTES: usize = 512;
/// How much of what a client sends during a stream is kept for later.
const KEPT_BYTES: usize = 8 * 1024;
/// The end of a chunked body.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
const LINE_END: &[u8] = b"\r\n";

/// The limits of requests.
#[derive(Clone, Copy)]
pub(super) struct Http1Limits {
    /// The timeout of the head of a request.
    pub head_time: Duration,
    /// The most bytes of the head of a request.
    pub head_bytes: usize,
}

/// The bytes of a connection: some may have been read already.
struct Connected<S> {
    before: Bytes,
    stream: S,
    handover: Arc<Handover>,
    place: Place,
}

/// What the bytes that come next belong to.
#[derive(Clone, Copy)]
enum Place {
    /// They begin a request.
    Request,
    /// As many bytes of the body have come, if the request has one.
    Body(u64),
    /// It is not known: a head came in parts, requests came together, or the protocol is another one.
    Unknown,
}

impl<S> Connected<S> {
    /// Returns the connection for another protocol, with the bytes that hyper has read and not used.
    fn upgraded(self, read: Bytes) -> Connected<S> {
        let before = if self.before.is_empty() { read } else { [read, self.before].concat().into() };
        Connected { before, place: Place::Unknown, ..self }
    }

    /// Follows the bytes that come next; returns them with the characters escaped that hyper refuses, if they begin a request with any.
    fn follow(&mut self, read: &[u8]) -> Option<Vec<u8>> {
        static HEAD_END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\r\n\r\n"));
        if let Place::Body(count) = self.place {
            let length = self.handover.body_length();
            match count.cmp(&length) {
                Ordering::Less => {
                    self.place = Place::Body(count.saturating_add(read.len() as u64));
                    return None;
                }
                Ordering::Equal => self.place = Place::Request,
                Ordering::Greater => self.place = Place::Unknown,
            }
        }
        let Place::Request = self.place else { return None };
        self.place = match HEAD_END.find(read) {
            Some(end) => Place::Body((read.len() - end - 4) as u64),
            None => Place::Unknown,
        };
        request_line::escaped(read)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Connected<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.before.is_empty() {
            let start = buffer.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
            match self.follow(&buffer.filled()[start..]) {
                Some(escaped) => {
                    buffer.set_filled(start);
                    self.before = escaped.into();
                }
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = self.before.len().min(buffer.remaining());
        buffer.put_slice(&self.before.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connected<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.handover.note_write();
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.handover.note_write();
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.handover.note_flush();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A connection of HTTP/1.1, served until it closes.
pub(super) struct Http1Connection<S> {
    state: State<S>,
    handover: Arc<Handover>,
    limits: Http1Limits,
    /// Whether no request follows the running one.
    is_last: bool,
}

#[allow(clippy::large_enum_variant)]
enum State<S> {
    /// Hyper serves requests. Boxed, so that a stream does not keep its memory.
    Requests(Box<http1::Connection<TokioIo<Connected<S>>, Service>>),
    /// A stream is being sent. It may be larger: it lasts, and would only have a second allocation.
    Stream(Streaming<S>),
    Ended,
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Http1Connection<S> {
    pub fn new(stream: S, service: Service, limits: Http1Limits) -> Http1Connection<S> {
        let handover = Handover::new();
        let service = Service { handover: Some(handover.clone()), ..service };
        let connection =
            Connected { before: Bytes::new(), stream, handover: handover.clone(), place: Place::Request };
        let state = State::requests(connection, service, limits);
        Http1Connection { state, handover, limits, is_last: false }
    }

    /// Ends the connection, or passes it on.
    fn end(&mut self) {
        let ended = std::mem::replace(&mut self.state, State::Ended);
        if let (State::Requests(connection), Some(upgrade)) = (ended, self.handover.upgrade()) {
            let parts = connection.into_parts();
            let connection = parts.io.into_inner().upgraded(parts.read_buf);
            // A handler that does not wait does not change the protocol.
            let _ = upgrade.send(Box::new(connection));
        }
    }

    /// Lets a stream take the connection over.
    fn start_stream(&mut self, takeover: Takeover) {
        let State::Requests(connection) = std::mem::replace(&mut self.state, State::Ended) else { return };
        let parts = connection.into_parts();
        let Connected { before, stream, .. } = parts.io.into_inner();
        // What hyper has read comes before what it has not.
        let mut read = BytesMut::from(&parts.read_buf[..]);
        read.extend_from_slice(&before);
        self.state = State::Stream(Streaming {
            connection: stream,
            read,
            is_read_paused: false,
            output: Output { head: response_head(&takeover.headers), ..Output::default() },
            is_flushed: false,
            is_complete: false,
            body: takeover.stream,
            request: Some(takeover.request),
            service: parts.service,
        });
    }

    /// Returns the connection to hyper after a stream.
    fn end_stream(&mut self) {
        let State::Stream(ended) = std::mem::replace(&mut self.state, State::Ended) else { return };
        let Streaming { connection, read, service, .. } = ended;
        let (before, handover) = (read.freeze(), self.handover.clone());
        let connection = Connected { before, stream: connection, handover, place: Place::Unknown };
        self.state = State::requests(connection, service, self.limits);
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> State<S> {
    fn requests(connection: Connected<S>, service: Service, limits: Http1Limits) -> State<S> {
        let stream = TokioIo::new(connection);
        let mut http = http1::Builder::new();
        // No pipeline_flush: it would buffer a body as fast as it is produced, whether or not the client reads.
        http.timer(TokioTimer::new())
            .header_read_timeout(limits.head_time)
            .max_buf_size(limits.head_bytes)
            .keep_alive(service.purpose == Purpose::Any);
        State::Requests(Box::new(http.serve_connection(stream, service)))
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Future for Http1Connection<S> {
    type Output = Result<(), ConnectionError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        loop {
            match &mut this.state {
                State::Requests(connection) => match Pin::new(&mut **connection).poll(context) {
                    Poll::Ready(Ok(())) => this.end(),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                    Poll::Pending => match this.handover.takeover() {
                        Some(takeover) => this.start_stream(*takeover),
                        None => return Poll::Pending,
                    },
                },
                State::Stream(stream) => {
                    ready!(stream.poll(context))?;
                    if this.is_last {
                        ready!(stream.poll_shutdown(context))?;
                        this.state = State::Ended;
                    } else {
                        this.end_stream();
                    }
                }
                State::Ended => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> HttpConnection for Http1Connection<S> {
    type Fault = ConnectionError;

    fn finish(mut self: Pin<&mut Self>) {
        self.is_last = true;
        if let State::Requests(connection) = &mut self.state {
            Pin::new(&mut **connection).graceful_shutdown();
        }
    }
}

/// A stream that is being sent, in chunks.
struct Streaming<S> {
    connection: S,
    /// What the client has sent meanwhile: its next requests.
    read: BytesMut,
    /// Whether the client has sent so much that the rest is left in the connection.
    is_read_paused: bool,
    output: Output,
    is_flushed: bool,
    is_complete: bool,
    body: BodyStream,
    /// `None` when the response is complete.
    request: Option<ActiveRequest>,
    service: Service,
}

/// Bytes to be written: a chunk with its length.
#[derive(Default)]
struct Output {
    head: Bytes,
    chunk: Bytes,
    tail: &'static [u8],
}

impl Output {
    fn chunk(chunk: Bytes) -> Output {
        Output { head: format!("{:x}\r\n", chunk.len()).into(), chunk, tail: LINE_END }
    }

    fn is_empty(&self) -> bool {
        self.head.is_empty() && self.chunk.is_empty() && self.tail.is_empty()
    }

    fn advance(&mut self, mut count: usize) {
        for part in [&mut self.head, &mut self.chunk] {
            let of_part = count.min(part.len());
            part.advance(of_part);
            count -= of_part;
        }
        self.tail = &self.tail[count.min(self.tail.len())..];
        if self.is_empty() {
            // Frees the chunk.
            *self = Output::default();
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Streaming<S> {
    /// Sends the stream until it ends.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.read(context)?;
        loop {
            ready!(self.poll_write(context))?;
            if self.is_complete {
                self.request = None;
                return Poll::Ready(Ok(()));
            }
            match ready!(self.body.poll_next(context)) {
                // A chunk without bytes would end the body.
                Some(chunk) if chunk.is_empty() => {}
                Some(chunk) => {
                    if let Some(request) = &self.request {
                        request.progress();
                    }
                    self.output = Output::chunk(chunk);
                }
                None if self.body.is_broken() => {
                    return Poll::Ready(Err(io::Error::other("the body is incomplete")));
                }
                None => {
                    self.output.tail = LAST_CHUNK;
                    self.is_complete = true;
                }
            }
        }
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Streaming { connection, output, .. } = self;
        while !output.is_empty() {
            let slices = [&output.head[..], &output.chunk, output.tail].map(IoSlice::new);
            let count = ready!(Pin::new(&mut *connection).poll_write_vectored(context, &slices))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            output.advance(count);
            self.is_flushed = false;
        }
        if !self.is_flushed {
            ready!(Pin::new(&mut self.connection).poll_flush(context))?;
            self.is_flushed = true;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads what the client sends, to see when it disconnects.
    fn read(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while !self.is_read_paused {
            let mut bytes = [0; READ_BYTES];
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.connection).poll_read(context, &mut buffer)? {
                Poll::Pending => return Ok(()),
                Poll::Ready(()) if buffer.filled().is_empty() => {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the client has disconnected"));
                }
                Poll::Ready(()) => {
                    self.read.extend_from_slice(buffer.filled());
                    self.is_read_paused = self.read.len() > KEPT_BYTES;
                }
            }
        }
        Ok(())
    }

    fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}

/// Returns the head of the response of a stream.
fn response_head(headers: &HeaderMap) -> Bytes {
    let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
    for (name, value) in headers {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), LINE_END] {
            head.extend_from_slice(part);
        }
    }
    let date = httpdate::HttpDate::from(SystemTime::now());
    // Writing to memory does not fail.
    let _ = write!(head, "transfer-encoding: chunked\r\ndate: {date}\r\n\r\n");
    head.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        GuardedRequest, Response,
        listener::{Handler, bind, serve},
    };
    use hyper::StatusCode;
    use std::future::pending;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
        sync::Notify,
    };

    /// Answers with streams of two chunks, which end, break off, or stay open as the path says.
    #[derive(Default)]
    struct Streams {
        dropped: Arc<Notify>,
    }

    struct NotifyOnDrop(Arc<Notify>);

    impl Drop for NotifyOnDrop {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }

    impl Handler for Streams {
        async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
            let path = request.head().uri.path().to_string();
            if path == "/whole" {
                return Response::text(StatusCode::OK, "whole");
            }
            let guard = NotifyOnDrop(self.dropped.clone());
            let stream = BodyStream::new(|sender| async move {
                sender.send(Bytes::from_static(b"one")).await;
                sender.send(Bytes::new()).await;
                sender.send(Bytes::from_static(b"two")).await;
                match path.as_str() {
                    "/open" => pending().await,
                    "/broken" => sender.fail(),
                    _ => {}
                }
            });
            Response::stream("text/plain", stream.with_guard(guard))
        }
    }

    const BODY: &str = "3\r\none\r\n3\r\ntwo\r\n";

    fn request(path: &str, headers: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")
    }

    async fn connect() -> (TcpStream, Arc<Streams>, Arc<Notify>) {
        let listener = bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (streams, stop) = (Arc::new(Streams::default()), Arc::new(Notify::new()));
        let (handler, stopped) = (streams.clone(), stop.clone());
        tokio::spawn(async move { serve(listener, None, handler, stopped.notified()).await });
        (TcpStream::connect(address).await.unwrap(), streams, stop)
    }

    /// Reads until what was read ends with a text.
    async fn read_until(client: &mut TcpStream, end: &str) -> String {
        let mut read = Vec::new();
        while !read.ends_with(end.as_bytes()) {
            let count = client.read_buf(&mut read).await.unwrap();
            assert_ne!(count, 0, "{}", String::from_utf8_lossy(&read));
        }
        String::from_utf8(read).unwrap()
    }

    #[tokio::test]
    async fn requests_before_during_and_after_a_stream_are_answered_in_order() {
        let (mut client, ..) = connect().await;
        client.write_all(request("/whole", "").as_bytes()).await.unwrap();
        read_until(&mut client, "whole").await;
        // Together: hyper has read the requests behind the first stream when it starts.
        let together =
            [request("/ends", ""), request("/whole", ""), request("/ends", "Connection: keep-alive\r\n")]
                .concat();
        client.write_all(together.as_bytes()).await.unwrap();
        let answer = read_until(&mut client, &format!("{BODY}0\r\n\r\n")).await;
        let answer = match answer.contains("\r\n\r\nwhole") {
            true => answer,
            false => answer + &read_until(&mut client, &format!("{BODY}0\r\n\r\n")).await,
        };
        let [first, second, third] = answer.split("HTTP/1.1 200 OK\r\n").skip(1).collect::<Vec<_>>()[..]
        else {
            panic!("{answer}")
        };
        for stream in [first, third] {
            let (head, body) = stream.split_once("\r\n\r\n").unwrap();
            assert!(head.contains("transfer-encoding: chunked") && head.contains("date: "), "{head}");
            assert!(head.contains("content-type: text/plain"), "{head}");
            assert_eq!(body, format!("{BODY}0\r\n\r\n"));
        }
        assert!(second.ends_with("whole"), "{second}");
    }

    #[tokio::test]
    async fn a_stream_ends_when_the_client_disconnects() {
        let (mut client, streams, _) = connect().await;
        client.write_all(request("/open", "").as_bytes()).await.unwrap();
        read_until(&mut client, BODY).await;
        drop(client);
        streams.dropped.notified().await;
    }

    #[tokio::test]
    async fn a_broken_stream_and_one_before_a_shutdown_close_the_connection() {
        let (mut client, ..) = connect().await;
        client.write_all(request("/broken", "").as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with(BODY), "no last chunk: {answer}");
        // A client that wants the connection to be closed does not keep it.
        let (mut client, ..) = connect().await;
        client.write_all(request("/ends", "Connection: close\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with(&format!("{BODY}0\r\n\r\n")), "{answer}");
    }

    #[test]
    fn a_chunk_may_be_written_in_parts() {
        let whole = b"b\r\nhello world\r\n";
        for step in 1..=whole.len() {
            let (mut output, mut written) = (Output::chunk(Bytes::from_static(b"hello world")), Vec::new());
            while !output.is_empty() {
                let rest = [&output.head[..], &output.chunk, output.tail].concat();
                let count = step.min(rest.len());
                written.extend_from_slice(&rest[..count]);
                output.advance(count);
            }
            assert_eq!(written, whole);
        }
    }
}
