//! The commit: one transaction that stores or removes the object, its allocations and, for a definition, its former schema. A
//! commit that finds a key changed returns `None`, and the pipeline starts over.

use super::{
    Writer,
    finalization::is_finished,
    quota::{Enforcement, QuotaChange},
    request::WriteRequest,
};
use bytes::Bytes;
use std::sync::atomic::Ordering::Relaxed;
use tenure_builtin::{issued_certificate, role::Role};
use tenure_catalog::{
    ResourceHandler, Subresource, Verb,
    history::{Author, HistoryVerb},
    object::{Document, Encoded, Stored, encode_after, encode_new, key},
};
use tenure_meta::{ApiError, Endpoint};
use tenure_store::{Entry, Error, Expected, Revision, Transaction};
use tenure_value::Value;

/// The effect of a write.
pub(super) enum Outcome {
    /// The object was created. Its JSON is known if it was stored in the format of the response.
    Created(Option<Document>),
    /// The object was changed; the same goes for its JSON.
    Changed(Option<Document>),
    Unchanged,
}

/// The result of a write.
pub(crate) struct Written {
    pub stored: Stored,
    pub(super) outcome: Outcome,
    pub warnings: Vec<String>,
}

impl Writer {
    /// Stores a changed object, or removes one that is being deleted and has nothing left to wait for.
    pub(super) async fn commit_update(
        &self,
        write: &WriteRequest<'_>,
        live: &Stored,
        mut stored: Stored,
        at_storage: Option<Value>,
        warnings: Vec<String>,
    ) -> Result<Option<Written>, ApiError> {
        let handler = &write.target.handler;
        let is_removed = is_finished(&stored.object, handler);
        let change = QuotaChange {
            handler,
            namespace: &write.target.namespace,
            name: &write.target.name,
            old: &live.object,
            new: if is_removed { &Value::Null } else { &stored.object },
            enforcement: match write.target.part() {
                Some(Subresource::Status) => Enforcement::Record,
                _ => write.enforcement(),
            },
        };
        let (charged, _lock) = self.charge_quotas(&change, Transaction::new()).await?;
        if write.options.dry_run {
            return Ok(Some(Written { stored, outcome: Outcome::Changed(None), warnings }));
        }
        let key = write.target.key();
        let expected = Expected::At(live.revision);
        let entry = self.objects.store.peek(key.as_bytes())?.filter(|entry| entry.modified == live.revision);
        let before = self.as_stored(handler, live, entry.as_ref()).await?;
        let (author, history) = (author(write), &self.history);
        if is_removed {
            // It is not stored again, and keeps its revision.
            let removed = charged.delete(key.clone(), expected);
            let transaction = self.services.remove(handler, &key, &live.object, removed).await?;
            let (transaction, recorded) =
                history.record(transaction, handler, &key, &author, before.as_ref(), None)?;
            let committed = self.commit(handler, transaction).await?;
            return Ok(committed.map(|_| {
                history.count(handler, &write.manager, &recorded);
                Written { stored, outcome: Outcome::Changed(None), warnings }
            }));
        }
        let at_storage = self.at_storage(handler, at_storage, &stored.object, Some(live)).await?;
        let replaced = entry.as_ref().map(|entry| entry.value.bytes());
        let Encoded { value, document } =
            encode_after(&at_storage, &stored.managers, live, replaced.as_deref())?;
        let bytes = value.len();
        let put = charged.put(key.clone(), expected, value);
        let allocated = self.services.write(handler, &key, &live.object, &stored.object, put).await?;
        let Some(transaction) = allocated else { return Ok(None) };
        let after = Some((&at_storage, &stored.managers));
        let (mut transaction, recorded) =
            history.record(transaction, handler, &key, &author, before.as_ref(), after)?;
        if handler.role == Role::Definition {
            let old = (&live.object, live.revision);
            transaction = self.catalog.record_schema(transaction, old, &stored.object).await?;
        }
        Ok(self.commit(handler, transaction).await?.map(|revision| {
            stored.revision = revision;
            history.count(handler, &write.manager, &recorded);
            history.observe(handler, &key, &write.manager, live, &stored, write.now);
            if handler.role == Role::CertificateSigningRequest
                && write.endpoint == Endpoint::Status
                && let Some(issued) = issued_certificate(&live.object, &stored.object)
            {
                self.metrics.certificate(&issued.signer, issued.is_honored);
            }
            let document = at_storage.ptr_eq(&stored.object).then_some(document);
            let kept = Stored { object: at_storage, ..stored.clone() };
            self.objects.remember(key, handler, kept, &stored, bytes);
            Written { stored, outcome: Outcome::Changed(document), warnings }
        }))
    }

