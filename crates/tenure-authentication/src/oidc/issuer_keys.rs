//! The keys of an issuer: fetched by its discovery document, kept, and fetched again when a token names a key that is not
//! among them.

use crate::oidc::{jwk::Jwk, token::Token};
use parking_lot::Mutex;
use std::sync::Arc;
use tenure_meta::ValueExt;
use tenure_transport::WebClient;
use tenure_value::{Limits, Text, Value, json};

const DISCOVERY: &str = "/.well-known/openid-configuration";
/// How many seconds after a fetch the next one may follow. Tokens with unknown keys cost an attacker nothing, so the pause is
/// doubled with each fetch that brings no other keys.
const FIRST_PAUSE: i64 = 1;
const LONGEST_PAUSE: i64 = 60;
/// How many seconds old keys may be before they are fetched again, so that a key that is withdrawn is forgotten.
const LONGEST_AGE: i64 = 60 * 60;
/// The most characters of an unsuccessful response that are quoted.
const QUOTED: usize = 200;

/// The keys of an issuer.
pub(crate) struct IssuerKeys {
    client: WebClient,
    /// Where the key set is.
    url: Text,
    state: Mutex<State>,
    /// Held while keys are fetched, so that requests at the same time share a fetch.
    fetching: tokio::sync::Mutex<()>,
}

struct State {
    keys: Arc<Vec<Jwk>>,
    /// How often keys were fetched.
    fetches: u64,
    /// When they were last fetched with success, in seconds since 1970, as are all times here.
    fetched: Option<i64>,
    /// When a fetch was last tried.
    tried: Option<i64>,
    pause: i64,
}

/// Whether less than some seconds have passed; not if the clock was set back.
fn is_within(seconds: i64, since: Option<i64>, now: i64) -> bool {
    since.is_some_and(|since| (since..since + seconds).contains(&now))
}

impl IssuerKeys {
    /// Reads the discovery document of an issuer. Keys are fetched when the first token comes.
    pub async fn discover(
        client: WebClient,
        issuer: &str,
        discovery_url: &str,
    ) -> Result<IssuerKeys, String> {
        let url = match discovery_url {
            "" => format!("{}{DISCOVERY}", issuer.trim_end_matches('/')),
            url => url.to_string(),
        };
        let document = get(&client, &url).await?;
        let named = document.text("issuer");
        if named != issuer {
            return Err(format!(
                "issuer did not match the issuer returned by provider, expected {issuer:?} got {named:?}"
            ));
        }
        let url = document.text("jwks_uri");
        if url.is_empty() {
            return Err("provider did not return JWKS URL".into());
        }
        let state =
            State { keys: Arc::default(), fetches: 0, fetched: None, tried: None, pause: FIRST_PAUSE };
        Ok(IssuerKeys { client, url, state: Mutex::new(state), fetching: tokio::sync::Mutex::default() })
    }

    /// Checks that the issuer has signed a token.
    pub async fn verify(&self, token: &Token<'_>, now: i64) -> Result<(), String> {
        let (keys, seen, is_fresh) = {
            let state = self.state.lock();
            (state.keys.clone(), state.fetches, is_within(LONGEST_AGE, state.fetched, now))
        };
        let is_verified = is_signed(&keys, token);
        if is_verified && is_fresh {
            return Ok(());
        }
        match self.refresh(seen, now).await {
            Ok(keys) if is_signed(&keys, token) => Ok(()),
            Ok(_) => Err("failed to verify signature: failed to verify id token signature".into()),
            // The issuer may be unavailable for a while; its earlier keys are still used.
            Err(_) if is_verified => Ok(()),
            Err(why) => Err(format!("failed to verify signature: fetching keys oidc: {why}")),
        }
    }

    /// Fetches the keys, unless others have done so since `seen` fetches or the pause is not over.
    async fn refresh(&self, seen: u64, now: i64) -> Result<Arc<Vec<Jwk>>, String> {
        let _fetching = self.fetching.lock().await;
        {
            let state = self.state.lock();
            let is_paused = is_within(state.pause, state.tried, now);
            if state.fetches != seen || is_paused {
                return Ok(state.keys.clone());
            }
        }
        let fetched = self.fetch().await;
        let mut state = self.state.lock();
        state.fetches += 1;
        let is_news = fetched.as_ref().is_ok_and(|keys| *keys != *state.keys);
        state.pause = if is_news { FIRST_PAUSE } else { (state.pause * 2).min(LONGEST_PAUSE) };
        state.tried = Some(now);
        let keys = Arc::new(fetched.inspect_err(
            |error| tracing::warn!(%error, url = %self.url, "cannot fetch the keys of an issuer"),
        )?);
        state.fetched = Some(now);
        state.keys = keys.clone();
        Ok(keys)
    }

    async fn fetch(&self) -> Result<Vec<Jwk>, String> {
        let set = get(&self.client, &self.url).await.map_err(|why| format!("get keys failed: {why}"))?;
        Jwk::read_set(&set).ok_or_else(|| format!("get keys failed: {} is not a JSON Web Key Set", self.url))
    }
}

/// Whether one of the keys has signed a token. Without a key id every key is tried.
fn is_signed(keys: &[Jwk], token: &Token<'_>) -> bool {
    let candidates = keys.iter().filter(|key| token.key_id.is_empty() || token.key_id == key.id);
    candidates.into_iter().any(|key| key.verifies(&token.algorithm, token.message, &token.signature))
}

async fn get(client: &WebClient, url: &str) -> Result<Value, String> {
    let response = client.get(url, None).await.map_err(|error| error.to_string())?;
    if response.code != 200 {
        let text: String = String::from_utf8_lossy(&response.body).chars().take(QUOTED).collect();
        return Err(format!("Get {url:?}: status {}: {}", response.code, text.trim()));
    }
    json::parse(&response.body, &Limits::default())
        .map_err(|error| format!("Get {url:?}: the response is not a JSON document: {error}"))
}
