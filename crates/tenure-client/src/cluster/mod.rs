//! The API server: Tenure or any other that speaks the Kubernetes API. Every request goes through [`Cluster::send`].

mod discovery;
mod openapi;

use crate::{
    ClientError, ConnectOptions, Response,
    config::{Auth, Config, Credentials},
    connector, managed_fields, response,
};
use bytes::Bytes;
use discovery::Discovery;
use http::{Method, Request, StatusCode, Uri, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use openapi::Schemas;
use parking_lot::Mutex;
use std::time::Duration;
use tenure_ownership::LiveObject;
use tenure_transport::{Transport, whole_body};
use tenure_value::{Limits, Value, json};

/// How many requests are sent at once.
pub const REQUESTS_AT_ONCE: usize = 16;

/// The content type of a server-side apply.
pub const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// The media type of objects.
const JSON: &str = "application/json";

/// The content type of a JSON patch.
pub const JSON_PATCH: &str = "application/json-patch+json";

/// How long a request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(300);

/// The limits of a response; a list of many objects is large.
const LIMITS: Limits = Limits { bytes: 1 << 30, depth: Limits::DEPTH, nodes: 200_000_000 };

/// An API server.
pub struct Cluster {
    server: String,
    /// The namespace of objects without one.
    pub namespace: String,
    config: Config,
    session: Mutex<Session>,
    discovery: Discovery,
    schemas: Schemas,
}

/// A client and the credentials that it uses.
#[derive(Clone)]
struct Session {
    client: Transport,
    credentials: Credentials,
}

impl Session {
    async fn open(config: &Config, auth: &Auth) -> Result<Session, ClientError> {
        let credentials = auth.credentials().await?;
        Ok(Session { client: connector::client(config, &credentials)?, credentials })
    }
}

impl Cluster {
    /// Finds the server and reads the credentials. Nothing is sent yet.
    pub async fn connect(options: &ConnectOptions) -> Result<Cluster, ClientError> {
        let config = options.config()?;
        let session = Session::open(&config, &config.auth).await?;
        Ok(Cluster {
            server: config.server.to_string().trim_end_matches('/').to_owned(),
            namespace: config.namespace.clone(),
            session: Mutex::new(session),
            config,
            discovery: Discovery::default(),
            schemas: Schemas::default(),
        })
    }

    /// Returns the address of the server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Sends a request and returns the response with any code. Managed fields come in their compact form where the server has it, and
    /// are returned as `FieldsV1`.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<Response, ClientError> {
        let accept = if accept == JSON { managed_fields::accepted() } else { accept };
        let mut request = Request::builder().method(method).uri(path).header(header::ACCEPT, accept);
        let body = match body {
            Some((content_type, bytes)) => {
                request = request.header(header::CONTENT_TYPE, content_type);
                Bytes::from(bytes)
            }
            None => Bytes::new(),
        };
        let request = request.body(body).map_err(|error| self.unreachable(&error))?;
        let exchange = async {
            let (parts, body) = self.forward(request).await?.into_parts();
            let bytes = body.collect().await.map_err(|error| self.unreachable(&error))?.to_bytes();
            Ok::<_, ClientError>((parts, bytes))
        };
        let timeout = |_| ClientError::Unreachable {
            server: self.server.clone(),
            problem: format!("no response within {} seconds", REQUEST_TIMEOUT.as_secs()),
        };
        let (parts, bytes) = tokio::time::timeout(REQUEST_TIMEOUT, exchange).await.map_err(timeout)??;
        let value = match json::parse(&bytes, &LIMITS) {
            Ok(value) => {
                managed_fields::expanded(value).map_err(|error| ClientError::invalid(&self.server, error))?
            }
            Err(_) => Value::from(String::from_utf8_lossy(&bytes).into_owned()),
        };
        let warnings = parts.headers.get_all(header::WARNING).iter();
        let warnings = warnings.filter_map(|header| header.to_str().ok()).map(response::warning).collect();
        Ok(Response { code: parts.status.as_u16(), value, warnings })
    }

    /// Sends a request with the user's credentials and returns the response with its body still to be read, as a proxy
    /// needs it. The request names a path of the server. Credentials that were refused are read again, once.
    pub async fn forward(&self, request: Request<Bytes>) -> Result<http::Response<Incoming>, ClientError> {
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
    ) -> Result<http::Response<Incoming>, ClientError> {
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
    fn absolute(&self, path: &Uri) -> Result<Uri, ClientError> {
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

    fn unreachable(&self, error: &dyn std::error::Error) -> ClientError {
        ClientError::Unreachable { server: self.server.clone(), problem: with_causes(error) }
    }

    /// Posts a document to a path.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Response, ClientError> {
        let body = ("application/json", json::to_vec(body));
        self.send(Method::POST, path, "application/json", Some(body)).await
    }

    /// Reads a path that must exist.
    pub async fn get(&self, path: &str) -> Result<Value, ClientError> {
        self.send(Method::GET, path, "application/json", None).await?.success("read", path)
    }

    /// Reads a path; `None` if it does not exist.
    pub async fn find(&self, path: &str) -> Result<Option<Value>, ClientError> {
        let response = self.send(Method::GET, path, "application/json", None).await?;
        if response.code == 404 { Ok(None) } else { response.success("read", path).map(Some) }
    }

    /// Reads an object and its managers; `None` if it does not exist.
    pub async fn find_live(&self, path: &str) -> Result<Option<LiveObject>, ClientError> {
        let shown = self.find(path).await?;
        shown
            .map(|shown| LiveObject::read(&shown).map_err(|error| ClientError::invalid(&path, error)))
            .transpose()
    }

    /// Sends a patch and returns the responsewith any code.
    pub async fn patch(&self, path: &str, content_type: &str, body: &Value) -> Result<Response, ClientError> {
        self.send(Method::PATCH, path, "application/json", Some((content_type, json::to_vec(body)))).await
    }
}

const USER_AGENT: &str = concat!("tenure/", env!("CARGO_PKG_VERSION"));

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
