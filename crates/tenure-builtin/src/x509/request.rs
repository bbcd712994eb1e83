//! A PKCS #10 request for a certificate: the key that the certificate is for, and the signature that proves that its owner asks.

use super::{
    der::{Algorithm, Reader, check_name, part},
    public_key::PublicKey,
};

/// A request for a certificate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'d> {
    pub key: PublicKey<'d>,
    /// What is signed.
    signed: &'d [u8],
    algorithm: Algorithm<'d>,
    signature: &'d [u8],
}

impl<'d> Request<'d> {
    /// Reads a request in DER.
    pub fn parse(der: &'d [u8]) -> Option<Request<'d>> {
        let mut reader = Reader::new(der);
        let mut parts = reader.sequence().filter(|_| reader.is_empty())?;
        let information = parts.element()?;
        let algorithm = Algorithm::read(&mut parts)?;
        let signature = parts.bits()?;
        let mut fields = Reader::new(information.whole).sequence()?;
        fields.integer()?;
        check_name(&mut fields)?;
        let key = PublicKey::read(&mut fields)?;
        let mut attributes = Reader::new(fields.optional(part(0))?.unwrap_or_default());
        while !attributes.is_empty() {
            attributes.sequence()?;
        }
        Some(Request { key, signed: information.whole, algorithm, signature })
    }

    /// Whether the signature is that of the key.
    pub fn is_signed(&self) -> bool {
        self.key.verifies(&self.algorithm, self.signed, self.signature)
    }
}
