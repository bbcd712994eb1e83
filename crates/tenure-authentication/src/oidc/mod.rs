//! Tokens of external issuers: OpenID Connect as kube-apiserver has it.
//!
//! - [`AuthenticationConfiguration`] defines which issuers are trusted, and how claims map to a user. It is read from a file,
//!   or made of the `--oidc-*` flags.
//! - [`JwtAuthenticators`] is the configuration at work: it fetches the discovery documents and the keys of the issuers,
//!   verifies tokens and maps their claims, by name or by CEL expressions.
//!
//! The crate does not know which requests are authenticated, and has no clock: the caller brings the time.

mod authenticator;
mod authenticators;
mod claims;
mod config;
mod expression;
mod issuer_keys;
mod jwk;
mod token;
mod validation;

pub use authenticators::{Authenticated, JwtAuthenticators};
pub use config::{
    AnonymousConfig, AuthenticationConfiguration, ClaimMappings, ClaimOrExpression, ClaimValidationRule,
    ConfigError, ExtraMapping, Issuer, JwtConfig, PrefixedClaimOrExpression, UserValidationRule,
};
pub use jwk::ALGORITHMS;
