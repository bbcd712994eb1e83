//! The server's side of a TLS connection. Records are encrypted and decrypted in memory that all connections of a thread share: a
//! connection that is idle, such as most watches are, has keys and no buffers.

use bytes::{Buf, Bytes, BytesMut};
use std::{
    cell::RefCell,
    future::poll_fn,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::rustls::{
    CommonState, ServerConfig,
    server::UnbufferedServerConnection,
    unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus},
};

/// The most bytes that are read at once: a whole record.
const READ_BYTES: usize = 17 * 1024;
/// The most bytes that are encrypted at once: a few records.
const WRITE_BYTES: usize = 64 * 1024;
/// The room for what encryption adds to them.
const ADDED_BYTES: usize = 1024;

/// Memory for the records of all connections of a thread.
#[derive(Default)]
struct Scratch {
    plaintext: Vec<u8>,
    records: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// A TLS connection over a stream of bytes.
pub(super) struct TlsStream<S> {
    stream: S,
    tls: UnbufferedServerConnection,
    /// The beginning of a record, or of several.
    incoming: Vec<u8>,
    /// What was decrypted and not read.
    plaintext: Bytes,
    /// Records that the stream has not accepted.
    outgoing: Bytes,
    /// Whether the client sends no more.
    is_peer_closed: bool,
    is_closing: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream<S> {
    /// Performs the handshake.
    pub async fn accept(stream: S, config: Arc<ServerConfig>) -> io::Result<TlsStream<S>> {
        let tls = UnbufferedServerConnection::new(config).map_err(io::Error::other)?;
        let mut stream = TlsStream {
            stream,
            tls,
            incoming: Vec::new(),
            plaintext: Bytes::new(),
            outgoing: Bytes::new(),
            is_peer_closed: false,
            is_closing: false,
        };
        poll_fn(|context| stream.poll_handshake(context)).await?;
        Ok(stream)
    }

    /// Returns what was negotiated.
    pub fn state(&self) -> &CommonState {
        &self.tls
    }

    fn poll_handshake(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_outgoing(context))?;
            if !self.tls.is_handshaking() {
                return Poll::Ready(Ok(()));
            }
            if ready!(self.poll_receive(context))? == 0 {
                return Poll::Ready(Err(eof("the client has disconnected during the handshake")));
            }
            self.process_or_alert(context, &mut ReadBuf::new(&mut []))?;
        }
    }

    /// Writes the records that wait.
    fn poll_outgoing(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outgoing.is_empty() {
            let count = ready!(Pin::new(&mut self.stream).poll_write(context, &self.outgoing))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.outgoing.advance(count);
        }
        // Frees the memory.
        self.outgoing = Bytes::new();
        Poll::Ready(Ok(()))
    }

