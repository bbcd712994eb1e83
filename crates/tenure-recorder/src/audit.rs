//! Who made a change, from the audit events of the cluster: the user, the user agent and the source address are joined to changes by object
//! and resourceVersion. Events come from a webhook or a log (`audit_log`), before or after the change itself is seen.

use crate::{
    Archive, ObjectKey, RecorderError,
    endpoint::{has_token, is_same},
};
use http::{Method, StatusCode};
use std::{cell::LazyCell, collections::HashMap, sync::Arc};
use tenure_history::Verb;
use tenure_http::{GuardedRequest, MemoryBudget, PLAIN, Response, listener::Handler};
use tenure_meta::{ApiError, Reason};
use tenure_store::{Expected, ListRequest, Store, Transaction};
use tenure_value::{Limits, Object, Value, json};

/// What the keys of authors begin with.
const AUTHORS: &str = "recorder/authors/";
/// The most events of one transaction.
const BATCH: usize = 100;
/// The most bytes of a batch of events.
const BODY: usize = 64 << 20;

impl Archive {
    /// Keeps who made the writes of audit events; returns how many events were of writes with a known result.
    pub async fn note_audit_events(&self, events: &[Value]) -> Result<usize, RecorderError> {
        let authors: Vec<(String, Value)> =
            events.iter().flat_map(|event| authors(event, self.now())).collect();
        for authors in authors.chunks(BATCH) {
            let mut transaction = Transaction::new();
            for (number, (key, author)) in authors.iter().enumerate() {
                // A request that changes nothing is answered with the revision of the write before it: the first one made it.
                let is_first = authors.iter().take(number).all(|(other, _)| other != key);
                if is_first && self.store().peek(key.as_bytes())?.is_none() {
                    transaction = transaction.put(key.clone(), Expected::Absent, json::to_vec(author));
                }
            }
            if transaction.operations().is_empty() {
                continue;
            }
            self.store().commit(transaction).await?;
        }
        Ok(authors.len())
    }

    /// Forgets the authors of writes that are older than a time, in milliseconds since 1970.
    pub async fn forget_authors(&self, before: u64) -> Result<(), RecorderError> {
        let listing = self.store().list(ListRequest::prefix(AUTHORS)).await?;
        let is_old = |entry: &&tenure_store::Entry| {
            let author = json::parse(&entry.value.bytes(), &Limits::default()).unwrap_or_default();
            author.get("time").and_then(Value::as_i64).is_none_or(|time| (time as u64) < before)
        };
        let old: Vec<_> = listing.entries.iter().filter(is_old).collect();
        for old in old.chunks(BATCH) {
            let delete = |transaction: Transaction, entry: &&tenure_store::Entry| {
                transaction.delete(entry.key.clone(), Expected::Anything)
            };
            self.store().commit(old.iter().fold(Transaction::new(), delete)).await?;
        }
        Ok(())
    }

    /// Returns changes of an object with their users, where audit events named them. `deleted` are the uids of objects that were
    /// removed, by the revision of their removal; they are looked for if a removal is among the changes.
    pub(crate) fn with_authors<F: FnOnce() -> HashMap<String, String>>(
        &self,
        key: &ObjectKey,
        document: Value,
        deleted: &LazyCell<HashMap<String, String>, F>,
    ) -> Value {
        let Some(root) = document.as_object() else { return document };
        let items = root.get("items").and_then(Value::as_array).into_iter().flatten();
        let items: Vec<Value> = items.map(|item| self.with_author(key, item, deleted)).collect();
        Value::Object(root.with("items", Value::array(items)))
    }

    fn with_author<F: FnOnce() -> HashMap<String, String>>(
        &self,
        key: &ObjectKey,
        item: &Value,
        deleted: &LazyCell<HashMap<String, String>, F>,
    ) -> Value {
        let revision = item.get("revision").and_then(Value::as_str).unwrap_or_default();
        let read = |key: String| {
            let entry = self.store().peek(key.as_bytes()).ok().flatten()?;
            json::parse(&entry.value.bytes(), &Limits::default()).ok()
        };
        // The answer to a deletion has no revision; the object that it removed has a uid.
        let is_removal = item.get("verb").and_then(Value::as_str) == Some(Verb::Delete.as_str());
        let of_deletion = || read(deletion_key(key, deleted.get(revision).filter(|_| is_removal)?));
        let known = read(author_key(key, revision)).or_else(of_deletion);
        // One of several writes is not the author of all.
        let (Some(known), Some(item), None) = (known, item.as_object(), item.get("gap")) else {
            return item.clone();
        };
        let mut shown = item.clone();
        for name in ["user", "userAgent", "sourceIP"] {
            if let Some(value) = known.get(name) {
                shown = shown.with(name, value.clone());
            }
        }
        let is_empty = |name: &str| item.get(name).and_then(Value::as_str).is_none_or(str::is_empty);
        if let (true, Some(manager)) = (is_empty("manager"), known.get("manager")) {
            shown = shown.with("manager", manager.clone());
        }
        // What `managedFields` call an update may be a patch.
        if item.get("verb").and_then(Value::as_str) == Some("update")
            && let Some(verb) = known.get("verb")
        {
            shown = shown.with("verb", verb.clone());
        }
        shown.into()
    }
}

fn author_key(key: &ObjectKey, revision: &str) -> String {
    format!("{AUTHORS}{}@{revision}", key.stored())
}

fn deletion_key(key: &ObjectKey, uid: &str) -> String {
    format!("{AUTHORS}{}@deleted/{uid}", key.stored())
}

