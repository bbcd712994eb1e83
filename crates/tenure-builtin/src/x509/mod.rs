//! What the server reads of certificates and of requests for them: PEM, DER, X.509 certificates and PKCS #10 requests.
//!
//! Everything here borrows from the bytes it was given. It is stricter than the readers of `tenure_meta`, which find what is needed in
//! files that a person chose: what kube-apiserver refuses must be refused here, so that a block of PEM stands on lines of its own, and
//! DER has its one valid form.

mod certificate;
mod der;
mod pem;
mod public_key;
mod request;

pub(crate) use certificate::Certificate;
pub(crate) use pem::Blocks;
pub(crate) use public_key::{Curve, PublicKey};
pub(crate) use request::Request;
