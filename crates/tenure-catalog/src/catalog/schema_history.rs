//! The schemas that a custom kind had before its definition changed how something merges. They are stored beside the objects,
//! each at the revision of the change that ended it: the managers of an object that was last written before that revision
//! were recorded under the former schema, regardless of later restarts.

use crate::object::meta_text;
use std::{collections::HashMap, sync::Arc};
use tenure_meta::ApiError;
use tenure_schema::{Schema, crd};
use tenure_store::{Entry, Expected, ListRequest, Revision, Store, Transaction};
use tenure_value::{Limits, Text, Value, json};

/// The prefix of former schemas in the store.
const PREFIX: &str = "former/";
/// How many are kept of one definition; objects older than those are read with the oldest.
const KEPT: usize = 16;

/// The former schemas of a kind, each with the revision that ended it, the oldest first.
#[derive(Clone, Default)]
pub(super) struct SchemaHistory(Vec<(Revision, Arc<Schema>)>);

impl SchemaHistory {
    /// Returns the schema in force when an object was last written, if it is not the current one.
    pub fn at(&self, written: Revision) -> Option<&Arc<Schema>> {
        self.0.iter().find(|(ended, _)| *ended > written).map(|(_, schema)| schema)
    }

    /// Whether this history is the same as another one of the same kind.
    pub fn is_same(&self, other: &SchemaHistory) -> bool {
        self.0.iter().map(|(ended, _)| ended).eq(other.0.iter().map(|(ended, _)| ended))
    }

    fn ended_at(&self, revisions: &[Revision]) -> bool {
        self.0.iter().map(|(ended, _)| ended).eq(revisions)
    }
}

fn prefix_of(definition: &str) -> String {
    format!("{PREFIX}{definition}/")
}

/// Reads the former schemas of a definition; those known already are not compiled again.
pub(super) async fn read(
    store: &dyn Store,
    definition: &str,
    known: Option<&SchemaHistory>,
) -> Result<SchemaHistory, ApiError> {
    let entries = store.list(ListRequest::prefix(prefix_of(definition))).await?.entries;
    Ok(history(entries.iter().collect(), known))
}

/// Reads the former schemas of all definitions; those known already are not compiled again.
pub(super) async fn read_all<'k>(
    store: &dyn Store,
    known: impl Fn(&str) -> Option<&'k SchemaHistory>,
) -> Result<HashMap<Text, SchemaHistory>, ApiError> {
    let listing = store.list(ListRequest::prefix(PREFIX)).await?;
    let mut entries: HashMap<Text, Vec<&Entry>> = HashMap::new();
    for entry in &listing.entries {
        let key = String::from_utf8_lossy(&entry.key);
        let name = key.strip_prefix(PREFIX).and_then(|rest| rest.split('/').next()).unwrap_or_default();
        entries.entry(name.into()).or_default().push(entry);
    }
    let all = entries.into_iter().map(|(name, entries)| {
        let history = history(entries, known(&name));
        (name, history)
    });
    Ok(all.collect())
}

fn history(mut entries: Vec<&Entry>, known: Option<&SchemaHistory>) -> SchemaHistory {
    entries.sort_by_key(|entry| entry.modified);
    let ended: Vec<Revision> = entries.iter().map(|entry| entry.modified).collect();
    match known.filter(|history| history.ended_at(&ended)) {
        Some(history) => history.clone(),
        None => SchemaHistory(entries.into_iter().filter_map(compiled).collect()),
    }
}

fn compiled(entry: &Entry) -> Option<(Revision, Arc<Schema>)> {
    let definition = json::parse(&entry.value.bytes(), &Limits::TRUSTED).ok()?;
    crd::compile(&definition).ok().map(|schema| (entry.modified, Arc::new(schema)))
}

/// Adds the schema of a definition to the transaction that changes it, if the change affects how something merges.
pub(super) async fn record(
    store: &dyn Store,
    mut transaction: Transaction,
    (old, written): (&Value, Revision),
    new: &Value,
) -> Result<Transaction, ApiError> {
    if tenure_crd::merge_changes(old, new).is_empty() {
        return Ok(transaction);
    }
    let prefix = prefix_of(meta_text(old, "name"));
    let mut kept = store.list(ListRequest::prefix(prefix.clone())).await?.entries;
    kept.sort_by_key(|entry| entry.modified);
    for oldest in kept.iter().take((kept.len() + 1).saturating_sub(KEPT)) {
        transaction = transaction.delete(oldest.key.clone(), Expected::Anything);
    }
    let spec = old.get("spec").cloned().unwrap_or_default();
    let value = json::to_vec(&Value::object([("spec", spec)]));
    Ok(transaction.put(format!("{prefix}{written}"), Expected::Anything, value))
}

/// Deletes the former schemas of a definition that is about to be removed.
pub(super) async fn forget(store: &dyn Store, definition: &str) -> Result<(), ApiError> {
    let kept = store.list(ListRequest::prefix(prefix_of(definition))).await?.entries;
    if kept.is_empty() {
        return Ok(());
    }
    let all =
        kept.into_iter().fold(Transaction::new(), |all, entry| all.delete(entry.key, Expected::Anything));
    store.commit(all).await?;
    Ok(())
}
