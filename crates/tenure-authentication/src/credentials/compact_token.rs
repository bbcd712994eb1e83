//! JSON Web Tokens in the compact form, before their signature is verified.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
use tenure_value::{Limits, Value, json};

/// The longest token that is read.
pub(crate) const MOST_BYTES: usize = 64 * 1024;

/// The encoded parts of a token. Its claims must not be trusted before its signature is verified.
pub(crate) struct CompactToken<'t> {
    header: &'t str,
    claims: &'t str,
    signature: &'t str,
    /// What is signed: the header and the claims.
    pub message: &'t [u8],
}

impl<'t> CompactToken<'t> {
    /// Divides a token into its parts; `None` if it does not have three, or is too long.
    pub fn read(token: &'t str) -> Option<CompactToken<'t>> {
        let (message, signature) = token.rsplit_once('.').filter(|_| token.len() <= MOST_BYTES)?;
        let (header, claims) = message.split_once('.').filter(|(_, claims)| !claims.contains('.'))?;
        Some(CompactToken { header, claims, signature, message: message.as_bytes() })
    }

    /// Returns the header; `None` if it is not a document.
    pub fn header(&self) -> Option<Value> {
        document(self.header)
    }

    /// Returns the claims; `None` if they are not a document.
    pub fn claims(&self) -> Option<Value> {
        document(self.claims)
    }

    /// Returns the signature; `None` if it is not base64.
    pub fn signature(&self) -> Option<Vec<u8>> {
        BASE64URL.decode(self.signature).ok()
    }
}

fn document(part: &str) -> Option<Value> {
    json::parse(&BASE64URL.decode(part).ok()?, &Limits::default()).ok()
}
