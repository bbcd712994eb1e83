//! What the client asks, what the server answers, and what the client should have received.

use super::wire::Fault;
use bytes::Bytes;
use http::StatusCode;
use std::{
    future::{pending, poll_fn},
    io,
    sync::Arc,
    task::Poll,
};
use tenure_http::{BodyStream, GuardedRequest, MemoryBudget, Response, listener::Handler};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
};

/// Longer than two records of TLS.
const LARGE: usize = 40_000;
/// What a stream sends after its first chunks: more than a record, and longer than what hyper keeps.
const CHUNK: usize = 20_000;
/// The length of a body that is sent back.
const SENT: usize = 3_000;

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8).collect()
}

/// Answers as the path says. It is shared with every body that is being sent.
pub struct Streams;

impl Handler for Streams {
    async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_string();
        match path.as_str() {
            "/whole" => Response::text(StatusCode::OK, "whole"),
            "/large" => Response::new(StatusCode::OK, "text/plain", pattern(LARGE)),
            "/echo" => match body.read(SENT, &MemoryBudget::default()).await {
                Ok((body, _)) => Response::new(StatusCode::OK, "text/plain", body),
                Err(error) => Response::text(StatusCode::BAD_REQUEST, error.message.clone()),
            },
            _ => Response::stream("text/plain", stream(path).with_guard(self)),
        }
    }
}

