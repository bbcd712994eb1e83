//! DELETE of an object and of a collection. An object with finalizers or a grace period is marked and stays; the write that takes
//! away its last finalizer removes it.

use super::{
    Writer,
    delete_options::{DeleteOptions, FOREGROUND, ORPHAN, Propagation},
    finalization::{finalizers, is_finished},
    quota::{Enforcement, QuotaChange},
    request::Admitted,
    retry::{ATTEMPTS, MODIFIED, pause},
};
use crate::read::{Selected, Selection};
use hyper::StatusCode;
use std::sync::atomic::Ordering::Relaxed;
use tenure_builtin::role::{self, Role};
use tenure_catalog::{
    ResourceHandler, Target,
    history::{Author, HistoryVerb},
    object::{Stored, encode, meta_text, metadata, seconds, with_metadata},
};
use tenure_crd::CLEANUP_FINALIZER;
use tenure_http::{Format, Request, Response};
use tenure_meta::{ApiError, Timestamp};
use tenure_store::{Expected, Revision, Transaction};
use tenure_value::{Text, Value};

/// The result of a deletion.
pub(crate) enum Deleted {
    /// The object is marked for deletion, and stays for now.
    Pending(Stored),
    /// The object is removed; this was its last state.
    Removed(Stored),
}

impl Writer {
    /// Carries out a DELETE of an object.
    pub async fn delete(&self, target: &Target, request: &Request) -> Result<Response, ApiError> {
        let format = request.format(target.offer())?;
        let options = DeleteOptions::of(request, &self.profile)?;
        if options.is_unsafe {
            self.authorize_unsafe_deletion(target, request)?;
        }
        let mut warnings = Vec::new();
        let deleted = match self.delete_object(target, request, &options, &mut warnings).await {
            Ok(deleted) => deleted,
            Err(failure) => return Err(failure.with_warnings(warnings)),
        };
        let answer = match deleted {
            Deleted::Removed(stored) if !target.handler.resource.strategy.delete_returns_object => {
                Ok(success(target, &stored, format))
            }
            Deleted::Pending(stored) if options.distinguishes_pending => {
                self.reader.show(StatusCode::ACCEPTED, target, request, format, &stored)
            }
            Deleted::Removed(stored) | Deleted::Pending(stored) => {
                self.reader.show(StatusCode::OK, target, request, format, &stored)
            }
        };
        answer.map(|answer| answer.with_warnings(&warnings))
    }

    /// Carries out a DELETE of a collection: deletes the selected objects and returns them.
    pub async fn delete_collection(&self, target: &Target, request: &Request) -> Result<Response, ApiError> {
        let format = request.format(target.offer())?;
        let options = DeleteOptions::of(request, &self.profile)?;
        options.check_of_collection()?;
        let selection = Selection::of(target, request, self.profile)?;
        let Selected { items, metadata, memory } = self.reader.select(target, request, &selection).await?;
        let mut warnings = Vec::new();
        for item in &items {
            let member = Target {
                verb: target.verb,
                handler: target.handler.clone(),
                namespace: target.namespace.clone(),
                name: meta_text(&item.object, "name").into(),
                subresource: Text::default(),
            };
            match self.delete_object(&member, request, &options, &mut warnings).await {
                Ok(_) => {}
                Err(failure) if failure.code() == 404 => {}
                Err(failure) => return Err(failure.with_warnings(warnings)),
            }
        }
        let mut answer = self.reader.show_list(target, request, format, &items, &metadata)?;
        answer.memory = memory;
        Ok(answer.with_warnings(&warnings))
    }

