//! The log of writes: which request changed what.

use crate::{
    AssertionError, manifest,
    record::Record,
    server::{Running, TestServer},
};
use serde_json::Value as Json;
use std::fmt;
use tenure_catalog::{Target, object::Stored};
use tenure_ownership::plan::differences;
use tenure_store::Revision;
use tenure_value::Value;

/// A write of one object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Write {
    /// The revision, which is the `resourceVersion` of the object afterwards.
    pub revision: u64,
    /// The verb of the request, `apply` for a server-side apply, or `reconcile` for the server's own controllers.
    pub verb: String,
    /// The field manager of the request; `tenure-controllers` for the server's own controllers.
    pub manager: String,
    /// The user whom the request impersonated, or `admin`.
    pub user: String,
    /// The kind of the object.
    pub kind: String,
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The object before; `None` if it was created.
    pub before: Option<Json>,
    /// The object after; `None` if it was deleted.
    pub after: Option<Json>,
    /// The fields whose values changed, without those that the server maintains; none for a deletion.
    pub changes: Vec<FieldChange>,
}

/// A field whose value changed.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    /// The path as conflicts write it, such as `.spec.replicas`.
    pub path: String,
    /// The value before; `None` if the field was added.
    pub before: Option<Json>,
    /// The value after; `None` if the field was removed.
    pub after: Option<Json>,
}

impl Write {
    /// Reads a record; `None` if its kind is not served any more.
    fn of(running: &Running, record: &Record) -> Option<Write> {
        let key = std::str::from_utf8(&record.key).ok()?;
        let target = Target::of_key(running.server.catalog(), key)?;
        let read =
            |entry: &Option<tenure_store::Entry>| entry.as_ref().and_then(|entry| Stored::read(entry).ok());
        let (before, after) = (read(&record.before), read(&record.after));
        let shown =
            |stored: &Option<Stored>| stored.as_ref().map(|stored| manifest::to_json(&stored.shown()));
        let value = |value: Option<Value>| value.map(|value| manifest::to_json(&value));
        let changes = after.as_ref().map(|after| {
            let before = before.as_ref().map(|before| &before.object);
            let found = differences(before, &after.object, target.handler.type_ref());
            let change = |found: tenure_ownership::Difference| FieldChange {
                path: found.path.to_string(),
                before: value(found.before),
                after: value(found.after),
            };
            found.into_iter().map(change).collect()
        });
        Some(Write {
            revision: record.revision.get(),
            verb: record.actor.verb.clone(),
            manager: record.actor.manager.clone(),
            user: record.actor.user.clone(),
            kind: target.handler.resource.kind.to_string(),
            namespace: target.namespace.to_string(),
            name: target.name.to_string(),
            before: shown(&before),
            after: shown(&after),
            changes: changes.unwrap_or_default(),
        })
    }

    /// Returns the object in a few words, such as `Deployment default/web`.
    pub fn subject(&self) -> String {
        subject(&self.kind, &self.namespace, &self.name)
    }
}

/// Returns an object in a few words.
pub(crate) fn subject(kind: &str, namespace: &str, name: &str) -> String {
    match namespace {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}

/// One line, and one more for each field that changed.
impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (&self.before, &self.after) {
            (None, _) => "created",
            (_, None) => "deleted",
            _ => "changed",
        };
        let Write { revision, verb, manager, .. } = self;
        write!(f, "{revision}: {manager} ({verb}) {what} {}", self.subject())?;
        if self.before.is_none() {
            return Ok(());
        }
        for change in &self.changes {
            write!(f, "\n      {}: {} -> {}", change.path, Shown(&change.before), Shown(&change.after))?;
        }
        Ok(())
    }
}

/// A value in a line, or that there is none.
pub(crate) struct Shown<'a>(pub &'a Option<Json>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => write!(f, "{value}"),
            None => f.write_str("(not set)"),
        }
    }
}

impl TestServer {
    /// Returns all writes since this server was started, forked or restored, in their order.
    pub fn writes(&self) -> Vec<Write> {
        self.writes_since(0)
    }

    /// Returns the writes after a revision, in their order.
    pub fn writes_since(&self, revision: u64) -> Vec<Write> {
        let running = self.inner.running();
        let records = running.store.records_after(Revision::from_number(revision));
        records.iter().filter_map(|record| Write::of(&running, record)).collect()
    }

    /// Checks that nothing was written after a revision; the error lists what was.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let server = tenure_testing::TestServer::start().await?;
    /// let before = server.revision();
    /// // ... reconcile once more ...
    /// server.expect_no_writes_since(before)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn expect_no_writes_since(&self, revision: u64) -> Result<(), AssertionError> {
        let writes = self.writes_since(revision);
        match writes.as_slice() {
            [] => Ok(()),
            writes => Err(AssertionError::new(format!(
                "expected no writes after revision {revision}, but there {}:\n{}",
                match writes.len() {
                    1 => "was one".to_string(),
                    count => format!("were {count}"),
                },
                listed(writes)
            ))),
        }
    }
}

/// Returns writes as a list.
pub(crate) fn listed(writes: &[Write]) -> String {
    writes.iter().map(|write| format!("  {write}")).collect::<Vec<_>>().join("\n")
}
