//! The API server that commands speak to, Tenure or any other of Kubernetes, found as `kubectl` finds it. Everything
//! goes through [`Cluster::send`], so that objects stay the documents they are and nothing a server adds is lost.

mod discovery;
mod openapi;
mod reply;
mod resource;
mod targets;

pub use reply::{Refusal, Reply};
pub use resource::{Resource, escaped};
pub use targets::{Found, Targets};

use crate::{Error, live::LiveObject};
use clap::Args;
use discovery::Discovery;
use http::{Method, Request};
use http_body_util::BodyExt;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use std::{path::PathBuf, time::Duration};
use tenure_value::{Limits, Value, json};

/// How many requests are on their way at once.
pub const REQUESTS_AT_ONCE: usize = 16;

/// How long to wait for a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an answer may hold; a list of many objects is large.
const LIMITS: Limits = Limits { bytes: 1 << 30, depth: Limits::DEPTH, nodes: 200_000_000 };

/// The flags that say which server to speak to, as those of `kubectl`.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server")]
pub struct Connection {
    /// The kubeconfig to read; $KUBECONFIG, else ~/.kube/config, where nothing is said.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The cluster of the kubeconfig to use.
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// The user of the kubeconfig to be.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The address of the server, in the place of the kubeconfig's.
    #[arg(short = 's', long, value_name = "URL")]
    server: Option<String>,
    /// The namespace of objects that name none.
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
}

impl Connection {
    /// Returns the namespace that was named on the command line.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Connects to the server and runs what speaks to it.
    pub fn run<T>(&self, work: impl AsyncFnOnce(Cluster) -> Result<T, Error>) -> Result<T, Error> {
        // One thread is enough: the work is waiting, and what is computed in between is small.
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        runtime.block_on(async { work(self.open().await?).await })
    }

    async fn open(&self) -> Result<Cluster, Error> {
        let mut config = self.config().await.map_err(|problem| Error::NoConnection { problem })?;
        config.connect_timeout = Some(PATIENCE);
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let namespace = self.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let client =
            Client::try_from(config).map_err(|error| Error::NoConnection { problem: error.to_string() })?;
        Ok(Cluster {
            client,
            server,
            namespace,
            discovery: Discovery::default(),
            schemas: Default::default(),
        })
    }

    async fn config(&self) -> Result<Config, String> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
        };
        let chosen = self.context.is_some() || self.cluster.is_some() || self.user.is_some();
        let server = match &self.server {
            Some(server) => {
                Some(server.parse::<http::Uri>().map_err(|error| format!("--server {server}: {error}"))?)
            }
            None => None,
        };
        let found = match &self.kubeconfig {
            Some(file) => {
                let read = Kubeconfig::read_from(file).map_err(|error| error.to_string())?;
                Config::from_custom_kubeconfig(read, &options).await.map_err(|error| error.to_string())
            }
            None if chosen => Config::from_kubeconfig(&options).await.map_err(|error| error.to_string()),
            None => Config::infer().await.map_err(|error| error.to_string()),
        };
        match (found, server) {
            (Ok(config), None) => Ok(config),
            (Ok(mut config), Some(server)) => {
                config.cluster_url = server;
                Ok(config)
            }
            // An address alone is enough to speak to a server that lets everyone in.
            (Err(_), Some(server)) if self.kubeconfig.is_none() && !chosen => Ok(Config::new(server)),
            (Err(problem), _) => Err(problem),
        }
    }
}

/// An API server.
pub struct Cluster {
    client: Client,
    server: String,
    /// The namespace of objects that name none.
    pub namespace: String,
    discovery: Discovery,
    schemas: openapi::Schemas,
}

/// The content types of bodies.
pub const APPLY: &str = "application/apply-patch+yaml";
/// A JSON patch.
pub const JSON_PATCH: &str = "application/json-patch+json";

impl Cluster {
    /// Sends a request and returns the answer, whatever its code.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        accept: &str,
        body: Option<(&str, Vec<u8>)>,
    ) -> Result<Reply, Error> {
        let unreachable =
            |problem: String| Error::Unreachable { server: self.server.clone(), problem: sentence(&problem) };
        let mut request = Request::builder().method(method).uri(path).header(http::header::ACCEPT, accept);
        let body = match body {
            Some((kind, bytes)) => {
                request = request.header(http::header::CONTENT_TYPE, kind);
                bytes
            }
            None => Vec::new(),
        };
        let request = request.body(Body::from(body)).map_err(|error| unreachable(error.to_string()))?;
        let response = self.client.send(request).await.map_err(|error| unreachable(chain(&error)))?;
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.map_err(|error| unreachable(chain(&error)))?.to_bytes();
        let value = match json::parse(&bytes, &LIMITS) {
            Ok(value) => value,
            Err(_) => Value::from(String::from_utf8_lossy(&bytes).into_owned()),
        };
        let warnings = parts.headers.get_all(http::header::WARNING).iter();
        let warnings = warnings.filter_map(|header| header.to_str().ok()).map(reply::warning).collect();
        Ok(Reply { code: parts.status.as_u16(), value, warnings })
    }

    /// Reads a path, which must be there.
    pub async fn get(&self, path: &str) -> Result<Value, Error> {
        self.send(Method::GET, path, "application/json", None).await?.accepted("read", path)
    }

    /// Reads an object, if it is there.
    pub async fn find(&self, path: &str) -> Result<Option<Value>, Error> {
        let reply = self.send(Method::GET, path, "application/json", None).await?;
        if reply.code == 404 { Ok(None) } else { reply.accepted("read", path).map(Some) }
    }

    /// Reads an object and splits it into what it says and who holds it, if it is there.
    pub async fn find_live(&self, path: &str) -> Result<Option<LiveObject>, Error> {
        let shown = self.find(path).await?;
        shown.map(|shown| LiveObject::read(&shown).map_err(|error| Error::strange(&path, error))).transpose()
    }

    /// Sends a patch and returns the answer, whatever its code.
    pub async fn patch(&self, path: &str, kind: &str, body: &Value) -> Result<Reply, Error> {
        self.send(Method::PATCH, path, "application/json", Some((kind, json::to_vec(body)))).await
    }
}

/// Returns an error with what caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Returns the first line, without the full stop.
fn sentence(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}
