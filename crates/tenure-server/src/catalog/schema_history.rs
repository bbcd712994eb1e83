//! The types that a custom kind had before its definition changed how something merges. They are kept beside the objects,
//! each at the revision of the change that ended it: the managers of an object that was last written before that
//! were written under it, however often the server has started since.

use crate::{Failure, custom, object::meta_text, server::Server};
use std::{collections::HashMap, sync::Arc};
use tenure_schema::{Schema, crd};
use tenure_store::{Entry, Expected, ListRequest, Revision, Transaction};
use tenure_value::{Limits, Text, Value, json};

/// Where former types are in the store.
const PLACE: &str = "former/";
/// How many are kept of one definition; older ones are taken for the oldest.
const KEPT: usize = 16;

/// The types of a kind over time, each with the revision that ended it, the oldest first.
#[derive(Clone, Default)]
pub(crate) struct SchemaHistory(Vec<(Revision, Arc<Schema>)>);

impl SchemaHistory {
    /// Returns the types in force when an object was last written, if they are not today's.
    pub fn at(&self, written: Revision) -> Option<&Arc<Schema>> {
        self.0.iter().find(|(ended, _)| *ended > written).map(|(_, schema)| schema)
    }

    /// Whether these are the same as others of the same kind.
    pub fn are(&self, others: &SchemaHistory) -> bool {
        self.0.iter().map(|(ended, _)| ended).eq(others.0.iter().map(|(ended, _)| ended))
    }

    fn same_as(&self, ended: &[Revision]) -> bool {
        self.0.iter().map(|(at, _)| at).eq(ended)
    }
}

fn place(name: &str) -> String {
    format!("{PLACE}{name}/")
}

/// Reads the former types of all definitions; those known already are not compiled again.
pub(crate) async fn read_all<'k>(
    api: &Server,
    known: impl Fn(&str) -> Option<&'k SchemaHistory>,
) -> Result<HashMap<Text, SchemaHistory>, Failure> {
    let listing = api.store.list(ListRequest::prefix(PLACE)).await?;
    let mut entries: HashMap<Text, Vec<&Entry>> = HashMap::new();
    for entry in &listing.entries {
        let key = String::from_utf8_lossy(&entry.key);
        let name = key.strip_prefix(PLACE).and_then(|rest| rest.split('/').next()).unwrap_or_default();
        entries.entry(name.into()).or_default().push(entry);
    }
    let all = entries.into_iter().map(|(name, mut entries)| {
        entries.sort_by_key(|entry| entry.modified);
        let ended: Vec<Revision> = entries.iter().map(|entry| entry.modified).collect();
        let formers = match known(&name).filter(|formers| formers.same_as(&ended)) {
            Some(formers) => formers.clone(),
            None => SchemaHistory(entries.into_iter().filter_map(compiled).collect()),
        };
        (name, formers)
    });
    Ok(all.collect())
}

fn compiled(entry: &Entry) -> Option<(Revision, Arc<Schema>)> {
    let definition = json::parse(&entry.value, &Limits::TRUSTED).ok()?;
    crd::compile(&definition).ok().map(|schema| (entry.modified, Arc::new(schema)))
}

/// Adds the types of a definition to the transaction that changes it, where they merge in another way from then on.
pub(crate) async fn keep(
    api: &Server,
    transaction: Transaction,
    (old, written): (&Value, Revision),
    new: &Value,
) -> Result<Transaction, Failure> {
    if custom::merge_changes(old, new).is_empty() {
        return Ok(transaction);
    }
    let place = place(meta_text(old, "name"));
    let mut transaction = transaction;
    let mut kept = api.store.list(ListRequest::prefix(place.clone())).await?.entries;
    kept.sort_by_key(|entry| entry.modified);
    for oldest in kept.iter().take((kept.len() + 1).saturating_sub(KEPT)) {
        transaction = transaction.delete(oldest.key.clone(), Expected::Anything);
    }
    let spec = old.get("spec").cloned().unwrap_or_default();
    let value = json::to_vec(&Value::object([("spec", spec)]));
    Ok(transaction.put(format!("{place}{written}"), Expected::Anything, value))
}

/// Forgets the former types of a definition that is about to go.
pub(crate) async fn forget(api: &Server, name: &str) -> Result<(), Failure> {
    let kept = api.store.list(ListRequest::prefix(place(name))).await?.entries;
    if kept.is_empty() {
        return Ok(());
    }
    let all =
        kept.into_iter().fold(Transaction::new(), |all, entry| all.delete(entry.key, Expected::Anything));
    api.store.commit(all).await?;
    Ok(())
}
