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

/// What a watch that begins with a list shows, up to the end of the list.
#[derive(Clone, Debug)]
pub enum Initial {
    /// An object of the list.
    Listed(Value),
    /// The list has ended; it is of this resourceVersion, from which on the watch shows changes.
    Ended(String),
    /// A change after the list, before its end was told.
    Event(Event),
}

/// The annotation of the bookmark that ends a streamed list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

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

    /// Watches for so many seconds at most, beginning with all objects ([`Watch::next_initial`]): a streamed list, which a server need not
    /// collect before it sends the first object. Servers without it refuse, or ignore that the list is asked for.
    pub async fn watch_list(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selection: &Selection,
        seconds: u64,
    ) -> Result<Watch, ClientError> {
        let initial =
            format!("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds={seconds}");
        self.begin_watch(resource, namespace, selection, "", &initial).await
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
        while let Some(line) = self.line().await? {
            if let Some(event) = self.event(&self.parsed(&line)?) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// Returns what comes next of the list that the watch begins with; `None` when the server ends the watch.
    pub async fn next_initial(&mut self) -> Result<Option<Initial>, ClientError> {
        while let Some(line) = self.line().await? {
            let parsed = self.parsed(&line)?;
            let is_added = parsed.get("type").and_then(Value::as_str) == Some("ADDED");
            let end = parsed.at(["object", "metadata", "annotations", INITIAL_EVENTS_END]);
            let is_end = end.and_then(Value::as_str) == Some("true");
            match self.event(&parsed) {
                Some(Event::Changed(object)) if is_added => return Ok(Some(Initial::Listed(object))),
                Some(Event::Bookmark(version)) if is_end => return Ok(Some(Initial::Ended(version))),
                Some(event) => return Ok(Some(Initial::Event(event))),
                None => {}
            }
        }
        Ok(None)
    }

    /// Returns the next line; `None` when the server ends the watch.
    async fn line(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.rest[searched..].iter().position(|byte| *byte == b'\n') {
                return Ok(Some(self.rest.drain(..=searched + end).collect()));
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

    fn parsed(&self, line: &[u8]) -> Result<Value, ClientError> {
        let limits = Limits { bytes: EVENT_BYTES, ..Limits::default() };
        let event = json::parse(line, &limits).map_err(|error| self.broken(error.to_string()))?;
        managed_fields::expanded(event).map_err(|error| self.broken(error.to_string()))
    }

    fn event(&self, event: &Value) -> Option<Event> {
        let object = event.get("object").cloned().unwrap_or_default();
        let typed = |object: Value| {
            let object: Object = object.as_object().cloned().unwrap_or_default();
            let object = object.with("apiVersion", self.resource.api_version());
            Value::Object(object.with("kind", self.resource.kind.as_str()))
        };
        Some(match event.get("type").and_then(Value::as_str) {
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
            _ => return None,
        })
    }

    fn broken(&self, problem: String) -> ClientError {
        ClientError::unreachable(&self.server, problem)
    }
}
