//! Objects of another cluster, put into a server as they are: with their uids, owners, times and status, past admission and validation.

use crate::{TestError, server::TestServer};
use bytes::Bytes;
use std::{collections::BTreeMap, sync::Arc};
use tenure_apply::Managers;
use tenure_catalog::object::{bare, encode, key, meta_text};
use tenure_server::Server;
use tenure_store::{Backup, Entry, Expected, Revision, Transaction};
use tenure_value::Value;

/// How many objects are committed at once.
const BATCH: usize = 100;

/// What became of objects that were put into a server.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// How many were stored.
    pub objects: usize,
    /// What could not be stored, and why.
    pub left_out: Vec<String>,
}

/// An object as a store has it.
struct Encoded {
    key: String,
    value: Bytes,
    version: u64,
}

impl TestServer {
    /// Puts objects into the server as they are, definitions of custom resources first. An object of a kind that the server does not
    /// have is left out. Revisions are the server's own.
    pub async fn load(&self, objects: &[Value]) -> Result<Loaded, TestError> {
        let server = self.server();
        let store = &server.objects().store;
        let mut loaded = Loaded::default();
        for group in in_order(objects) {
            // Of several with one name, the last one counts.
            let mut encoded = BTreeMap::new();
            for object in group {
                match encoded_object(&server, object).await {
                    Ok(Encoded { key, value, .. }) => drop(encoded.insert(key, value)),
                    Err(problem) => loaded.left_out.push(problem),
                }
            }
            loaded.objects += encoded.len();
            let mut encoded = encoded.into_iter().peekable();
            while encoded.peek().is_some() {
                let put = |transaction: Transaction, (key, value): (String, Bytes)| {
                    transaction.put(key, Expected::Anything, value)
                };
                store.commit(encoded.by_ref().take(BATCH).fold(Transaction::new(), put)).await?;
            }
            server.refresh().await?;
        }
        Ok(loaded)
    }
}

/// Returns objects as the content of a store, with the revisions that their resourceVersions name.
pub async fn backup_of(objects: &[Value]) -> Result<(Backup, Loaded), TestError> {
    let encoder = TestServer::start().await?;
    let definitions: Vec<Value> = objects.iter().filter(|object| is_definition(object)).cloned().collect();
    encoder.load(&definitions).await?;
    let server = encoder.server();
    let mut loaded = Loaded::default();
    let mut entries = Vec::with_capacity(objects.len());
    for object in objects {
        match encoded_object(&server, object).await {
            Ok(Encoded { key, value, version }) => {
                let revision = Revision::from_number(version);
                entries.push(Entry {
                    key: key.into(),
                    value: value.into(),
                    created: revision,
                    modified: revision,
                });
            }
            Err(problem) => loaded.left_out.push(problem),
        }
    }
    // The newest of several dumps of the same object stays.
    entries.sort_by(|a, b| (&a.key, b.modified).cmp(&(&b.key, a.modified)));
    entries.dedup_by(|later, first| later.key == first.key);
    loaded.objects = entries.len();
    let revision = entries.iter().map(|entry| entry.modified).max().unwrap_or(Revision::from_number(1));
    Ok((Backup { revision, entries, ledger: Vec::new() }, loaded))
}

/// Returns definitions first, then the other objects.
fn in_order(objects: &[Value]) -> [Vec<&Value>; 2] {
    let (definitions, others) = objects.iter().partition(|object| is_definition(object));
    [definitions, others]
}

fn is_definition(object: &Value) -> bool {
    object.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition")
}

/// Returns an object at the version of storage; the error says what it is and what is wrong.
async fn encoded_object(server: &Arc<Server>, object: &Value) -> Result<Encoded, String> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let (namespace, name) = (meta_text(object, "namespace"), meta_text(object, "name"));
    let failed =
        |problem: &dyn std::fmt::Display| format!("{api_version} {kind} {namespace}/{name}: {problem}");
    let handler = server.catalog().resource_of_kind(api_version, kind);
    let handler = handler.ok_or_else(|| failed(&"the kind is not known here"))?;
    if name.is_empty() {
        return Err(failed(&"it has no name"));
    }
    let managers = object.at(["metadata", "managedFields"]).unwrap_or(&Value::Null);
    let managers = Managers::from_value(managers).map_err(|error| failed(&error))?;
    let stored = server.objects().convert_to_storage(&handler, &bare(object)).await;
    let stored = stored.map_err(|error| failed(&error))?;
    let value = encode(&stored, &managers).map_err(|error| failed(&error))?;
    let version = meta_text(object, "resourceVersion").parse().unwrap_or(1).clamp(1, u64::MAX / 4);
    Ok(Encoded { key: key(&handler.resource, namespace, name), value, version })
}