    /// Reads records, and returns the number of bytes.
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        SCRATCH.with_borrow_mut(|Scratch { records, .. }| {
            grow(records, READ_BYTES);
            let mut buffer = ReadBuf::new(records);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
            self.incoming.extend_from_slice(buffer.filled());
            Poll::Ready(Ok(buffer.filled().len()))
        })
    }

    /// Processes what was read; if it is not valid, the client gets to know why.
    fn process_or_alert(&mut self, context: &mut Context<'_>, reader: &mut ReadBuf<'_>) -> io::Result<()> {
        let processed = self.process(reader, None).map(|_| ());
        if processed.is_err() {
            // The connection ends in any case.
            let _ = self.poll_outgoing(context);
        }
        processed
    }

    /// Processes the records that were read until there is nothing to do but to read or to write. What they contain goes to `reader`,
    /// as far as it has room. Encrypts a text if there is one; returns the length of its records.
    fn process(
        &mut self,
        reader: &mut ReadBuf<'_>,
        mut text: Option<(&[u8], &mut [u8])>,
    ) -> io::Result<Option<usize>> {
        let (mut outgoing, mut rest) = (Vec::new(), BytesMut::new());
        let (mut at, mut encrypted, mut failure, mut is_done) = (0, None, None, false);
        while !is_done {
            let UnbufferedStatus { mut discard, state, .. } =
                self.tls.process_tls_records(&mut self.incoming[at..]);
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(invalid)?;
                        discard += record.discard;
                        let room = if rest.is_empty() { reader.remaining() } else { 0 };
                        let (now, later) = record.payload.split_at(record.payload.len().min(room));
                        reader.put_slice(now);
                        rest.extend_from_slice(later);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    let start = outgoing.len();
                    if let Err(EncodeError::InsufficientSize(error)) = data.encode(&mut []) {
                        outgoing.resize(start + error.required_size, 0);
                        data.encode(&mut outgoing[start..]).map_err(io::Error::other)?;
                    }
                }
                // What was encoded is written before anything else.
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => self.is_peer_closed = true,
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    if let Some((text, records)) = text.take() {
                        let close = |error: EncryptError| io::Error::other(error);
                        encrypted = Some(traffic.encrypt(text, records).map_err(close)?);
                    }
                    is_done = true;
                }
                Ok(ConnectionState::BlockedHandshake | ConnectionState::Closed) => is_done = true,
                Ok(_) => return Err(io::Error::other("TLS early data is not supported")),
                // The next rounds encode the alert.
                Err(error) if failure.is_none() => failure = Some(error),
                Err(_) => is_done = true,
            }
            at += discard;
            if failure.is_some() || self.is_peer_closed {
                at = self.incoming.len();
            }
        }
        self.incoming.drain(..at);
        if self.incoming.is_empty() {
            // Frees the memory.
            self.incoming = Vec::new();
        }
        if !rest.is_empty() {
            self.plaintext = [&self.plaintext[..], &rest].concat().into();
        }
        if !outgoing.is_empty() {
            self.outgoing = [&self.outgoing[..], &outgoing].concat().into();
        }
        failure.map_or(Ok(encrypted), |error| Err(invalid(error)))
    }

    /// Encrypts a text and writes its records, or keeps those that the stream does not accept.
    fn write_text(
        &mut self,
        context: &mut Context<'_>,
        text: &[u8],
        records: &mut Vec<u8>,
    ) -> io::Result<()> {
        grow(records, text.len() + ADDED_BYTES);
        let encrypted = self.process(&mut ReadBuf::new(&mut []), Some((text, &mut records[..])))?;
        let length = encrypted.ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        let mut records = &records[..length];
        // Records that were encoded before, such as an update of the keys, come first.
        if self.outgoing.is_empty()
            && let Poll::Ready(count) = Pin::new(&mut self.stream).poll_write(context, records)?
        {
            records = &records[count..];
        }
        if !records.is_empty() {
            self.outgoing = [&self.outgoing[..], records].concat().into();
        }
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        let mut alert = vec![0; ADDED_BYTES];
        self.process(&mut ReadBuf::new(&mut []), None)?;
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) =
            self.tls.process_tls_records(&mut self.incoming).state
        {
            let length = traffic.queue_close_notify(&mut alert).map_err(io::Error::other)?;
            self.outgoing = [&self.outgoing[..], &alert[..length]].concat().into();
        }
        Ok(())
    }
}

/// Makes a buffer as large as needed.
fn grow(buffer: &mut Vec<u8>, length: usize) {
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
}

