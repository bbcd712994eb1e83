//! The phases of every create and update, in order: [`Writer::attempt_phases`] is the list, and each phase is a function of its own.
//! A test compares it with the table of `docs/internals/architecture.md`. The request has passed the handler chain; what a write
//! needs beyond that, such as permissions on fields, is a phase (`authorize.rs`).

use super::{
    Writer, admission,
    authorize::annotate_owner_changes,
    body::LIMITS,
    commit::{Outcome, Written},
    create_context::ServerContext,
    emptied_content,
    emptied_metadata::EmptiedMetadata,
    finalization::is_finished,
    identity::{identify, keep_identity, without_deletion_marks},
    ownership::{UNWRITTEN, as_live},
    request::{Body, Next, ObjectUpdate, WriteRequest},
    retry::{ATTEMPTS, MODIFIED, pause},
};
use crate::admission::NAMESPACE_LIFECYCLE;
use std::sync::atomic::Ordering::Relaxed;
use tenure_apply::{ApplyError, Identity, Live, Managers, Operation, Presence, Requested, Settled, State};
use tenure_builtin::role::Role;
use tenure_catalog::{
    Verb, check_size, duplicate_key_conflicts,
    object::{Stored, meta_text},
};
use tenure_meta::{ApiError, Cause, Endpoint};
use tenure_profile::Improvement;
use tenure_store::Revision;
use tenure_value::Value;

/// Which state of the object an attempt starts from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    /// What this server knows, which another server may have overwritten.
    Known,
    /// What is current.
    Current,
}

impl Writer {
    /// Carries out a write of the target's object; on conflict, retries from the live object.
    pub async fn write(
        &self,
        write: &WriteRequest<'_>,
        change: &dyn ObjectUpdate,
    ) -> Result<Written, ApiError> {
        // What this server knows is nearly always current, and the commit fails where it is not.
        let mut base = Base::Known;
        for attempt in 0..ATTEMPTS {
            let live = match base {
                Base::Known => self.objects.peek(write.target).await?,
                Base::Current => self.objects.read(write.target).await?,
            };
            let outcome = match self.attempt(write, change, live.as_ref()).await {
                Ok(None) => {
                    self.metrics.retries.fetch_add(1, Relaxed);
                    pause(attempt).await;
                    continue;
                }
                Ok(Some(written)) => Ok(written),
                Err(failure) => Err(failure),
            };
            let is_final = match &outcome {
                Ok(written) => !write.options.dry_run && !matches!(written.outcome, Outcome::Unchanged),
                Err(failure) => failure.code() >= 500,
            };
            // A result that no commit confirmed must be that of the current state.
            if is_final || base == Base::Current || self.is_current(write, live.as_ref()).await? {
                return outcome;
            }
            base = Base::Current;
        }
        Err(write.target.conflict(MODIFIED))
    }

    /// Tries once to create or update the object: the phases of a write, in order. Returns `None` if another write came first.
    pub(super) async fn attempt(
        &self,
        write: &WriteRequest<'_>,
        change: &dyn ObjectUpdate,
        live: Option<&Stored>,
    ) -> Result<Option<Written>, ApiError> {
        self.attempt_warned(write, change, live, &mut Vec::new()).await
    }

