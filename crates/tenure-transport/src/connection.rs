//! A server of a kubeconfig and the session with it: every request carries the user's credentials, which are read again when the
//! server refuses them.

use crate::{
    ConnectError, ConnectOptions, Transport,
    config::{Auth, Config, Credentials},
    connector, whole_body,
};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use parking_lot::Mutex;
use std::time::Duration;
use tenure_value::{Value, json};

/// How long a request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(300);

const USER_AGENT: &str = concat!("tenure/", env!("CARGO_PKG_VERSION"));

/// A server, and the credentials for it.
pub struct Connection {
    server: String,
    config: Config,
    session: Mutex<Session>,
}

/// A client and the credentials that it uses.
#[derive(Clone)]
struct Session {
    client: Transport,
    credentials: Credentials,
}

impl Session {
    async fn open(config: &Config, auth: &Auth) -> Result<Session, ConnectError> {
        let credentials = auth.credentials().await?;
        Ok(Session { client: connector::client(config, &credentials)?, credentials })
    }
}

impl Connection {
    /// Finds the server and reads the credentials. Nothing is sent yet.
    pub async fn open(options: &ConnectOptions) -> Result<Connection, ConnectError> {
        let config = options.config()?;
        let session = Session::open(&config, &config.auth).await?;
        Ok(Connection {
            server: config.server.to_string().trim_end_matches('/').to_owned(),
            session: Mutex::new(session),
            config,
        })
    }

    /// Returns the address of the server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the namespace of objects without one.
    pub fn namespace(&self) -> &str {
        &self.config.namespace
    }

    /// Sends a request and returns the whole response, with any code.
    pub async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ConnectError> {
        let exchange = async {
            let (parts, body) = self.forward(request).await?.into_parts();
            let bytes = body.collect().await.map_err(|error| self.unreachable(&error))?.to_bytes();
            Ok(Response::from_parts(parts, bytes))
        };
        let timeout = |_| ConnectError::Unreachable {
            server: self.server.clone(),
            problem: format!("no response within {} seconds", REQUEST_TIMEOUT.as_secs()),
        };
        tokio::time::timeout(REQUEST_TIMEOUT, exchange).await.map_err(timeout)?
    }

    /// Posts a document to the address of the server itself, as to a webhook, and returns the response with any code.
    pub async fn post(&self, document: &Value, accept: &str) -> Result<Response<Bytes>, ConnectError> {
        let request = Request::builder()
            .method(Method::POST)
            .uri("/")
            .header(header::ACCEPT, accept)
            .header(header::CONTENT_TYPE, "application/json");
        let request =
            request.body(json::to_vec(document).into()).map_err(|error| self.unreachable(&error))?;
        self.exchange(request).await
    }

    /// Sends a request with the user's credentials and returns the response with its body still to be read, as a proxy
    /// needs it. The request names a path of the server. Credentials that were refused are read again, once.
    pub async fn forward(&self, request: Request<Bytes>) -> Result<Response<Incoming>, ConnectError> {
        let session = self.session.lock().clone();
        let response = self.forward_as(&session, request.clone()).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let renewed = Session::open(&self.config, &self.config.auth).await?;
        if renewed.credentials == session.credentials {
            return Ok(response);
        }
        *self.session.lock() = renewed.clone();
        self.forward_as(&renewed, request).await
    }

    async fn forward_as(
        &self,
        session: &Session,
        request: Request<Bytes>,
    ) -> Result<Response<Incoming>, ConnectError> {
        let (mut parts, body) = request.into_parts();
        parts.uri = self.absolute(&parts.uri)?;
        parts.headers.entry(header::USER_AGENT).or_insert(header::HeaderValue::from_static(USER_AGENT));
        for (name, value) in &session.credentials.headers {
            parts.headers.append(name, value.clone());
        }
        let request = Request::from_parts(parts, whole_body(body));
        session.client.send(request).await.map_err(|error| self.unreachable(&error))
    }

    /// Returns the address of a path, which is below the path of the server's address.
    fn absolute(&self, path: &Uri) -> Result<Uri, ConnectError> {
        let server = &self.config.server;
        let prefix = server.path().trim_end_matches('/');
        let path = path.path_and_query().map_or("/", |path| path.as_str());
        let port = match (server.port_u16(), server.scheme_str()) {
            (Some(port), _) => port,
            (None, Some("http")) => 80,
            (None, _) => 443,
        };
        Uri::builder()
            .scheme(server.scheme_str().unwrap_or("https"))
            .authority(format!("{}:{port}", server.host().unwrap_or_default()))
            .path_and_query(match (prefix, path) {
                // The root is the address of the server itself, which may be that of a webhook.
                (prefix, "/") if !prefix.is_empty() => prefix.to_owned(),
                _ => format!("{prefix}{path}"),
            })
            .build()
            .map_err(|error| self.unreachable(&error))
    }

    /// Returns the error of a request that could not be sent or answered.
    pub fn unreachable(&self, error: &dyn std::error::Error) -> ConnectError {
        ConnectError::Unreachable { server: self.server.clone(), problem: with_causes(error) }
    }
}

/// Returns the first line of an error and of what caused it.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text.lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}
