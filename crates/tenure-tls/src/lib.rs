//! Which server certificates a client trusts: those that it was given and those that they signed, or any.
//!
//! The crate does not know where certificates come from or what a connection is for.

mod any_certificate;
mod trusted_certificates;

pub use any_certificate::AnyCertificate;
pub use trusted_certificates::TrustedCertificates;
