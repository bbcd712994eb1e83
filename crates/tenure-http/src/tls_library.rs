//! The server's side of a TLS connection as tokio-rustls has it: what the crate is built with instead of `tls_stream`, to tell whether an
//! error is in that file. It keeps buffers for every connection.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{CommonState, ServerConfig},
    server,
};

/// A TLS connection over a stream of bytes.
pub(super) struct TlsStream<S>(server::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream<S> {
    /// Performs the handshake.
    pub async fn accept(stream: S, config: Arc<ServerConfig>) -> io::Result<TlsStream<S>> {
        TlsAcceptor::from(config).accept(stream).await.map(TlsStream)
    }

    /// Returns what was negotiated.
    pub fn state(&self) -> &CommonState {
        self.0.get_ref().1
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
