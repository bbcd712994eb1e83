//! The flags of `tenure serve` about identity and permissions, by the names that kube-apiserver gives them.

use crate::{
    authorization::{AuthorizationFlags, AuthorizationMode, review_version},
    limits::duration,
    oidc::OidcFlags,
};
use clap::Args;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tenure_authentication::credentials::{KeyError, RequestHeaderNames, SigningKey, TokenFile, VerifyingKey};
use tenure_crd::duration_nanoseconds;
use tenure_server::{ClusterAuthentication, ServerOptions, TokenKeys, TokenWebhookOptions};
use tenure_transport::{Reloadable, Reloader, ReviewVersion, serving::ClientAuthorities};

/// How users are authenticated and authorized.
#[derive(Args, Clone)]
pub struct IdentityFlags {
    /// How requests are authorized.
    #[command(flatten)]
    pub authorization: AuthorizationFlags,
    /// Whether requests without credentials run as `system:anonymous` [default: true].
    #[arg(long, value_name = "BOOL", action = clap::ArgAction::Set)]
    pub anonymous_auth: Option<bool>,
    /// A file of static tokens: lines of TOKEN,USER,UID and, in quotes, groups.
    #[arg(long, value_name = "FILE")]
    pub token_auth_file: Option<PathBuf>,
    /// Whether the bootstrap tokens in secrets of kube-system are valid, with which machines join a cluster [default: false].
    #[arg(long, value_name = "BOOL", default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    pub enable_bootstrap_token_auth: Option<bool>,
    /// The kubeconfig of a webhook that knows further tokens: it names the server and the credentials.
    #[arg(long, value_name = "FILE")]
    pub authentication_token_webhook_config_file: Option<PathBuf>,
    /// The version of the reviews that the token webhook is sent: v1 or v1beta1 [default: v1beta1].
    #[arg(long, value_name = "VERSION", value_parser = review_version)]
    pub authentication_token_webhook_version: Option<ReviewVersion>,
    /// How long an answer of the token webhook counts [default: 2m].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub authentication_token_webhook_cache_ttl: Option<Duration>,
    /// The authorities of client certificates, in PEM. CN is the user, O the groups.
    #[arg(long, value_name = "FILE")]
    pub client_ca_file: Option<PathBuf>,
    /// The key that signs service account tokens, in PEM; by default the server makes one.
    #[arg(long, value_name = "FILE")]
    pub service_account_signing_key_file: Option<PathBuf>,
    /// Further keys that verify service account tokens, in PEM; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub service_account_key_file: Vec<PathBuf>,
    /// The issuer of service account tokens; may be repeated, the first one issues.
    #[arg(long, value_name = "URL")]
    pub service_account_issuer: Vec<String>,
    /// Where the keys of service account tokens are published, if not on this server.
    #[arg(long, value_name = "URL")]
    pub service_account_jwks_uri: Option<String>,
    /// The longest lifetime of service account tokens, such as 24h; longer ones that are asked for are shortened. 0 is no limit.
    #[arg(long, value_name = "DURATION", value_parser = token_expiration)]
    pub service_account_max_token_expiration: Option<i64>,
    /// The audiences of the API server; by default the issuer.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub api_audiences: Vec<String>,
    /// The authorities of front proxies, in PEM: clients with their certificates name the user of a request in its headers.
    #[arg(long, value_name = "FILE")]
    pub requestheader_client_ca_file: Option<PathBuf>,
    /// The common names that front proxies may have; by default any.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub requestheader_allowed_names: Vec<String>,
    /// The headers of the user name, such as `X-Remote-User`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub requestheader_username_headers: Vec<String>,
    /// The headers of the groups, such as `X-Remote-Group`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub requestheader_group_headers: Vec<String>,
    /// The beginnings of the headers of further attributes, such as `X-Remote-Extra-`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub requestheader_extra_headers_prefix: Vec<String>,
    /// The headers of the uid, such as `X-Remote-Uid`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub requestheader_uid_headers: Vec<String>,
    /// External issuers.
    #[command(flatten)]
    pub oidc: OidcFlags,
    /// How many bytes a static token must have: the command `serve` refuses tokens that can be guessed, kube-apiserver does not.
    #[arg(skip = LEAST_TOKEN_BYTES)]
    pub least_token_bytes: usize,
}

/// How many bytes a static token of `tenure serve` must have.
pub const LEAST_TOKEN_BYTES: usize = 16;

impl IdentityFlags {
    /// Reads the authorities of client certificates.
    pub fn client_authorities(&self) -> Result<Option<ClientAuthorities>, String> {
        let named = |path: &Path, error: String| format!("{}: {error}", path.display());
        match (&self.client_ca_file, &self.requestheader_client_ca_file) {
            (None, None) => Ok(None),
            (Some(path), None) => {
                ClientAuthorities::from_pem(&read(path)?).map(Some).map_err(|error| named(path, error))
            }
            (users, Some(path)) => {
                let users = users.as_deref().map(read).transpose()?;
                let names = &self.requestheader_allowed_names;
                ClientAuthorities::with_front_proxies(users.as_deref(), &read(path)?, names)
                    .map(Some)
                    .map_err(|error| named(path, error))
            }
        }
    }

    /// Returns the files of the authorities of client certificates.
    pub fn authority_files(&self) -> Vec<PathBuf> {
        self.client_ca_file.iter().chain(&self.requestheader_client_ca_file).cloned().collect()
    }

