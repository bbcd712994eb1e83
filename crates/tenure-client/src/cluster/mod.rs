//! The API server: Tenure or any other that speaks the Kubernetes API. Every request goes through [`Cluster::send`].

mod discovery;
mod openapi;
mod profile;

use crate::{ClientError, Response, managed_fields, response};
use bytes::Bytes;
use discovery::Discovery;
use http::{Method, Request, header};
use hyper::body::Incoming;
use openapi::Schemas;
use profile::KnownProfile;
use tenure_ownership::LiveObject;
use tenure_transport::{ConnectOptions, Connection};
use tenure_value::{Limits, Value, json};

/// How many requests are sent at once.
pub const REQUESTS_AT_ONCE: usize = 16;

/// The content type of a server-side apply.
pub const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// The media type of objects.
const JSON: &str = "application/json";

/// The content type of a JSON patch.
pub const JSON_PATCH: &str = "application/json-patch+json";

/// The limits of a response; a list of many objects is large.
const LIMITS: Limits = Limits { bytes: 1 << 30, depth: Limits::DEPTH, nodes: 200_000_000 };

/// An API server.
pub struct Cluster {
    connection: Connection,
    /// The server of the history, if it is another one.
    history: Option<Connection>,
    /// The namespace of objects without one.
    pub namespace: String,
    discovery: Discovery,
    schemas: Schemas,
    profile: KnownProfile,
}

impl Cluster {
    /// Finds the server and reads the credentials. Nothing is sent yet.
    pub async fn connect(options: &ConnectOptions) -> Result<Cluster, ClientError> {
        let connection = Connection::open(options).await?;
        let namespace = connection.namespace().to_owned();
        let history = Connection::open_history(options).await?;
        let (discovery, schemas) = (Discovery::default(), Schemas::default());
        let profile = KnownProfile::default();
        Ok(Cluster { connection, history, namespace, discovery, schemas, profile })
    }

    /// Returns the address of the server.
    pub fn server(&self) -> &str {
        self.connection.server()
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
        self.send_to(&self.connection, method, path, accept, body).await
    }

    /// Reads a path of the history, from the server that has it, and returns the response with any code.
    pub async fn history(&self, path: &str) -> Result<Response, ClientError> {
        let server = self.history.as_ref().unwrap_or(&self.connection);
        let response = self.send_to(server, Method::GET, path, JSON, None).await?;
        // A Tenure server whose history is off shows objects without changes.
        let items = response.value.get("items").and_then(Value::as_array);
        if [404, 410].contains(&response.code) || items.is_some_and(|items| items.is_empty()) {
            self.expect_history(server).await?;
        }
        Ok(response)
    }

    /// Fails if a server keeps no history, as most do not.
    async fn expect_history(&self, server: &Connection) -> Result<(), ClientError> {
        let known = self.send_to(server, Method::GET, "/history/writers?limit=1", JSON, None).await?;
        match known.code {
            404 => Err(ClientError::NoHistory { server: server.server().to_owned() }),
            _ => Ok(()),
        }
    }

    async fn send_to(
        &self,
        server: &Connection,
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
        let request = request.body(body).map_err(|error| server.unreachable(&error))?;
        let (parts, bytes) = server.exchange(request).await?.into_parts();
        let value = match json::parse(&bytes, &LIMITS) {
            Ok(value) => managed_fields::expanded(value)
                .map_err(|error| ClientError::invalid(&self.server(), error))?,
            Err(_) => Value::from(String::from_utf8_lossy(&bytes).into_owned()),
        };
        let warnings = parts.headers.get_all(header::WARNING).iter();
        let warnings = warnings.filter_map(|header| header.to_str().ok()).map(response::warning).collect();
        Ok(Response { code: parts.status.as_u16(), value, warnings })
    }

    /// Sends a request with the user's credentials and returns the response with its body still to be read, as a proxy
    /// needs it. The request names a path of the server.
    pub async fn forward(&self, request: Request<Bytes>) -> Result<http::Response<Incoming>, ClientError> {
        Ok(self.connection.forward(request).await?)
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

    /// Sends a patch and returns the response with any code.
    pub async fn patch(&self, path: &str, content_type: &str, body: &Value) -> Result<Response, ClientError> {
        self.send(Method::PATCH, path, "application/json", Some((content_type, json::to_vec(body)))).await
    }
}
