//! The server's side of a TLS connection as tokio-rustls has it: what the crate is built with instead of `tls_stream`, to tell whether an
//! error is in that file. It keeps buffers for every connection.

use std::{io, sync::Arc};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{CommonState, ServerConfig},
};

pub(super) use tokio_rustls::server::TlsStream;

/// What `tls_stream` has of its own.
pub(super) trait ServerSide<S>: Sized {
    /// Performs the handshake.
    async fn accept(stream: S, config: Arc<ServerConfig>) -> io::Result<Self>;

    /// Returns what was negotiated.
    fn state(&self) -> &CommonState;
}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> ServerSide<S> for TlsStream<S> {
    async fn accept(stream: S, config: Arc<ServerConfig>) -> io::Result<TlsStream<S>> {
        TlsAcceptor::from(config).accept(stream).await
    }

    fn state(&self) -> &CommonState {
        self.get_ref().1
    }
}