    /// Returns what extension API servers need to authenticate users as this server does, and has it read again when it changes.
    fn cluster_authentication(&self, reloader: &mut Reloader) -> Result<ClusterAuthentication, String> {
        let authentication = ClusterAuthentication {
            allowed_names: self.requestheader_allowed_names.clone(),
            headers: self.request_headers(),
            ..ClusterAuthentication::default()
        };
        for (path, text) in [
            (&self.client_ca_file, &authentication.client_ca),
            (&self.requestheader_client_ca_file, &authentication.request_header_ca),
        ] {
            let Some(path) = path else { continue };
            text.set(read(path)?);
            let (file, text) = (path.clone(), text.clone());
            reloader
                .add("published authorities", [path.clone()], move || read(&file).map(|read| text.set(read)));
        }
        Ok(authentication)
    }

    fn request_headers(&self) -> RequestHeaderNames {
        RequestHeaderNames {
            username: self.requestheader_username_headers.clone(),
            group: self.requestheader_group_headers.clone(),
            extra_prefix: self.requestheader_extra_headers_prefix.clone(),
            uid: self.requestheader_uid_headers.clone(),
        }
    }

    /// Sets the options of a server, and has files read again when they change.
    pub fn apply(&self, options: &mut ServerOptions, reloader: &mut Reloader) -> Result<(), String> {
        if let Some(authorization) = self.authorization.authorization()? {
            self.authorization.follow(&authorization, reloader);
            options.authorization = authorization;
        }
        let authentication = self.cluster_authentication(reloader)?;
        let identity = &mut options.identity;
        identity.token_uses = Some(authentication.token_uses.clone());
        options.aggregation.authentication = Some(authentication);
        identity.request_headers = self.request_headers();
        if let Some(path) = &self.token_auth_file {
            let least = self.least_token_bytes;
            let tokens = Reloadable::new(token_file(path, least)?);
            identity.token_file = Some(tokens.clone());
            let file = path.clone();
            reloader.add("token file", [path.clone()], move || {
                token_file(&file, least).map(|file| tokens.set(file))
            });
        }
        identity.bootstrap_tokens = self.enable_bootstrap_token_auth.unwrap_or(false);
        if let Some(path) = &self.authentication_token_webhook_config_file {
            let mut webhook = TokenWebhookOptions::new(path);
            webhook.version = self.authentication_token_webhook_version.unwrap_or(webhook.version);
            webhook.cache_ttl = self.authentication_token_webhook_cache_ttl.unwrap_or(webhook.cache_ttl);
            identity.token_webhook = Some(webhook);
        }
        let signing = self.service_account_signing_key_file.clone();
        let verifying = self.service_account_key_file.clone();
        if signing.is_some() || !verifying.is_empty() {
            let keys = identity.tokens.keys.clone();
            keys.set(token_keys(signing.as_deref(), &verifying)?);
            let files: Vec<PathBuf> = signing.iter().chain(&verifying).cloned().collect();
            reloader.add("service account keys", files, move || {
                token_keys(signing.as_deref(), &verifying).map(|read| keys.set(read))
            });
        }
        if !self.service_account_issuer.is_empty() {
            identity.tokens.issuers = self.service_account_issuer.clone();
        }
        identity.tokens.audiences = self.api_audiences.clone();
        identity.tokens.jwks_uri = self.service_account_jwks_uri.clone();
        identity.tokens.longest_seconds =
            self.service_account_max_token_expiration.filter(|seconds| *seconds > 0);
        self.oidc.apply(self.anonymous_auth, identity, reloader)?;
        // As in kube-apiserver: anonymous requests that may do everything would need no credentials at all.
        let allows_everything =
            self.authorization.authorization_mode.contains(&AuthorizationMode::AlwaysAllow);
        if allows_everything && identity.anonymous.enabled {
            tracing::warn!(
                "anonymous requests are refused, since --authorization-mode=AlwaysAllow would allow them everything"
            );
            identity.anonymous.enabled = false;
        }
        Ok(())
    }
}

/// Reads the longest lifetime of tokens, in seconds; 0 is no limit.
fn token_expiration(text: &str) -> Result<i64, String> {
    const SECOND: i64 = 1_000_000_000;
    match duration_nanoseconds(text) {
        Some(0) => Some(0),
        nanoseconds => nanoseconds
            .map(|nanoseconds| nanoseconds / SECOND)
            .filter(|seconds| (3600..=1 << 32).contains(seconds)),
    }
    .ok_or_else(|| "expected 0, or a duration between 1h and 2^32 seconds, such as 24h".into())
}

fn token_file(path: &Path, least: usize) -> Result<TokenFile, String> {
    let file = TokenFile::parse(&read(path)?).map_err(|error| format!("{}: {error}", path.display()))?;
    file.with_least_bytes(least).map_err(|error| format!("{}: {error}", path.display()))
}

fn token_keys(signing: Option<&Path>, verifying: &[PathBuf]) -> Result<TokenKeys, String> {
    let wrong = |path: &Path, error: KeyError| format!("{}: {error}", path.display());
    let mut keys = TokenKeys::default();
    if let Some(path) = signing {
        keys.signing =
            Some(Arc::new(SigningKey::from_pem(&read(path)?).map_err(|error| wrong(path, error))?));
    }
    for path in verifying {
        keys.verifying.extend(VerifyingKey::all_from_pem(&read(path)?).map_err(|error| wrong(path, error))?);
    }
    Ok(keys)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}