    /// Deletes an object; on conflict, retries from the live object.
    pub async fn delete_object(
        &self,
        target: &Target,
        request: &Request,
        options: &DeleteOptions,
        warnings: &mut Vec<String>,
    ) -> Result<Deleted, ApiError> {
        let resource = &target.handler.resource;
        if role::is_protected(target.handler.role, &target.name) {
            let why = "this namespace may not be deleted";
            return Err(ApiError::forbidden(&resource.group, &resource.name, &target.name, why));
        }
        let now = self.objects.clock.now();
        // The revision that admission has reviewed.
        let mut reviewed = None;
        for attempt in 0..ATTEMPTS {
            let live = self.objects.read(target).await?.ok_or_else(|| target.not_found())?;
            if options.is_unsafe {
                let why = "unsafe deletion is not allowed because the object is decodable from storage";
                return Err(ApiError::conflict(&resource.group, &resource.name, &target.name, why));
            }
            options.check(target, &live)?;
            // An eviction has a permission of its own.
            if options.admitted == Admitted::NotYet {
                let counted = (attempt == 0 && !options.dry_run).then_some(now);
                self.authorize_deletion(target, request, &live, counted)?;
            }
            if options.admitted == Admitted::NotYet && reviewed != Some(live.revision) {
                Box::pin(self.admit_deletion(target, request, options, &live, warnings)).await?;
                reviewed = Some(live.revision);
            }
            match self.delete_live(target, request, options, &live, now).await? {
                Attempt::Done(deleted) => return Ok(deleted),
                Attempt::Marked(revision) => reviewed = Some(revision),
                Attempt::Conflict => {
                    self.metrics.retries.fetch_add(1, Relaxed);
                    pause(attempt).await;
                }
            }
        }
        Err(target.conflict(MODIFIED))
    }

    /// Tries once to delete an object.
    async fn delete_live(
        &self,
        target: &Target,
        request: &Request,
        options: &DeleteOptions,
        live: &Stored,
        now: Timestamp,
    ) -> Result<Attempt, ApiError> {
        let (handler, key) = (&target.handler, target.key());
        let marked = marked(handler, &live.object, options, now);
        let stays = !is_finished(&marked, handler);
        if stays && marked == live.object {
            return Ok(Attempt::Done(Deleted::Pending(live.clone())));
        }
        let entry = self.objects.store.peek(key.as_bytes())?.filter(|entry| entry.modified == live.revision);
        let before = self.as_stored(handler, live, entry.as_ref()).await?;
        let manager = request.default_manager();
        let author = Author {
            verb: HistoryVerb::Delete,
            user: &request.user.name,
            manager: &manager,
            subresource: "",
        };
        let record = |transaction: Transaction, after: Option<&Value>| {
            let after = after.map(|after| (after, &live.managers));
            let recorded = self.history.record(transaction, handler, &key, &author, before.as_ref(), after);
            recorded.map(|(transaction, _)| transaction)
        };
        let put = async |object: &Value| -> Result<Transaction, ApiError> {
            let object = self.objects.convert_to_storage(handler, object).await?;
            let value = encode(&object, &live.managers)?;
            record(Transaction::new().put(key.clone(), Expected::At(live.revision), value), Some(&object))
        };
        // Watchers of an object that was marked before see that its grace period ends, and then its deletion, as recorded.
        let was_marked = live.object.at(["metadata", "deletionTimestamp"]).is_some();
        if !stays && was_marked && marked != live.object && !options.dry_run {
            let committed = self.commit(handler, put(&marked).await?).await?;
            return Ok(committed.map_or(Attempt::Conflict, Attempt::Marked));
        }
        // A kind that is removed at once is never seen as marked.
        let shows_mark = stays || handler.grace_period(&live.object, None).is_some();
        let object = if shows_mark { marked } else { live.object.clone() };
        let mut stored = Stored { object, ..live.clone() };
        let result = if stays { Deleted::Pending } else { Deleted::Removed };
        if options.dry_run {
            return Ok(Attempt::Done(result(stored)));
        }
        let transaction = if stays {
            put(&stored.object).await?
        } else {
            let removed = Transaction::new().delete(key.clone(), Expected::At(live.revision));
            record(self.services.remove(handler, &key, &live.object, removed).await?, None)?
        };
        let change = QuotaChange {
            handler,
            namespace: &target.namespace,
            name: &target.name,
            old: &live.object,
            new: if stays { &stored.object } else { &Value::Null },
            enforcement: Enforcement::Record,
        };
        let (transaction, _lock) = self.charge_quotas(&change, transaction).await?;
        Ok(match self.commit(handler, transaction).await? {
            Some(revision) => {
                stored.revision = revision;
                Attempt::Done(result(stored))
            }
            None => Attempt::Conflict,
        })
    }
}