    /// Stores a new object in a namespace that exists and is not being deleted.
    pub(super) async fn commit_create(
        &self,
        write: &WriteRequest<'_>,
        name: &str,
        mut stored: Stored,
        at_storage: Option<Value>,
        namespace: Option<(String, Entry)>,
        warnings: Vec<String>,
    ) -> Result<Option<Written>, ApiError> {
        let handler = &write.target.handler;
        let key = key(&handler.resource, &write.target.namespace, name);
        let change = QuotaChange {
            handler,
            namespace: &write.target.namespace,
            name,
            old: &Value::Null,
            new: &stored.object,
            enforcement: write.enforcement(),
        };
        let (charged, _lock) = self.charge_quotas(&change, Transaction::new()).await?;
        if write.options.dry_run {
            if self.objects.store.get(key.as_bytes()).await?.is_some() {
                return Ok(None);
            }
            // A dry run shows the version that the body names.
            stored.revision = write.created_version.unwrap_or(stored.revision);
            return Ok(Some(Written { stored, outcome: Outcome::Created(None), warnings }));
        }
        if write.created_version.is_some() {
            const SET: &str = "resourceVersion should not be set on objects to be created";
            let refused = ApiError::bad_request(format!("metadata.resourceVersion: {SET}; leave it out"));
            return Err(refused.or_in_kubernetes(ApiError::unclassified(SET)));
        }
        let at_storage = self.at_storage(handler, at_storage, &stored.object, None).await?;
        let Encoded { value, document } = encode_new(&at_storage, &stored.managers)?;
        let put = charged.put(key.clone(), Expected::Absent, value);
        let allocated = self.services.write(handler, &key, &Value::Null, &stored.object, put).await?;
        let Some(put) = allocated else { return Ok(None) };
        let after = Some((&at_storage, &stored.managers));
        let (mut transaction, recorded) =
            self.history.record(put, handler, &key, &author(write), None, after)?;
        if let Some((key, namespace)) = namespace {
            transaction = transaction.require(key, Expected::At(namespace.modified));
        }
        Ok(self.commit(handler, transaction).await?.map(|revision| {
            stored.revision = revision;
            self.history.count(handler, &write.manager, &recorded);
            let document = at_storage.ptr_eq(&stored.object).then_some(document);
            Written { stored, outcome: Outcome::Created(document), warnings }
        }))
    }

    /// Returns an object at the storage version, if it is not known yet.
    async fn at_storage(
        &self,
        handler: &ResourceHandler,
        known: Option<Value>,
        object: &Value,
        live: Option<&Stored>,
    ) -> Result<Value, ApiError> {
        match known {
            Some(at_storage) => Ok(at_storage),
            None if handler.strategy().stores_as_served() => {
                handler.convert_to_storage(object, live.map(|live| &live.object))
            }
            None => self.objects.convert_to_storage(handler, object).await,
        }
    }

    /// Returns a live object as the store has it, if its changes are recorded; `entry` is its entry, where this server still
    /// knows it.
    pub(crate) async fn as_stored(
        &self,
        handler: &ResourceHandler,
        live: &Stored,
        entry: Option<&Entry>,
    ) -> Result<Option<Stored>, ApiError> {
        match entry {
            _ if !self.history.records(handler) => Ok(None),
            Some(entry) => self.objects.decode(entry).map(Some),
            // Another write came first, so that the commit will fail.
            None => {
                let object = self.objects.convert_to_storage(handler, &live.object).await?;
                Ok(Some(Stored { object, ..live.clone() }))
            }
        }
    }

    /// Returns the server itself as the author of a change.
    pub(crate) fn own_author<'a>(&self, verb: HistoryVerb, subresource: &'a str) -> Author<'a> {
        Author { verb, user: "system:apiserver", manager: "", subresource }
    }

    /// Commits a transaction that writes an object of a resource; `None` if a key was not as expected.
    pub async fn commit(
        &self,
        handler: &ResourceHandler,
        transaction: Transaction,
    ) -> Result<Option<Revision>, ApiError> {
        let written: Vec<_> = match handler.role {
            Role::Rbac | Role::Definition => {
                transaction.operations().iter().map(|operation| operation.key.clone()).collect()
            }
            _ => Vec::new(),
        };
        let committed = match self.objects.store.commit(transaction).await {
            Ok(committed) => committed,
            Err(Error::Conflict(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        self.metrics.commits.fetch_add(1, Relaxed);
        let refreshed = match handler.role {
            Role::Definition => self.follow_definitions(&written).await,
            Role::AdmissionConfiguration => self.admission.refresh().await,
            _ => written.iter().try_for_each(|key| self.authorizer.refresh_key(key)),
        };
        // The write is durable even if this fails. The lifecycle controller sees the same change and refreshes again.
        if let Err(failure) = refreshed {
            tracing::warn!(%failure, resource = %handler.resource.name, "refresh after a commit failed, retrying later");
        }
        Ok(Some(committed.revision))
    }

    /// Serves what changed definitions define; other keys of the transaction are of no interest.
    async fn follow_definitions(&self, written: &[Bytes]) -> Result<(), ApiError> {
        for key in written {
            self.catalog.refresh_key(key).await?;
        }
        Ok(())
    }
}

/// Returns who makes a write and how, as history records it.
fn author<'w>(write: &'w WriteRequest<'_>) -> Author<'w> {
    let verb = match write.target.verb {
        Verb::Create => HistoryVerb::Create,
        Verb::Patch if write.is_apply => HistoryVerb::Apply,
        Verb::Patch => HistoryVerb::Patch,
        Verb::Delete | Verb::DeleteCollection => HistoryVerb::Delete,
        _ => HistoryVerb::Update,
    };
    let (user, manager, subresource) = (&write.request.user.name, &write.manager, &write.target.subresource);
    Author { verb, user, manager, subresource }
}
