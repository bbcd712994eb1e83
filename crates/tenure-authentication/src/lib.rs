//! Authentication of requests, as in kube-apiserver: client certificates, the administrator's token, a token file, service
//! account tokens that this server issued or that secrets hold, bootstrap tokens, tokens of external issuers, and those that a
//! webhook knows. It looks up the accounts and bound objects of tokens in the store. It does not know what a user may do, nor
//! anything about the request but its path and headers.

mod authenticator;
mod bootstrap_token;
mod request_header;
mod secret_token;
mod token_cache;
mod token_issuer;
mod token_uses;
mod token_webhook;

pub use authenticator::{Authenticator, Credential, Identity, IdentityOptions};
pub use secret_token::LAST_USED;
pub use token_issuer::{TokenIssuer, TokenKeys, TokenOptions};
pub use token_uses::{TokenUse, TokenUses};
pub use token_webhook::TokenWebhookOptions;
