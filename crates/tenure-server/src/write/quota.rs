//! Quotas in the commit. The usage that a write adds is checked against every quota that counts it, and the
//! statuses of these quotas are part of the transaction of the write. The transaction expects each quota as it was read: a
//! concurrent write is a conflict and never exceeds a quota, and a write that fails charges nothing.

use super::Writer;
use std::hash::{DefaultHasher, Hash, Hasher};
use tenure_admission::resource_quota::{GroupResource, Quota, QuotaConfig, Usage, amounts, growth};
use tenure_builtin::role::{RESOURCE_QUOTAS, VARIABLE_USAGE};
use tenure_catalog::{
    Objects, ResourceHandler,
    history::HistoryVerb,
    object::{Stored, encode, fields, prefix},
};
use tenure_meta::{ApiError, GroupVersionResource, Scope};
use tenure_store::{Entry, Expected, ListRequest, Revision, Transaction};
use tenure_value::Value;
use tokio::sync::{Mutex, MutexGuard};

/// How many locks the namespaces share.
const LOCKS: usize = 64;

/// Locks by namespace: charges to the same quotas wait for each other instead of failing with conflicts.
pub(super) struct QuotaLocks(Vec<Mutex<()>>);

impl Default for QuotaLocks {
    fn default() -> QuotaLocks {
        QuotaLocks((0..LOCKS).map(|_| Mutex::default()).collect())
    }
}

impl QuotaLocks {
    async fn lock(&self, namespace: &str) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        namespace.hash(&mut hasher);
        self.0[hasher.finish() as usize % LOCKS].lock().await
    }
}

/// Whether a change that exceeds a quota is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enforcement {
    /// It is refused.
    Refuse,
    /// It is refused, and nothing is charged.
    DryRun,
    /// It is charged anyway: deletions, and statuses that controllers report.
    Record,
}

/// A change of an object as quotas see it; the old or the new object is `null` if there is none.
pub(crate) struct QuotaChange<'a> {
    pub handler: &'a ResourceHandler,
    pub namespace: &'a str,
    pub name: &'a str,
    pub old: &'a Value,
    pub new: &'a Value,
    pub enforcement: Enforcement,
}

impl QuotaChange<'_> {
    /// Whether the change can affect any usage.
    fn is_relevant(&self) -> bool {
        let resource = &self.handler.resource;
        let is_variable = resource.group.is_empty() && VARIABLE_USAGE.contains(&resource.name.as_str());
        resource.scope == Scope::Namespaced
            && (self.old.is_null() || self.new.is_null() || is_variable && !self.old.ptr_eq(self.new))
    }

    /// Returns by how much the usage that a quota counts grows.
    fn growth(&self, quota: &Quota<'_>) -> Usage {
        let counted = |object: &Value| match object.is_null() {
            true => Usage::new(),
            false => quota.counted(group_resource(self.handler), object),
        };
        growth(&counted(self.old), &counted(self.new))
    }

    fn forbidden(&self, why: &str) -> ApiError {
        let resource = &self.handler.resource;
        ApiError::forbidden(&resource.group, &resource.name, self.name, why)
    }
}

/// A new status of a quota: its entry, the quota as it is stored, and the quota with the new status.
struct StatusUpdate {
    entry: Entry,
    stored: Stored,
    object: Value,
}

impl Writer {
    /// Adds the charges of a change to a transaction. The lock must be held until the transaction is committed.
    pub(crate) async fn charge_quotas(
        &self,
        change: &QuotaChange<'_>,
        transaction: Transaction,
    ) -> Result<(Transaction, Option<MutexGuard<'_, ()>>), ApiError> {
        let store = &self.objects.store;
        let limits = self.admission.quotas();
        if !self.admission.charges_quotas()
            || !change.is_relevant()
            || quotas(&self.objects, change.namespace, store.known()).await?.is_empty()
                && !limits.limits(group_resource(change.handler))
        {
            return Ok((transaction, None));
        }
        let lock = match change.enforcement {
            Enforcement::DryRun => None,
            _ => Some(self.quota_locks.lock(change.namespace).await),
        };
        let updates = match charges(&self.objects, limits, change, store.known()).await {
            Ok(updates) => updates,
            // The state of this server may be stale; a refusal must be based on the current state.
            Err(_) => charges(&self.objects, limits, change, store.revision().await?).await?,
        };
        let mut charged = transaction;
        for update in &updates {
            charged = self.put_status(charged, update)?;
        }
        Ok((charged, lock))
    }

