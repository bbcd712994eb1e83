//! A server of a kubeconfig and the session with it: every request carries the user's credentials, which are read again when the
//! server refuses them.

use crate::{
    ConnectError, ConnectOptions, Transport,
    config::{Auth, Config, Credentials, REQUEST_TIMEOUT, SILENCE},
    connector, whole_body,
};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use parking_lot::Mutex;
use std::time::Duration;
use tenure_value::{Value, json};

const USER_AGENT: &str = concat!("tenure/", env!("CARGO_PKG_VERSION"));

/// A server, and the credentials for it.
pub struct Connection {
    server: String,
    config: Config,
    session: Mutex<Session>,
    timeout: Option<Duration>,
    on_silence: Option<fn(&str)>,
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
        Connection::of(options.config()?, options).await
    }

    /// Finds the server of the history, if it is another one.
    pub async fn open_history(options: &ConnectOptions) -> Result<Option<Connection>, ConnectError> {
        let Some(history) = &options.history else { return Ok(None) };
        Connection::of(options.history_config(history)?, options).await.map(Some)
    }

    async fn of(config: Config, options: &ConnectOptions) -> Result<Connection, ConnectError> {
        let session = Session::open(&config, &config.auth).await?;
        Ok(Connection {
            server: config.server.to_string().trim_end_matches('/').to_owned(),
            session: Mutex::new(session),
            timeout: options.request_timeout,
            on_silence: options.on_silence,
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
        let exchange = self.exchange_patiently(request);
        match self.timeout {
            Some(limit) => within(limit, exchange).await.map_err(|_| self.silent(limit))?,
            None => exchange.await,
        }
    }

    /// Sends a request and reads the whole response; a server that is silent for too long is given up.
    async fn exchange_patiently(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ConnectError> {
        let limit = self.timeout.unwrap_or(REQUEST_TIMEOUT);
        let head = async {
            let mut sending = std::pin::pin!(self.forward(request));
            if let Some(tell) = self.on_silence {
                match within(SILENCE, &mut sending).await {
                    Ok(response) => return response,
                    Err(_) => tell(&self.server),
                }
            }
            sending.await
        };
        let (parts, mut body) = within(limit, head).await.map_err(|_| self.silent(limit))??.into_parts();
        let mut bytes = Vec::new();
        while let Some(frame) = within(limit, body.frame()).await.map_err(|_| self.silent(limit))? {
            if let Ok(data) = frame.map_err(|error| self.unreachable(&error))?.into_data() {
                bytes.extend_from_slice(&data);
            }
        }
        Ok(Response::from_parts(parts, Bytes::from(bytes)))
    }

    fn silent(&self, limit: Duration) -> ConnectError {
        let seconds = limit.as_secs_f64();
        let problem =
            format!("no response within {seconds} seconds; --request-timeout sets how long to wait");
        ConnectError::Unreachable { server: self.server.clone(), problem }
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
        let request =
            |parts: &http::request::Parts| Request::from_parts(parts.clone(), whole_body(body.clone()));
        let first = match session.client.send(request(&parts)).await {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        // A server may close a connection that was idle just when it is used again. A fresh one is tried once, unless the
        // request could then be carried out twice.
        if first.is_connect() || parts.method == Method::POST {
            return Err(self.unreachable(&first));
        }
        let fresh = connector::client(&self.config, &session.credentials)?;
        let response = fresh.send(request(&parts)).await.map_err(|error| self.unreachable(&error))?;
        let mut current = self.session.lock();
        if current.credentials == session.credentials {
            current.client = fresh;
        }
        drop(current);
        Ok(response)
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
    pub fn unreachable(&self, error: &(dyn std::error::Error + 'static)) -> ConnectError {
        ConnectError::Unreachable { server: self.server.clone(), problem: with_causes(error) }
    }
}

/// Waits for a future for a limited time.
async fn within<F: Future>(limit: Duration, future: F) -> Result<F::Output, tokio::time::error::Elapsed> {
    tokio::time::timeout(limit, future).await
}

/// Returns the first line of an error and of what caused it. That of the client itself says no more than that there is a cause.
fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let is_client = error.is::<hyper_util::client::legacy::Error>();
    let error = error.source().filter(|_| is_client).unwrap_or(error);
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
