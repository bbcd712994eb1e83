//! The TLS configuration of a listener.

use super::ClientAuthorities;
use std::sync::Arc;
use tokio_rustls::rustls::ServerConfig;

/// TLS of a listener.
#[derive(Clone)]
pub struct Tls {
    /// The configuration of the handshake.
    pub config: Arc<ServerConfig>,
    /// The certificate authorities of client certificates, if those are requested.
    pub authorities: Option<ClientAuthorities>,
}