/// Streams of some chunks, one of them after a pause, that end, break off, or stay open.
fn stream(path: String) -> BodyStream {
    BodyStream::new(|sender| async move {
        if path == "/nothing" {
            return;
        }
        sender.send(Bytes::from_static(b"one")).await;
        sender.send(Bytes::new()).await;
        let mut is_paused = false;
        poll_fn(|context| {
            context.waker().wake_by_ref();
            if std::mem::replace(&mut is_paused, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        sender.send(Bytes::from_static(b"two")).await;
        sender.send(pattern(CHUNK).into()).await;
        match path.as_str() {
            "/open" => pending().await,
            "/broken" => sender.fail(),
            _ => {}
        }
    })
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    code: u16,
    body: Vec<u8>,
    is_complete: bool,
}

struct Exchange {
    request: Vec<u8>,
    answer: Answer,
    is_head: bool,
    /// What becomes of the connection.
    after: After,
}

#[derive(Clone, Copy, PartialEq)]
enum After {
    Stays,
    /// The server closes it.
    Closes,
    /// It breaks off.
    Breaks,
    /// The answer does not end.
    Lasts,
}

impl Exchange {
    fn new(number: u8) -> Exchange {
        let streamed = [&b"onetwo"[..], &pattern(CHUNK)].concat();
        let (method, path, headers, sent, body, after) = match number % 10 {
            0 => ("GET", "/whole", "", Vec::new(), b"whole".to_vec(), After::Stays),
            1 => ("GET", "/large", "", Vec::new(), pattern(LARGE), After::Stays),
            2 => ("GET", "/ends", "", Vec::new(), streamed, After::Stays),
            3 => ("POST", "/echo", "Content-Length: 3000\r\n", pattern(SENT), pattern(SENT), After::Stays),
            4 => {
                let chunks = b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n".to_vec();
                let body = b"hello world".to_vec();
                ("POST", "/echo", "Transfer-Encoding: chunked\r\n", chunks, body, After::Stays)
            }
            5 => ("HEAD", "/whole", "", Vec::new(), Vec::new(), After::Stays),
            6 => ("GET", "/nothing", "", Vec::new(), Vec::new(), After::Stays),
            7 => ("GET", "/ends", "Connection: close\r\n", Vec::new(), streamed, After::Closes),
            8 => ("GET", "/broken", "", Vec::new(), streamed, After::Breaks),
            _ => ("GET", "/open", "", Vec::new(), streamed, After::Lasts),
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\r\n"
        );
        let is_complete = matches!(after, After::Stays | After::Closes);
        Exchange {
            request: [head.as_bytes(), &sent].concat(),
            answer: Answer { code: 200, body, is_complete },
            is_head: method == "HEAD",
            after,
        }
    }
}

/// Requests that are sent together, and their answers.
pub struct Conversation {
    requests: Vec<u8>,
    /// Those that are answered.
    exchanges: Vec<Exchange>,
}

/// What a client received, and how the connection ended.
pub struct Received {
    pub answers: Vec<Answer>,
    pub end: io::Result<()>,
}

impl Conversation {
    pub fn new(numbers: [u8; 3]) -> Conversation {
        let mut exchanges: Vec<Exchange> = numbers.into_iter().map(Exchange::new).collect();
        let requests = exchanges.iter().flat_map(|exchange| exchange.request.iter().copied()).collect();
        let answered = exchanges.iter().position(|exchange| exchange.after != After::Stays);
        exchanges.truncate(answered.map_or(exchanges.len(), |last| last + 1));
        Conversation { requests, exchanges }
    }

    fn after(&self) -> After {
        self.exchanges.last().map_or(After::Stays, |exchange| exchange.after)
    }

    /// Sends all requests while it reads the answers, and then closes the connection.
    pub async fn hold<S: AsyncRead + AsyncWrite>(&self, stream: S) -> Received {
        let (reader, mut writer) = tokio::io::split(stream);
        let mut reader = BufReader::new(reader);
        let sending = async {
            // If the server is gone, the answers tell.
            let _ = writer.write_all(&self.requests).await;
            let _ = writer.flush().await;
        };
        let mut answers = Vec::new();
        let reading = async {
            for exchange in &self.exchanges {
                answers.push(Answer::default());
                let answer = answers.last_mut().expect("an answer");
                read_answer(&mut reader, answer, exchange).await?;
            }
            Ok(())
        };
        let (_, mut end) = tokio::join!(sending, reading);
        if end.is_ok() && self.after() != After::Lasts {
            if self.after() == After::Stays {
                let _ = writer.shutdown().await;
            }
            let mut rest = Vec::new();
            end = reader.read_to_end(&mut rest).await.map(|_| assert!(rest.is_empty(), "{rest:?}"));
        }
        Received { answers, end }
    }

    /// Checks what a client has received over a wire with a fault.
    pub fn check(&self, received: &Received, fault: Fault) {
        let expected: Vec<&Answer> = self.exchanges.iter().map(|exchange| &exchange.answer).collect();
        let count = received.answers.len();
        for (at, (answer, expected)) in received.answers.iter().zip(&expected).enumerate() {
            let is_last = at + 1 == count && received.end.is_err();
            // A request that broke off may be answered with an error.
            let is_refused = matches!(fault, Fault::Cut { from_client: true, .. }) && answer.code == 400;
            if !is_last && !is_refused {
                assert!(answer == *expected, "{} is {}", brief(answer), brief(expected));
            } else if !is_refused && answer.code != 0 {
                let is_beginning = answer.code == expected.code && expected.body.starts_with(&answer.body);
                assert!(is_beginning, "{} begins {}", brief(answer), brief(expected));
            }
        }
        if fault == Fault::None {
            let is_broken = self.after() == After::Breaks;
            assert!(received.end.is_ok() != is_broken, "{:?}", received.end);
            let last = (received.answers.last(), expected.last().copied());
            assert!(count == expected.len() && last.0 == last.1, "{count} answers");
        }
    }
}

fn brief(answer: &Answer) -> String {
    format!("{}, {} bytes, complete: {}", answer.code, answer.body.len(), answer.is_complete)
}

/// Reads an answer as far as it arrives.
async fn read_answer(
    reader: &mut (impl AsyncBufRead + Unpin),
    answer: &mut Answer,
    exchange: &Exchange,
) -> io::Result<()> {
    let status = read_line(reader).await?;
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let line = read_line(reader).await?.to_lowercase();
        match line.split_once(": ") {
            Some(("content-length", value)) => length = value.parse().map_err(io::Error::other)?,
            Some(("transfer-encoding", value)) => is_chunked = value == "chunked",
            None if line.is_empty() => break,
            _ => {}
        }
    }
    answer.code = status.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status line");
    if exchange.is_head {
        answer.is_complete = true;
        return Ok(());
    }
    if !is_chunked {
        read_bytes(reader, length, &mut answer.body).await?;
        answer.is_complete = true;
        return Ok(());
    }
    loop {
        // A stream that stays open is left when it has sent everything.
        if exchange.after == After::Lasts && answer.body.len() == exchange.answer.body.len() {
            return Ok(());
        }
        let length = usize::from_str_radix(&read_line(reader).await?, 16).map_err(io::Error::other)?;
        read_bytes(reader, length, &mut answer.body).await?;
        assert_eq!(read_line(reader).await?, "", "a chunk ends with a line");
        if length == 0 {
            answer.is_complete = true;
            return Ok(());
        }
    }
}

async fn read_line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line).await?;
    match line.strip_suffix("\r\n") {
        Some(line) => Ok(line.to_string()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Reads bytes, and keeps those that arrived if not all do.
async fn read_bytes(
    reader: &mut (impl AsyncBufRead + Unpin),
    length: usize,
    body: &mut Vec<u8>,
) -> io::Result<()> {
    let before = body.len();
    reader.take(length as u64).read_to_end(body).await?;
    if body.len() - before < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}
