//! From credentials to a user: bearer tokens, token files, client certificates and service account tokens.
//!
//! Nothing here reads files, clocks or sockets: the caller passes bytes and the time.

mod bearer;
mod compact_token;
mod jwt;
mod request_header;
mod secret_token;
mod service_account;
mod signing_key;
mod token_file;
mod token_review;

pub use bearer::bearer_token;
pub(crate) use compact_token::CompactToken;
#[cfg(test)]
pub(crate) use compact_token::MOST_BYTES;
pub use jwt::{Claims, JwtError, sign, untrusted_issuer, verify};
pub use request_header::RequestHeaderNames;
pub use secret_token::{SECRET_TOKEN_ISSUER, SecretTokenClaims};
pub use service_account::{BoundObject, ServiceAccountClaims, ServiceAccountTokenError, TokenRequest};
pub use signing_key::{KeyError, SigningKey, VerifyingKey, jwk_set};
pub use token_file::{ShortToken, TokenFile, TokenFileError};
pub use token_review::{TokenStatus, token_review};