/// Returns the keys and the author of the writes that an event is about; nothing for reads, failures and results that say neither a
/// revision nor, of a deletion, what was deleted.
fn authors(event: &Value, now: u64) -> Vec<(String, Value)> {
    let text = |path: &[&str]| event.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default();
    let code = event.at(["responseStatus", "code"]).and_then(Value::as_i64).unwrap_or_default();
    let is_write = ["create", "update", "patch", "delete", "deletecollection"].contains(&text(&["verb"]));
    // The response to a dry run has the revision of a write of another client.
    let in_body = event.at(["requestObject", "dryRun"]).and_then(Value::as_array);
    let is_dry_run = parameter(text(&["requestURI"]), "dryRun").is_some()
        || in_body.is_some_and(|all| !all.is_empty()) && text(&["verb"]).starts_with("delete");
    if text(&["stage"]) != "ResponseComplete" || !(200..300).contains(&code) || !is_write || is_dry_run {
        return Vec::new();
    }
    let key = |name: &str| ObjectKey {
        group: text(&["objectRef", "apiGroup"]).to_owned(),
        resource: text(&["objectRef", "resource"]).to_owned(),
        namespace: text(&["objectRef", "namespace"]).to_owned(),
        name: name.to_owned(),
    };
    let author = author(event, now);
    let of_object = |object: &Value| {
        let text = |path: &[&str]| object.at(path.iter().copied()).and_then(Value::as_str);
        let name = match event.at(["objectRef", "name"]).and_then(Value::as_str) {
            Some(name) if !name.is_empty() => name,
            _ => text(&["metadata", "name"])?,
        };
        let namespace = text(&["metadata", "namespace"]);
        let key = ObjectKey { namespace: namespace.map_or(key("").namespace, str::to_owned), ..key(name) };
        let is_deleted = ["delete", "deletecollection"].contains(&author.get("verb")?.as_str()?);
        let marked = object.at(["metadata", "deletionTimestamp"]).is_some();
        match (text(&["metadata", "resourceVersion"]), text(&["details", "uid"]), text(&["metadata", "uid"]))
        {
            (_, Some(uid), _) => Some(deletion_key(&key, uid)),
            // An object that is gone is shown as it was before, with the revision that it had then.
            (_, _, Some(uid)) if is_deleted && !marked => Some(deletion_key(&key, uid)),
            (Some(revision), ..) if revision.parse::<u64>().is_ok() => Some(author_key(&key, revision)),
            _ => None,
        }
    };
    let answer = event.get("responseObject").cloned().unwrap_or_default();
    let written: Vec<Value> = match answer.get("items").and_then(Value::as_array) {
        Some(items) if text(&["verb"]) == "deletecollection" => items.to_vec(),
        _ => vec![answer],
    };
    let keys = written.iter().filter(|_| !key("").resource.is_empty()).filter_map(of_object);
    keys.map(|key| (key, author.clone())).collect()
}

/// Returns who made the request of an event.
fn author(event: &Value, now: u64) -> Value {
    let text = |path: &[&str]| event.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default();
    let verb = text(&["verb"]);
    let impersonated = text(&["impersonatedUser", "username"]);
    let user = if impersonated.is_empty() { text(&["user", "username"]) } else { impersonated };
    let mut author =
        Object::default().with("user", user).with("verb", verb).with("time", Value::unsigned(now));
    let address = event.get("sourceIPs").and_then(Value::as_array).and_then(|all| all.iter().next().cloned());
    if let Some(address) = address {
        author = author.with("sourceIP", address);
    }
    let agent = text(&["userAgent"]);
    if !agent.is_empty() {
        author = author.with("userAgent", agent);
    }
    let manager = parameter(text(&["requestURI"]), "fieldManager")
        .or_else(|| agent.split('/').next().map(str::to_owned));
    if let Some(manager) = manager.filter(|manager| !manager.is_empty()) {
        author = author.with("manager", manager);
    }
    author.into()
}

/// Returns a parameter that a request names.
fn parameter(uri: &str, name: &str) -> Option<String> {
    let query = tenure_http::Query::parse(uri.split_once('?')?.1).ok()?;
    query.given(name).map(|value| value.to_string())
}

/// Receives audit events from the webhook of an API server, which knows a token: it sends the token as credentials or as the path.
pub struct AuditEndpoint {
    archive: Arc<Archive>,
    token: String,
    memory: MemoryBudget,
}

impl AuditEndpoint {
    /// Receives events for an archive.
    pub fn new(archive: Arc<Archive>, token: String) -> Arc<AuditEndpoint> {
        Arc::new(AuditEndpoint { archive, token, memory: MemoryBudget::default() })
    }

    async fn receive(&self, request: GuardedRequest) -> Result<(), ApiError> {
        let (head, body) = request.into_parts();
        let path = head.uri.path().trim_matches('/');
        if !has_token(&head.headers, &self.token) && !is_same(path, &self.token) {
            return Err(ApiError::new(Reason::Unauthorized, "the audit webhook needs its token"));
        }
        if head.method != Method::POST {
            return Err(ApiError::method_not_allowed());
        }
        let (body, _memory) = body.read(BODY, &self.memory).await?;
        let limits = Limits { bytes: BODY, ..Limits::default() };
        let list = json::parse(&body, &limits).map_err(|error| ApiError::bad_request(error.to_string()))?;
        let events: Vec<Value> =
            list.get("items").and_then(Value::as_array).into_iter().flatten().cloned().collect();
        let noted = self.archive.note_audit_events(&events).await;
        // The API server sends a batch again that is refused.
        noted.map(drop).map_err(|error| ApiError::new(Reason::ServiceUnavailable, error.to_string()))
    }
}

impl Handler for AuditEndpoint {
    async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
        match self.receive(request).await {
            Ok(()) => Response::text(StatusCode::OK, "ok"),
            Err(refusal) => Response::failure(&refusal, PLAIN),
        }
    }
}
