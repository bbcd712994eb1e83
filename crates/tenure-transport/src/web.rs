//! A client for documents of servers that are not API servers, such as the discovery document of an OpenID Connect issuer:
//! HTTPS only, with the proxies of the environment, redirects, and a limit on time and size.

use crate::{
    config::{Config, Credentials},
    connector,
    tls::TlsOptions,
    whole_body,
};
use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::{BodyExt, Limited};
use std::{error::Error as StdError, time::Duration};

/// How long a request may take, with its redirects.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// How many redirects are followed.
const MOST_REDIRECTS: usize = 10;
/// The longest document that is read.
const MOST_BYTES: usize = 1024 * 1024;

/// A client for documents of servers that are not API servers.
#[derive(Clone, Debug, Default)]
pub struct WebClient {
    /// The authorities to trust, as PEM; if `None`, those of the system.
    authority: Option<Vec<u8>>,
    documents: Documents,
}

/// Which documents are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Documents {
    /// Small ones, over HTTPS only.
    #[default]
    Trusted,
    /// Manifests, which are large and may come over HTTP.
    Manifests,
}

impl Documents {
    fn most_bytes(self) -> usize {
        match self {
            Documents::Trusted => MOST_BYTES,
            Documents::Manifests => 64 * MOST_BYTES,
        }
    }
}

/// A document, or what a server sent in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebResponse {
    /// The HTTP status code.
    pub code: u16,
    /// The body.
    pub body: Bytes,
}

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Get {url:?}: {problem}")]
pub struct WebError {
    /// The address.
    pub url: String,
    /// What went wrong.
    pub problem: String,
}

impl WebClient {
    /// Returns a client that trusts these authorities, as PEM, or those of the system.
    pub fn new(authority: Option<&str>) -> Result<WebClient, String> {
        let authority = authority.map(|pem| pem.as_bytes().to_vec());
        let client = WebClient { authority, documents: Documents::Trusted };
        client.tls().config(None).map_err(|error| match error {
            crate::ConnectError::Config { problem } => problem,
            other => other.to_string(),
        })?;
        Ok(client)
    }

    /// Returns a client for manifests, which may be large and come from http addresses, as `kubectl apply -f URL` takes them.
    pub fn for_manifests() -> WebClient {
        WebClient { authority: None, documents: Documents::Manifests }
    }

    /// Returns what is at an address. `bearer` is sent to the server of that address alone.
    pub async fn get(&self, url: &str, bearer: Option<&str>) -> Result<WebResponse, WebError> {
        let failed = |problem: String| WebError { url: url.into(), problem };
        match tokio::time::timeout(TIME_LIMIT, self.follow(url, bearer)).await {
            Ok(response) => response.map_err(failed),
            Err(_) => Err(failed(format!("no response within {} s", TIME_LIMIT.as_secs()))),
        }
    }

    async fn follow(&self, url: &str, mut bearer: Option<&str>) -> Result<WebResponse, String> {
        let mut url: Uri = url.parse().map_err(|error| format!("not an address: {error}"))?;
        for _ in 0..=MOST_REDIRECTS {
            let (response, next) = self.get_once(&url, bearer).await?;
            let Some(next) = next else { return Ok(response) };
            if next.authority() != url.authority() {
                bearer = None;
            }
            url = next;
        }
        Err(format!("stopped after {MOST_REDIRECTS} redirects"))
    }

    /// Returns a response and, if it is a redirect, where it leads.
    async fn get_once(&self, url: &Uri, bearer: Option<&str>) -> Result<(WebResponse, Option<Uri>), String> {
        match (url.scheme_str(), self.documents) {
            (Some("https"), _) | (Some("http"), Documents::Manifests) => {}
            _ => return Err(format!("{url} is not an https address")),
        }
        let config = Config { tls: self.tls(), ..Config::new(url.clone()) };
        let client =
            connector::client(&config, &Credentials::default()).map_err(|error| error.to_string())?;
        let accept = match self.documents {
            Documents::Trusted => "application/json",
            Documents::Manifests => "*/*",
        };
        let mut request =
            Request::get(url).header(header::ACCEPT, accept).header(header::USER_AGENT, "tenure");
        if let Some(bearer) = bearer {
            request = request.header(header::AUTHORIZATION, format!("Bearer {bearer}"));
        }
        let request = request.body(whole_body(Bytes::new())).map_err(|error| error.to_string())?;
        let response = client.send(request).await.map_err(|error| innermost(&error))?;
        let code = response.status();
        let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
        let next = match location.filter(|_| code.is_redirection()) {
            Some(location) => Some(resolve(url, location)?),
            None => None,
        };
        let body = Limited::new(response.into_body(), self.documents.most_bytes()).collect().await;
        let body = body.map_err(|error| format!("reading the response: {error}"))?.to_bytes();
        Ok((WebResponse { code: code.as_u16(), body }, next))
    }

    fn tls(&self) -> TlsOptions {
        TlsOptions { authority: self.authority.clone(), ..TlsOptions::default() }
    }
}

/// Returns the address that a redirect leads to.
fn resolve(from: &Uri, location: &str) -> Result<Uri, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("redirect to {location:?}: {error}");
    let target: Uri = location.parse().map_err(|error: http::uri::InvalidUri| wrong(&error))?;
    if target.authority().is_some() {
        return Ok(target);
    }
    let mut parts = from.clone().into_parts();
    parts.path_and_query = target.into_parts().path_and_query;
    Uri::from_parts(parts).map_err(|error| wrong(&error))
}

/// Returns the error that caused another one.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current.to_string()
}
