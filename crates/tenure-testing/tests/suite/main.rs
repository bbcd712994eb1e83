//! The promises of test servers.

mod assertions;
mod basics;
mod clients;
mod clock;
mod control;
mod faults;
mod forks;
mod properties;
mod seeds;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use serde_json::{Value, json};
use std::time::Duration;
use tenure_testing::{TestBody, TestServer};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// What a test returns: any error fails it, with its text.
type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Returns a config map of the namespace `default`.
fn map(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"k": value},
    })
}

/// Watches the config maps of the namespace `default`.
async fn watch(server: &TestServer, query: &str) -> TestBody {
    let request = Request::get(format!("{MAPS}?watch=1{query}"));
    let request = request.body(Empty::<Bytes>::new()).expect("a request");
    server.service().respond(request).await.into_body()
}

/// Returns the next events of a watch, or the error that broke it.
async fn next(body: &mut TestBody) -> Result<Vec<Value>, String> {
    let frame =
        tokio::time::timeout(Duration::from_secs(5), body.frame()).await.map_err(|_| "nothing came")?;
    let bytes = match frame {
        Some(Ok(frame)) => frame.into_data().map_err(|_| "no data")?,
        Some(Err(error)) => return Err(error.to_string()),
        None => return Err("the end".into()),
    };
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Ok(lines.map(|line| serde_json::from_slice(line).expect("an event")).collect())
}