fn invalid(error: tokio_rustls::rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

fn eof(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, why)
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        loop {
            if !self.plaintext.is_empty() {
                let count = self.plaintext.len().min(buffer.remaining());
                buffer.put_slice(&self.plaintext[..count]);
                self.plaintext.advance(count);
                if self.plaintext.is_empty() {
                    // Frees the memory.
                    self.plaintext = Bytes::new();
                }
                return Poll::Ready(Ok(()));
            }
            if buffer.filled().len() > before || buffer.remaining() == 0 || self.is_peer_closed {
                return Poll::Ready(Ok(()));
            }
            if ready!(self.poll_receive(context))? == 0 {
                return Poll::Ready(Err(eof(
                    "the client has disconnected without closing the TLS connection",
                )));
            }
            self.process_or_alert(context, buffer)?;
            // Answers to the client's records, such as an update of the keys. If they have to wait, the next write sends them.
            if let Poll::Ready(Err(error)) = self.poll_outgoing(context) {
                return Poll::Ready(Err(error));
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsStream<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_outgoing(context))?;
        let total = slices.iter().map(|slice| slice.len()).sum::<usize>().min(WRITE_BYTES);
        let Some(first) = slices.iter().find(|slice| !slice.is_empty()) else { return Poll::Ready(Ok(0)) };
        SCRATCH.with_borrow_mut(|Scratch { plaintext, records }| {
            if first.len() >= total {
                return self.write_text(context, &first[..total], records);
            }
            plaintext.clear();
            for slice in slices {
                let room = total - plaintext.len();
                plaintext.extend_from_slice(&slice[..slice.len().min(room)]);
            }
            self.write_text(context, plaintext, records)
        })?;
        Poll::Ready(Ok(total))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_outgoing(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_closing {
            self.is_closing = true;
            self.close()?;
        }
        ready!(self.poll_outgoing(context))?;
        match ready!(Pin::new(&mut self.stream).poll_shutdown(context)) {
            // The client has closed it already.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            ended => Poll::Ready(ended),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio_rustls::{
        TlsConnector,
        rustls::{
            ClientConfig, RootCertStore, SupportedProtocolVersion,
            crypto::ring,
            pki_types::{PrivateKeyDer, ServerName},
            version::{TLS12, TLS13},
        },
    };

    /// Returns a server's configuration and a client that trusts it.
    fn configurations(version: &'static SupportedProtocolVersion) -> (Arc<ServerConfig>, TlsConnector) {
        let certified = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
        let (certificate, key) = (certified.cert.der().clone(), certified.signing_key.serialize_der());
        let provider = || Arc::new(ring::default_provider());
        let mut server = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], PrivateKeyDer::Pkcs8(key.into()))
            .unwrap();
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        let mut client = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = vec![b"http/1.1".to_vec()];
        (Arc::new(server), TlsConnector::from(Arc::new(client)))
    }

    fn name() -> ServerName<'static> {
        ServerName::try_from("localhost").unwrap()
    }

    /// Sends what it receives back until the client closes, and closes too.
    async fn echo(stream: impl AsyncRead + AsyncWrite + Unpin, config: Arc<ServerConfig>) -> io::Result<u64> {
        let stream = TlsStream::accept(stream, config).await?;
        assert_eq!(stream.state().alpn_protocol(), Some(&b"http/1.1"[..]));
        let (mut reader, mut writer) = tokio::io::split(stream);
        let count = tokio::io::copy(&mut reader, &mut writer).await?;
        writer.shutdown().await?;
        Ok(count)
    }

    #[tokio::test]
    async fn everything_arrives_in_both_directions_however_small_the_steps() {
        for version in [&TLS12, &TLS13] {
            for step in [7, 1_000, 1 << 20] {
                let (config, connector) = configurations(version);
                let (near, far) = duplex(step);
                let server = tokio::spawn(echo(far, config));
                let client = connector.connect(name(), near).await.unwrap();
                let (mut reader, mut writer) = tokio::io::split(client);
                let length = if step < 100 { 20_000 } else { 300_000 };
                let text: Vec<u8> = (0..length).map(|at: u32| (at % 251) as u8).collect();
                let sent = text.clone();
                let sending = async move {
                    for part in sent.chunks(70_000) {
                        writer.write_all(part).await.unwrap();
                    }
                    writer.shutdown().await.unwrap();
                };
                let mut received = Vec::new();
                let (_, read) = tokio::join!(sending, reader.read_to_end(&mut received));
                // The end is a clean one: the server says that it closes.
                assert_eq!(read.unwrap(), text.len());
                assert_eq!(received, text);
                assert_eq!(server.await.unwrap().unwrap(), text.len() as u64);
            }
        }
    }

    #[tokio::test]
    async fn slices_are_joined_and_an_idle_connection_has_no_buffers() {
        let (config, connector) = configurations(&TLS13);
        let (near, far) = duplex(1 << 20);
        let (server, client) = tokio::join!(TlsStream::accept(far, config), connector.connect(name(), near));
        let (mut server, mut client) = (server.unwrap(), client.unwrap());
        let slices = [&b"6\r\n"[..], b"", b"answer", b"\r\n"].map(IoSlice::new);
        assert_eq!(server.write_vectored(&slices).await.unwrap(), 11);
        server.flush().await.unwrap();
        let mut read = [0; 11];
        client.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"6\r\nanswer\r\n");
        client.write_all(b"request").await.unwrap();
        let mut part = [0; 3];
        server.read_exact(&mut part).await.unwrap();
        assert_eq!((&part, &server.plaintext[..]), (b"req", &b"uest"[..]));
        server.read_exact(&mut [0; 4]).await.unwrap();
        let buffers = [server.incoming.capacity(), server.plaintext.len(), server.outgoing.len()];
        assert_eq!(buffers, [0, 0, 0]);
        // A client that is gone without a word did not end its request.
        drop(client);
        let error = server.read(&mut part).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[tokio::test]
    async fn a_client_that_does_not_speak_tls_gets_an_alert() {
        let (config, _) = configurations(&TLS13);
        let (mut near, far) = duplex(1 << 20);
        let server = tokio::spawn(echo(far, config));
        near.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        assert_eq!(server.await.unwrap().unwrap_err().kind(), io::ErrorKind::InvalidData);
        let mut alert = Vec::new();
        near.read_to_end(&mut alert).await.unwrap();
        assert_eq!(alert.first(), Some(&21), "an alert: {alert:?}");
    }
}
