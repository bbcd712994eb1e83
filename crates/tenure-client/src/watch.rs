//! Watches: the changes of objects as they happen, from a resourceVersion on.

use crate::{ClientError, Cluster, Resource, Selection, managed_fields};
use bytes::Bytes;
use http::{Request, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tenure_ownership::Refusal;
use tenure_transport::escaped;
use tenure_value::{Limits, Object, Value, json};

/// The most bytes of one event.
const EVENT_BYTES: usize = 64 << 20;

/// A change of an object.
#[derive(Clone, Debug)]
pub enum Event {
    /// The object was created or changed.
    Changed(Value),
    /// The object was deleted; this is its last state.
    Deleted(Value),
    /// Nothing changed up to this resourceVersion.
    Bookmark(String),
    /// The watch cannot continue; 410 means that the list must be read again.
    Failed(Refusal),
}

/// A running watch.
pub struct Watch {
    body: Incoming,
    rest: Vec<u8>,
    resource: Resource,
    server: String,
}

impl Cluster {
    /// Watches the selected objects of a kind, in a namespace or in all, from a resourceVersion on.
    pub async fn watch(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selection: &Selection,
        resource_version: &str,
    ) -> Result<Watch, ClientError> {
        self.begin_watch(resource, namespace, selection, resource_version, "").await
    }

    /// Watches for so many seconds at most.
    pub async fn watch_for(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selection: &Selection,
        resource_version: &str,
        seconds: u64,
    ) -> Result<Watch, ClientError> {
        let limit = format!("&timeoutSeconds={seconds}");
        self.begin_watch(resource, namespace, selection, resource_version, &limit).await
    }

    async fn begin_watch(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selection: &Selection,
        resource_version: &str,
        limit: &str,
    ) -> Result<Watch, ClientError> {
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&resourceVersion={}{limit}{}",
            resource.collection(namespace),
            escaped(resource_version),
            selection.query()
        );
        let unreachable = |problem: String| ClientError::unreachable(self.server(), problem);
        let request =
            Request::get(&path).header(header::ACCEPT, managed_fields::accepted()).body(Bytes::new());
        let request = request.map_err(|error| unreachable(error.to_string()))?;
        let response = self.forward(request).await?;
        let code = response.status().as_u16();
        if !response.status().is_success() {
            let body = response.into_body().collect().await;
            let body = body.map_err(|error| unreachable(error.to_string()))?.to_bytes();
            let value = json::parse(&body, &Limits::default()).unwrap_or_default();
            return Err(crate::Response { code, value, warnings: Vec::new() }.error("watch", &path));
        }
        let (body, rest) = (response.into_body(), Vec::new());
        Ok(Watch { body, rest, resource: resource.clone(), server: self.server().to_owned() })
    }
}

impl Watch {
    /// Returns the next event; `None` when the server ends the watch.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.rest[searched..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=searched + end).collect();
                searched = 0;
                match self.event(&line)? {
                    Some(event) => return Ok(Some(event)),
                    None => continue,
                }
            }
            searched = self.rest.len();
            if searched > EVENT_BYTES {
                return Err(self.broken(format!("an event is larger than {EVENT_BYTES} bytes")));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(self.broken(error.to_string())),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.rest.extend_from_slice(&data);
                    }
                }
            }
        }
    }

    fn event(&self, line: &[u8]) -> Result<Option<Event>, ClientError> {
        let limits = Limits { bytes: EVENT_BYTES, ..Limits::default() };
        let event = json::parse(line, &limits).map_err(|error| self.broken(error.to_string()))?;
        let event = managed_fields::expanded(event).map_err(|error| self.broken(error.to_string()))?;
        let object = event.get("object").cloned().unwrap_or_default();
        let typed = |object: Value| {
            let object: Object = object.as_object().cloned().unwrap_or_default();
            let object = object.with("apiVersion", self.resource.api_version());
            Value::Object(object.with("kind", self.resource.kind.as_str()))
        };
        Ok(Some(match event.get("type").and_then(Value::as_str) {
            Some("ADDED" | "MODIFIED") => Event::Changed(typed(object)),
            Some("DELETED") => Event::Deleted(typed(object)),
            Some("BOOKMARK") => {
                let version = object.at(["metadata", "resourceVersion"]).and_then(Value::as_str);
                Event::Bookmark(version.unwrap_or_default().to_owned())
            }
            Some("ERROR") => {
                let code = object.get("code").and_then(Value::as_i64).unwrap_or(500);
                Event::Failed(Refusal::read(u16::try_from(code).unwrap_or(500), &object))
            }
            _ => return Ok(None),
        }))
    }

    fn broken(&self, problem: String) -> ClientError {
        ClientError::unreachable(&self.server, problem)
    }
}