    /// Like [`Writer::attempt`]; if another write came first, `warnings` has what the client is to be warned of.
    pub(super) async fn attempt_warned(
        &self,
        write: &WriteRequest<'_>,
        change: &dyn ObjectUpdate,
        live: Option<&Stored>,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Written>, ApiError> {
        let outcome = self.attempt_phases(write, change, live, warnings).await;
        // What a client was warned of before the write failed may explain the failure.
        outcome.map_err(|error| error.with_warnings(std::mem::take(warnings)))
    }

    async fn attempt_phases(
        &self,
        write: &WriteRequest<'_>,
        change: &dyn ObjectUpdate,
        live: Option<&Stored>,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Written>, ApiError> {
        // Build the next object from the live one, and decide who owns its fields.
        let next = self.with_conversions(write, || change.next(write, live)).await?;
        let is_apply = matches!(next, Next::Applied(_));
        if let (Next::Whole(body), Verb::Create | Verb::Update) = (&next, write.target.verb)
            && write.endpoint != Endpoint::Scale
        {
            write.request.audit.set_request_object(&body.object, &body.version);
        }
        let sent = match &next {
            Next::Whole(body) | Next::Unowned(body) => body.sent.clone(),
            Next::Applied(state) => state.object.clone(),
        };
        let state = match next {
            Next::Whole(body) => self.own(write, live, body, warnings).await?,
            Next::Unowned(body) => State {
                object: live.map_or(body.object.clone(), |live| keep_identity(live, body.object)),
                managers: live.map(|live| live.managers.clone()).unwrap_or_default(),
            },
            Next::Applied(state) => state,
        };
        if is_apply
            && let Some(live) = live.filter(|live| self.is_final_noop(write, live, &state))
            && self.is_stored_as(write, live, None).await?
        {
            warnings.extend(write.target.handler.strategy().warnings(&live.object, Some(&live.object)));
            self.remember_apply(write, live, warnings);
            return Ok(Some(self.unchanged(write, live, std::mem::take(warnings))));
        }
        let emptied = match is_apply {
            true => EmptiedMetadata::of_applied(write, &state.object),
            false => EmptiedMetadata::default(),
        };
        // Set defaults, and the metadata that only the server sets.
        let State { object, managers } = match is_apply {
            true => write.default_applied(state, live, warnings)?,
            false => state,
        };
        let (object, name) = match live {
            Some(live) if is_apply => (keep_identity(live, object), write.target.name.clone()),
            Some(_) => (object, write.target.name.clone()),
            None => identify(write, &self.objects.identifiers, object),
        };
        self.check_manager_count(write, &managers, live)?;
        if live.is_none() && write.target.handler.is_terminating() {
            let why = "create not allowed while custom resource definition is terminating";
            let resource = &write.target.handler.resource;
            return Err(ApiError::forbidden(&resource.group, &resource.name, &name, why));
        }
        // A new object needs a namespace.
        let namespace = match live {
            None if self.admission.runs_plugin(NAMESPACE_LIFECYCLE) => {
                self.objects.namespace_of_new(write.target, &name).await?
            }
            _ => None,
        };
        // Mutating admission.
        let review = admission::review(self, write, live, &name).await?;
        let object = match &review {
            Some(review) => Box::pin(review.mutate(object, &managers, live, warnings)).await?,
            None => object,
        };
        let name = match live {
            None if write.target.verb == Verb::Create => self.admitted_name(write, name, &object).await?,
            _ => name,
        };
        // Prepare by the strategy of the kind, and validate.
        let admitted = object;
        let object = self.prepare(write, live, &admitted).await?;
        let object = match live.filter(|_| write.counts_emptied()) {
            Some(live) => emptied_content::counted(&write.target.handler, &sent, &live.object, object),
            None => object,
        };
        let object = self.accept_definition(write, live, object, warnings).await?;
        self.authorize_grant(write, live, &object)?;
        self.validate(write, live, [&sent, &admitted, &object], &managers, is_apply, warnings).await?;
        self.authorize_signing(write, live, &object)?;
        if matches!(write.endpoint, Endpoint::Main | Endpoint::Scale) {
            warnings.extend(write.target.handler.strategy().warnings(&object, live.map(|live| &live.object)));
        }
        self.authorize_creation(write, live, &name)?;
        self.authorize_fields(write, live, &object, &managers, is_apply)?;
        // Validating admission.
        if let Some(review) = &review {
            Box::pin(review.validate(&object, &managers, live, warnings)).await?;
        }
        // Bring the object into the form in which it is read, and see whether anything changes at all.
        let (object, at_storage) = self.canonicalize(write, object, live).await?;
        let at_storage = match emptied.is_empty() {
            true => at_storage,
            false => Some(emptied.stored_in(at_storage.unwrap_or_else(|| object.clone()))),
        };
        let State { object, managers } = match live {
            Some(live) => {
                let is_stored_anyway =
                    write.reorders_managers(&managers, &live.managers) || !emptied.is_empty();
                let as_computed = managers.clone();
                match (State { object, managers }).settle(as_live(live)) {
                    Settled::Unchanged(state) if is_stored_anyway => State { managers: as_computed, ..state },
                    Settled::Unchanged(state) => {
                        if self.is_stored_as(write, live, at_storage.as_ref()).await? {
                            if write.is_remembered && self.noop_apply_is_final(write) {
                                self.remember_apply(write, live, warnings);
                            }
                            return Ok(Some(self.unchanged(write, live, std::mem::take(warnings))));
                        }
                        state
                    }
                    Settled::Changed(state) => state,
                }
            }
            None => State { object, managers },
        };
        let state = State { object, managers };
        check_size(&state.object, &state.managers, live, &LIMITS)?;
        annotate_owner_changes(write, live, &state);
        let State { object, managers } = state;
        let revision = live.map_or(Revision::ZERO, |live| live.revision);
        let stored = Stored { object, managers, revision };
        match live {
            Some(live) => {
                let given = std::mem::take(warnings);
                let mut written = self.commit_update(write, live, stored, at_storage, given).await?;
                if let Some(written) = written.as_mut().filter(|_| !emptied.is_empty())
                    && is_finished(&written.stored.object, &write.target.handler)
                {
                    written.stored.object = emptied.answered_in(std::mem::take(&mut written.stored.object));
                }
                Ok(written)
            }
            None => {
                let given = warnings.clone();
                self.commit_create(write, &name, stored, at_storage, namespace, given).await
            }
        }
    }

    /// Runs a decision on ownership; as often as it needs an object at a version that only a webhook can convert to, the webhook
    /// is asked and the decision made again.
    async fn with_conversions<T>(
        &self,
        write: &WriteRequest<'_>,
        decide: impl Fn() -> Result<T, ApiError> + Send + Sync,
    ) -> Result<T, ApiError> {
        loop {
            match decide() {
                Err(failure) => {
                    let handler = &write.target.handler;
                    if !self.objects.fetch_conversion(handler, &write.conversions).await? {
                        return Err(failure);
                    }
                }
                decided => return decided,
            }
        }
    }

    /// Decides the ownership of a whole object: the manager owns what it changed.
    async fn own(
        &self,
        write: &WriteRequest<'_>,
        live: Option<&Stored>,
        body: Body,
        warnings: &mut Vec<String>,
    ) -> Result<State, ApiError> {
        let handler = &write.target.handler;
        *warnings = body.warnings;
        let (empty, none) = (handler.empty(), Managers::default());
        let (object, requested, found) = match live {
            Some(live) => {
                write.check_version(live, &body.version)?;
                let requested = match write.endpoint {
                    Endpoint::Main => handler.requested_managers(body.managers.as_ref()),
                    _ => Requested::Live,
                };
                (keep_identity(live, body.object), requested, as_live(live))
            }
            None => {
                let found = Live { object: &empty, managers: &none, presence: Presence::New };
                (without_deletion_marks(write, body.object), Requested::Live, found)
            }
        };
        let written = live.map_or(UNWRITTEN, |live| live.revision);
        let decide = || {
            let decided = write.ownership(&write.target.subresource, written, |ownership| {
                tenure_apply::update(found, &object, requested, ownership)
            });
            decided.map_err(|error| write.refusal(error, None))
        };
        let state = self.with_conversions(write, decide).await?;
        if live.is_some() && body.managers.is_some() {
            write.check_manager_names(&state.managers)?;
        }
        Ok(state)
    }

    /// Whether an apply leaves the live object as it is and no later phase could change or refuse it.
    fn is_final_noop(&self, write: &WriteRequest<'_>, live: &Stored, state: &State) -> bool {
        state.object.ptr_eq(&live.object)
            && state.managers.same_fields(&live.managers)
            && !write.reorders_managers(&state.managers, &live.managers)
            && self.noop_apply_is_final(write)
    }

    /// Whether no later phase could change or refuse an apply that leaves the object as it is.
    pub(super) fn noop_apply_is_final(&self, write: &WriteRequest<'_>) -> bool {
        write.target.handler.strategy().noop_apply_is_final()
            && !admission::handles_update(self, write)
            && !self.limits_fields(write)
    }

    /// Whether the live object is stored in the form in which it would be stored now. It is not if the version of storage or the
    /// schema has changed since; then a write that changes nothing else stores it in that form.
    async fn is_stored_as(
        &self,
        write: &WriteRequest<'_>,
        live: &Stored,
        at_storage: Option<&Value>,
    ) -> Result<bool, ApiError> {
        let handler = &write.target.handler;
        // Kubernetes stores what a read fills in with the first write, even if that changes nothing.
        let is_completed = !write.profile.has(Improvement::IgnoreTimeChanges)
            && handler.strategy().is_completed_on_read(&live.object);
        if !handler.is_custom() && !is_completed {
            return Ok(true);
        }
        let entry = self.objects.store.get(write.target.key().as_bytes()).await?;
        let Some(entry) = entry.filter(|entry| entry.modified == live.revision) else { return Ok(true) };
        if is_completed {
            return Ok(entry.created != entry.modified);
        }
        let stored = self.objects.decode(&entry)?;
        Ok(match at_storage {
            Some(at_storage) => stored.object == *at_storage,
            None => stored.object == self.objects.convert_to_storage(handler, &live.object).await?,
        })
    }

    /// Returns the result of a write that changes nothing.
    pub(super) fn unchanged(
        &self,
        write: &WriteRequest<'_>,
        live: &Stored,
        warnings: Vec<String>,
    ) -> Written {
        self.metrics.noops.fetch_add(1, Relaxed);
        self.history.count_noop(&write.manager);
        Written { stored: live.clone(), outcome: Outcome::Unchanged, warnings }
    }

    /// Checks that an object does not collect managers without bound.
    fn check_manager_count(
        &self,
        write: &WriteRequest<'_>,
        managers: &Managers,
        live: Option<&Stored>,
    ) -> Result<(), ApiError> {
        write.check_manager_count(managers, live.map_or(0, |live| live.managers.iter().count()))
    }

    /// Prepares an object by the strategy of its kind: what a create fills in, what an endpoint may change.
    async fn prepare(
        &self,
        write: &WriteRequest<'_>,
        live: Option<&Stored>,
        object: &Value,
    ) -> Result<Value, ApiError> {
        let handler = &write.target.handler;
        let mut context = ServerContext::new(self, write, object).await?;
        Ok(match live {
            Some(live) => handler.prepare_for_update(write.endpoint, &live.object, object, &mut context),
            None => handler.prepare_for_create(object, &mut context),
        })
    }

    /// Gives a definition of a custom resource the status that the server maintains.
    async fn accept_definition(
        &self,
        write: &WriteRequest<'_>,
        live: Option<&Stored>,
        object: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Value, ApiError> {
        if write.target.handler.role != Role::Definition {
            return Ok(object);
        }
        let names = self.catalog.snapshot().names_in_use(&object);
        if let Some(live) = live.filter(|_| write.profile.has(Improvement::AnnounceMergeChanges)) {
            warnings.extend(tenure_crd::merge_changes(&live.object, &object));
        }
        Ok(match (write.profile.has(Improvement::EstablishAtOnce), write.endpoint) {
            (true, _) => tenure_crd::accept(&object, &names, write.now),
            (false, Endpoint::Main) => tenure_crd::unaccepted(&object),
            (false, _) => object,
        })
    }

    /// Checks an object by the rules of its kind: as it was sent, as it was admitted before its kind filled in the rest, and as it is
    /// now.
    async fn validate(
        &self,
        write: &WriteRequest<'_>,
        live: Option<&Stored>,
        [sent, admitted, object]: [&Value; 3],
        managers: &Managers,
        is_apply: bool,
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        let handler = &write.target.handler;
        // In Kubernetes a binding is written as it is.
        if write.endpoint == Endpoint::Other("binding") && !write.profile.has(Improvement::OwnBindings) {
            return Ok(());
        }
        let mut causes = match write.endpoint {
            Endpoint::Main => {
                let old = live.map(|live| &live.object);
                self.services.errors(handler, old, [admitted, object], write.options.dry_run).await?
            }
            _ => Vec::new(),
        };
        if causes.is_empty() {
            causes = match live {
                Some(live) => {
                    handler.validate_update(write.endpoint, &live.object, object, write.now, warnings)
                }
                None => handler.validate(object),
            };
        }
        if causes.is_empty() {
            return Ok(());
        }
        // A client that forces cannot be told to force.
        let as_conflicts =
            write.profile.has(Improvement::DuplicateValuesAreConflicts) && !write.request.query.flag("force");
        if let Some(live) = live.filter(|_| is_apply && as_conflicts) {
            check_duplicates(write, object, &causes, [&live.managers, managers])?;
        }
        emptied_content::quote(&mut causes, sent, handler.type_ref());
        Err(handler.invalid(meta_text(object, "name"), causes))
    }

    /// Returns a valid object as the next read will return it. Where its version is not that of storage, that is what the
    /// conversion there and back leaves of it, and the object at storage is returned too.
    async fn canonicalize(
        &self,
        write: &WriteRequest<'_>,
        object: Value,
        live: Option<&Stored>,
    ) -> Result<(Value, Option<Value>), ApiError> {
        let handler = &write.target.handler;
        let object = handler.canonicalize(object, live.map(|live| &live.object));
        if !handler.is_custom() {
            let at_storage = handler.strategy().stores_as_served().then(|| object.clone());
            return Ok((object, at_storage));
        }
        if handler.resource.version == handler.resource.storage.1 {
            return Ok((object, None));
        }
        let at_storage = self.objects.convert_to_storage(handler, &object).await?;
        let stored =
            Stored { object: at_storage.clone(), managers: Managers::default(), revision: Revision::ZERO };
        let back = self.objects.convert_one_from_storage(handler, stored).await?;
        Ok((back.object, Some(at_storage)))
    }

    /// Whether the target's object is still at the revision it was read at.
    pub(super) async fn is_current(
        &self,
        write: &WriteRequest<'_>,
        live: Option<&Stored>,
    ) -> Result<bool, ApiError> {
        let current = self.objects.store.get(write.target.key().as_bytes()).await?;
        Ok(current.map(|entry| entry.modified) == live.map(|live| live.revision))
    }
}

/// Reports duplicate values that stem from entries of other managers as conflicts with those managers.
fn check_duplicates(
    write: &WriteRequest<'_>,
    object: &Value,
    causes: &[Cause],
    managers: [&Managers; 2],
) -> Result<(), ApiError> {
    let handler = &write.target.handler;
    let writer = Identity {
        name: &write.manager,
        operation: Operation::Apply,
        api_version: &handler.resource.api_version,
        subresource: &write.target.subresource,
    };
    let ty = handler.type_ref();
    match duplicate_key_conflicts::conflicts(causes, object, ty, managers, &writer) {
        Some(conflicts) => Err(write.refusal(ApplyError::Conflicts(conflicts), None)),
        None => Ok(()),
    }
}
