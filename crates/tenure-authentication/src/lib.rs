//! Authentication of requests, as in kube-apiserver: client certificates, the administrator's token, a token file, service
//! account tokens that this server issued or that secrets hold, bootstrap tokens, tokens of external issuers, and those that a
//! webhook knows; and impersonation, by which a user acts as another.
//!
//! - [`credentials`] goes from bytes and a time to a user: tokens, keys, claims. It reads no files, clocks or sockets.
//! - [`oidc`] verifies the tokens of external issuers.
//! - [`Authenticator`] asks them in their order, and looks up the accounts and bound objects of tokens in the store.
//!
//! The crate exists because who a user is can be tested without what the user may do, which it does not know; of a request it knows the
//! path and the headers. Internal: no promises about its API.

mod authenticator;
mod bootstrap_token;
pub mod credentials;
mod impersonation;
pub mod oidc;
mod request_header;
mod secret_token;
mod token_cache;
mod token_issuer;
mod token_uses;
mod token_webhook;

pub use authenticator::{Authenticator, Credential, Identity, IdentityOptions};
pub use impersonation::{Denied, Impersonated, Mode as ImpersonationMode, impersonate};
pub use secret_token::LAST_USED;
pub use token_issuer::{TokenIssuer, TokenKeys, TokenOptions};
pub use token_uses::{TokenUse, TokenUses};
pub use token_webhook::TokenWebhookOptions;