    /// Adds a new status of a quota to a transaction.
    fn put_status(&self, transaction: Transaction, update: &StatusUpdate) -> Result<Transaction, ApiError> {
        let StatusUpdate { entry, stored, object } = update;
        let value = encode(object, &stored.managers)?;
        let put = transaction.put(entry.key.clone(), Expected::At(entry.modified), value);
        let GroupVersionResource { group, version, resource: name } = RESOURCE_QUOTAS;
        let handler = self.catalog.resource(group, version, name)?;
        let author = self.own_author(HistoryVerb::Update, "status");
        let after = Some((object, &stored.managers));
        let key = String::from_utf8_lossy(&entry.key);
        let recorded = self.history.record(put, &handler, &key, &author, Some(stored), after);
        recorded.map(|(transaction, _)| transaction)
    }

    /// Counts the usage of a quota and updates its status. Returns `None` on a conflict, and otherwise whether the
    /// status was wrong.
    pub(crate) async fn recount_quota(&self, key: &str) -> Result<Option<bool>, ApiError> {
        let store = &self.objects.store;
        let at = store.known();
        let listing = store.list(ListRequest::prefix(key.to_string()).at(at)).await?;
        let Some(entry) = listing.entries.into_iter().find(|entry| entry.key == key.as_bytes()) else {
            return Ok(Some(false));
        };
        let stored = self.objects.decode(&entry)?;
        let namespace =
            stored.object.at(["metadata", "namespace"]).and_then(Value::as_str).unwrap_or_default();
        let quota = Quota::read(&stored.object);
        let used = count(&self.objects, &quota, namespace, at).await?;
        let object = with_status(&stored.object, &quota, &used);
        if object == stored.object {
            return Ok(Some(false));
        }
        let put = self.put_status(Transaction::new(), &StatusUpdate { entry, stored, object })?;
        match store.commit(put).await {
            Ok(_) => Ok(Some(true)),
            Err(tenure_store::Error::Conflict(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the resource of a handler as limits name it.
fn group_resource(handler: &ResourceHandler) -> GroupResource<'_> {
    GroupResource { group: &handler.resource.storage.0, resource: &handler.resource.name }
}

/// Reads the quotas of a namespace at a revision.
async fn quotas(objects: &Objects, namespace: &str, at: Revision) -> Result<Vec<(Entry, Stored)>, ApiError> {
    let GroupVersionResource { group, version, resource: name } = RESOURCE_QUOTAS;
    let Some(resource) = tenure_builtin::registry().find(group, version, name) else {
        return Ok(Vec::new());
    };
    let listing = objects.store.list(ListRequest::prefix(prefix(resource, namespace)).at(at)).await?;
    let read = |entry: Entry| objects.decode(&entry).map(|stored| (entry, stored));
    listing.entries.into_iter().map(read).collect()
}

/// Returns the new statuses of the quotas that count a change, or the error of the first that it exceeds.
async fn charges(
    objects: &Objects,
    limits: &QuotaConfig,
    change: &QuotaChange<'_>,
    at: Revision,
) -> Result<Vec<StatusUpdate>, ApiError> {
    let own_key = tenure_catalog::object::key(&change.handler.resource, change.namespace, change.name);
    let quotas = quotas(objects, change.namespace, at).await?;
    if change.old.is_null() {
        for (_, stored) in &quotas {
            let quota = Quota::read(&stored.object);
            if let Some(why) = quota.missing_constraints(group_resource(change.handler), change.new) {
                return Err(change.forbidden(&why));
            }
        }
    }
    if !change.new.is_null() && change.enforcement != Enforcement::Record {
        let read: Vec<Quota<'_>> = quotas.iter().map(|(_, stored)| Quota::read(&stored.object)).collect();
        if let Some(why) = limits.uncovered(group_resource(change.handler), change.new, &read) {
            return Err(change.forbidden(&why));
        }
    }
    let mut updates = Vec::new();
    // A quota that is itself written has no usage to keep.
    for (entry, stored) in quotas.iter().filter(|(entry, _)| entry.key != own_key.as_bytes()) {
        let quota = Quota::read(&stored.object);
        let change_of_usage = change.growth(&quota);
        if change_of_usage.is_empty() {
            continue;
        }
        let known = amounts(stored.object.at(["status", "used"]));
        let is_counted = change_of_usage.keys().all(|name| known.contains_key(name));
        let used = match (is_counted, change.enforcement) {
            (true, _) => known,
            // The controller counts it.
            (false, Enforcement::Record) => continue,
            (false, _) => count(objects, &quota, change.namespace, at).await?,
        };
        let used = match change.enforcement {
            Enforcement::Record => quota.adjust(&used, &change_of_usage),
            _ => quota.charge(&used, &change_of_usage).map_err(|why| change.forbidden(&why))?,
        };
        let object = with_status(&stored.object, &quota, &used);
        updates.push(StatusUpdate { entry: entry.clone(), stored: stored.clone(), object });
    }
    Ok(updates)
}

/// Counts the usage of the objects of a namespace at a revision.
async fn count(
    objects: &Objects,
    quota: &Quota<'_>,
    namespace: &str,
    at: Revision,
) -> Result<Usage, ApiError> {
    let mut used = quota.recount([]);
    for handler in objects.catalog.namespaced_resources() {
        let resource = group_resource(&handler);
        if !quota.concerns(resource) {
            continue;
        }
        let listing =
            objects.store.list(ListRequest::prefix(prefix(&handler.resource, namespace)).at(at)).await?;
        for entry in &listing.entries {
            quota.count(&mut used, resource, &objects.decode(entry)?.object);
        }
    }
    Ok(used)
}

/// Whether the status of a quota has a usage for every limit of its spec.
pub(crate) fn is_counted(quota: &Value) -> bool {
    let hard = fields(quota.at(["spec", "hard"]));
    let used = fields(quota.at(["status", "used"]));
    fields(quota.at(["status", "hard"])) == hard && hard.iter().all(|(name, _)| used.contains(name))
}

/// Returns a quota whose status has the usage of each limit.
fn with_status(object: &Value, quota: &Quota<'_>, used: &Usage) -> Value {
    let used = used.iter().filter(|(name, _)| quota.hard().contains_key(*name));
    let used = Value::object(used.map(|(name, amount)| (name.clone(), Value::from(amount.canonical()))));
    let status = fields(object.get("status"))
        .with("hard", Value::from(fields(object.at(["spec", "hard"]))))
        .with("used", used);
    fields(Some(object)).with("status", status).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_a_usage_for_every_limit() {
        let quota: Value =
            r#"{"metadata":{"name":"q"},"spec":{"hard":{"pods":"2","requests.memory":"1Gi"}},"status":{}}"#
                .parse()
                .unwrap();
        assert!(!is_counted(&quota));
        let read = Quota::read(&quota);
        let counted = with_status(&quota, &read, &read.recount([]));
        assert_eq!(
            counted.get("status").unwrap().to_string(),
            r#"{"hard":{"pods":"2","requests.memory":"1Gi"},"used":{"pods":"0","requests.memory":"0"}}"#
        );
        assert!(is_counted(&counted));
        let raised = r#"{"pods":"3"}"#.parse::<Value>().unwrap();
        let spec = fields(counted.get("spec")).with("hard", raised);
        assert!(!is_counted(&Value::from(fields(Some(&counted)).with("spec", spec))));
    }
}