/// The result of one attempt to delete an object.
enum Attempt {
    Done(Deleted),
    /// The object was marked at this revision, and is deleted by the next attempt.
    Marked(Revision),
    Conflict,
}

/// Returns the object as a deletion leaves it: marked, with the finalizer that its dependents need.
fn marked(handler: &ResourceHandler, object: &Value, options: &DeleteOptions, now: Timestamp) -> Value {
    let strategy = &handler.resource.strategy;
    let mut fields = metadata(object);
    let was_marked = fields.contains("deletionTimestamp");
    let held: Vec<Text> = finalizers(object).map(Text::new).collect();
    let wanted = options.propagation.or(strategy.orphans.then_some(Propagation::Orphan));
    let wanted = wanted.filter(|_| !strategy.childless);
    let mut finalizers: Vec<Text> = held.clone();
    if let Some(wanted) = wanted {
        finalizers.retain(|name| name != FOREGROUND && name != ORPHAN);
        match wanted {
            Propagation::Foreground => finalizers.push(FOREGROUND.into()),
            Propagation::Orphan => finalizers.push(ORPHAN.into()),
            Propagation::Background => {}
        }
    }
    if finalizers != held {
        fields = match finalizers.is_empty() {
            true => fields.without("finalizers"),
            false => fields.with("finalizers", Value::array(finalizers.into_iter().map(Value::from))),
        };
    }
    if handler.role == Role::Definition && !was_marked {
        // The first request is that the objects go, whatever else it says.
        let own = Text::new(CLEANUP_FINALIZER);
        let missing = (!held.contains(&own)).then_some(own);
        let finalizers = held.into_iter().chain(missing).map(Value::from);
        let fields = fields.with("finalizers", Value::array(finalizers));
        let marked = with_metadata(object, fields.with("deletionTimestamp", seconds(now)));
        return tenure_crd::terminating(&marked, now);
    }
    let grace = handler.grace_period(object, options.grace);
    if handler.role == Role::Namespace {
        if !was_marked {
            fields = fields.with("deletionTimestamp", seconds(now));
        }
        return role::terminating_namespace(&with_metadata(object, fields));
    }
    let current = fields.get("deletionGracePeriodSeconds").and_then(Value::as_i64);
    let shortens = grace.is_some() && current.is_some_and(|current| grace.unwrap_or(0) < current);
    if !was_marked || shortens {
        let grace = grace.unwrap_or(0);
        let until = Timestamp { seconds: now.seconds + grace, nanos: 0 };
        fields = fields.with("deletionTimestamp", seconds(until)).with("deletionGracePeriodSeconds", grace);
        if !was_marked && let Some(generation) = fields.get("generation").and_then(Value::as_i64) {
            fields = fields.with("generation", generation + 1);
        }
    }
    with_metadata(object, fields)
}

/// Returns the response to a deletion that removed the object.
fn success(target: &Target, stored: &Stored, format: Format) -> Response {
    let resource = &target.handler.resource;
    let mut details =
        vec![("name", Value::from(target.name.clone())), ("kind", Value::from(resource.name.clone()))];
    if !resource.group.is_empty() {
        details.push(("group", Value::from(resource.group.clone())));
    }
    details.push(("uid", Value::from(meta_text(&stored.object, "uid"))));
    let status = Value::object([
        ("kind", Value::from("Status")),
        ("apiVersion", Value::from("v1")),
        ("metadata", Value::object::<&str>([])),
        ("status", Value::from("Success")),
        ("details", Value::object(details)),
    ]);
    Response::document(StatusCode::OK, &status, format)
}
