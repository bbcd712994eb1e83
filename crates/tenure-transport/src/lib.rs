//! Connections to other servers: which certificates are trusted, and requests on connections that are kept open. Webhooks, extension
//! API servers and commands are reached by them.
//!
//! The crate does not know where certificates and addresses come from or what a request is for.

mod any_certificate;
mod dialer;
mod transport;
mod trusted_certificates;

pub use any_certificate::AnyCertificate;
pub use dialer::Dialer;
pub use transport::{
    BoxError, Connecting, Dial, Sending, Transport, TransportBody, TransportTls, whole_body,
};
pub use trusted_certificates::TrustedCertificates;
