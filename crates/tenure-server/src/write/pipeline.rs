//! The one way of every write: make the next object from the live one, decide ownership, fill in and check by
//! the rules of the kind, and swap it in; if somebody was faster, once more. The verbs differ only in how the
//! next object is made.

use crate::{
    Cause, Failure, FieldValidation, WriteOptions,
    catalog::{handler::Endpoint, schema_history},
    custom,
    kinds::{self, DecodeError, Decoded, Scope, scalar::Timestamp},
    object::{
        Document, Encoded, Stored, bare, encode, encode_after, key, meta_text, metadata, with_metadata,
    },
    objects::conversion::Conversions,
    query::manager_fault,
    read::scan::parse_version,
    server::{Request, Server},
    target::Target,
    write::{
        allocate::{self, Claims},
        metadata_checks,
        strict_decoding::Complaints,
    },
};
use std::{sync::atomic::Ordering::Relaxed, time::Duration};
use tenure_apply::{
    ApplyError, Identity, Live, Managers, Operation, Presence, Requested, Settled, State, Write,
};
use tenure_store::{Error, Expected, Revision, Transaction};
use tenure_value::{Text, Value};

/// The most managers of one object.
const MANAGERS: usize = 1000;
/// How often a write starts over because somebody else was faster.
const ATTEMPTS: usize = 16;

/// What stands for the revision of an object that is not there yet: nothing ended after it.
pub(crate) const UNWRITTEN: Revision = Revision::from_number(u64::MAX);

/// From which lost swap on a write waits before the next attempt, and how long at most.
const PATIENT_FROM: usize = 2;
const LONGEST_PAUSE: Duration = Duration::from_millis(64);

/// Waits a little, the longer the more often a write was too late, and each a different time: of many writers of one
/// object, on whichever server, none is always the last.
async fn pause(lost: usize) {
    let Some(doublings) = lost.checked_sub(PATIENT_FROM) else { return };
    let most = LONGEST_PAUSE.min(Duration::from_millis(1 << doublings.min(16)));
    let part = uuid::Uuid::new_v4().as_u128() as u32;
    tokio::time::sleep(most.mul_f64(f64::from(part) / f64::from(u32::MAX))).await;
}

/// What a write knows besides its body.
pub(crate) struct Writing<'a> {
    pub api: &'a Server,
    pub target: &'a Target,
    pub options: WriteOptions,
    pub manager: Text,
    pub now: Timestamp,
    pub endpoint: Endpoint,
    pub request: &'a Request,
    /// Whether the write is not admitted: it is part of a request that was, or the server's own.
    pub skip_admission: bool,
    /// What is told of an applied value that someone else's entry has too.
    clashes: Clashes,
    /// What a webhook converted so that ownership could be decided.
    conversions: Conversions,
}

/// How an applied value is told of that must be unique and that an entry held by someone else has too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clashes {
    /// As the conflict that it is.
    Conflict,
    /// As what is wrong with the object: a writer who forces cannot be told to.
    Fault,
}

/// What became of a write.
pub(crate) struct Written {
    pub stored: Stored,
    pub outcome: Outcome,
    pub warnings: Vec<String>,
}

/// What a write did.
pub(crate) enum Outcome {
    Created,
    /// It changed the object, which is known as JSON where the store was given it in the form of the answer.
    Changed(Option<Document>),
    /// It left the object as it was.
    Unchanged,
}

/// What a write is made from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basis {
    /// What this server knows, which may be behind another's write.
    Known,
    /// What is current.
    Current,
}

/// The next object as the verb made it.
pub(crate) enum Next {
    /// A whole object, as a body or the result of a patch.
    Whole(Body),
    /// What an apply made, with the managers it decided on.
    Applied(State),
}

/// A whole object that was read as one of its kind.
#[derive(Clone)]
pub(crate) struct Body {
    /// The object with its defaults, without `managedFields` and `resourceVersion`.
    object: Value,
    /// What the body said of `managedFields`.
    managers: Option<Value>,
    /// The version it was made from; empty when it does not say.
    version: Text,
    /// What was odd about it, where the client wants to know.
    warnings: Vec<String>,
}

impl<'a> Writing<'a> {
    /// Reads a document as an object of the target's kind that takes the place of the live one, if there is one;
    /// `strict_errors` are those about its text.
    pub fn body(
        &self,
        document: &Value,
        live: Option<&Stored>,
        strict_errors: &Complaints,
    ) -> Result<Body, Failure> {
        let mut warnings = Vec::new();
        metadata_checks::check(document)?;
        let object = self.complete(&bare(document), live, strict_errors, &mut warnings)?;
        Ok(Body {
            object,
            managers: document.at(["metadata", "managedFields"]).cloned(),
            version: meta_text(document, "resourceVersion").into(),
            warnings,
        })
    }

    pub fn new(
        api: &'a Server,
        target: &'a Target,
        request: &'a Request,
        options: WriteOptions,
    ) -> Writing<'a> {
        let manager = options.manager.clone().unwrap_or_else(|| request.default_manager());
        let endpoint = Endpoint::of(&target.subresource);
        Writing {
            api,
            target,
            options,
            manager,
            now: api.now(),
            endpoint,
            request,
            skip_admission: false,
            clashes: if request.query.flag("force") { Clashes::Fault } else { Clashes::Conflict },
            conversions: Conversions::default(),
        }
    }

    /// The write of a binding, which may set what no other write of a pod may.
    pub fn binding(
        api: &'a Server,
        target: &'a Target,
        request: &'a Request,
        options: WriteOptions,
    ) -> Writing<'a> {
        let endpoint = Endpoint::Other("binding".into());
        Writing { endpoint, ..Writing::new(api, target, request, options).skip_admission() }
    }

    /// The same write without admission.
    pub fn skip_admission(self) -> Writing<'a> {
        Writing { skip_admission: true, ..self }
    }

    /// Runs a function on the ownership of this write, of an object that was last written at a revision.
    pub fn ownership<T>(
        &self,
        subresource: &str,
        written: Revision,
        with: impl FnOnce(&Write<'_>) -> T,
    ) -> T {
        let served = &self.target.served;
        let (versions, empty, reset) = (
            served.versions(&self.conversions, written),
            served.empty(),
            served.reset_fields(&self.endpoint),
        );
        with(&Write {
            manager: &self.manager,
            api_version: &served.resource.api_version,
            subresource,
            now: Some(tenure_apply::Timestamp::from_unix(self.now.seconds)),
            versions: &versions,
            reset: reset.borrowed(),
            empty: &empty,
            behavior: tenure_apply::Behavior::default(),
        })
    }

    /// Changes the target's object; `make` may be called several times, with what is live at each.
    pub async fn change(
        &self,
        make: impl Fn(Option<&Stored>) -> Result<Next, Failure> + Send + Sync,
    ) -> Result<Written, Failure> {
        // What this server knows is nearly always current, and the swap fails where it is not.
        let mut basis = Basis::Known;
        for attempt in 0..ATTEMPTS {
            let live = match basis {
                Basis::Known => self.api.peek(self.target).await?,
                Basis::Current => self.api.read(self.target).await?,
            };
            let outcome = match self.attempt(live.as_ref(), &make).await {
                Ok(None) => {
                    self.api.metrics.retries.fetch_add(1, Relaxed);
                    pause(attempt).await;
                    // What was in the way is known by now.
                    continue;
                }
                Ok(Some(written)) => Ok(written),
                Err(failure) => Err(failure),
            };
            let final_anyway = match &outcome {
                Ok(written) => !self.options.dry_run && !matches!(written.outcome, Outcome::Unchanged),
                Err(failure) => failure.code() >= 500,
            };
            // An answer that no swap confirmed has to be that of the current state.
            if final_anyway || basis == Basis::Current || self.is_current(live.as_ref()).await? {
                return outcome;
            }
            basis = Basis::Current;
        }
        Err(self.target.conflict(MODIFIED))
    }

    /// Decides ownership; as often as that needs an object at a version that only a webhook can tell, it is asked.
    async fn decided<T>(&self, decide: impl Fn() -> Result<T, Failure> + Send + Sync) -> Result<T, Failure> {
        loop {
            match decide() {
                Err(failure) => {
                    if !self.api.fetch(&self.target.served, &self.conversions).await? {
                        return Err(failure);
                    }
                }
                decided => return decided,
            }
        }
    }

    /// Returns a valid object as the next read will give it: where its version is not that of storage, that is what
    /// the way there and back leaves of it, and the object at storage comes with it.
    async fn as_read(&self, object: Value, live: Option<&Stored>) -> Result<(Value, Option<Value>), Failure> {
        let served = &self.target.served;
        let object = served.as_read(object, live.map(|live| &live.object));
        if !served.is_custom() || served.resource.version == served.resource.storage.1 {
            return Ok((object, None));
        }
        let at_storage = self.api.for_storing(served, &object).await?;
        let stored =
            Stored { object: at_storage.clone(), managers: Managers::default(), revision: Revision::ZERO };
        let back = self.api.for_reading_one(served, stored).await?;
        Ok((back.object, Some(at_storage)))
    }

    /// Returns an object that takes the place of a live one, if there is one, at the version of storage, if it is not
    /// known yet.
    async fn at_storage(
        &self,
        known: Option<Value>,
        object: &Value,
        live: Option<&Stored>,
    ) -> Result<Value, Failure> {
        let served = &self.target.served;
        match known {
            Some(at_storage) => Ok(at_storage),
            None if served.reads_as_written() => {
                served.for_storing_after(object, live.map(|live| &live.object))
            }
            None => self.api.for_storing(served, object).await,
        }
    }

    /// Tells whether the target's object is still what it was taken for.
    async fn is_current(&self, live: Option<&Stored>) -> Result<bool, Failure> {
        let key = key(&self.target.served.resource, &self.target.namespace, &self.target.name);
        let current = self.api.store.get(key.as_bytes()).await?;
        Ok(current.map(|entry| entry.modified) == live.map(|live| live.revision))
    }

    async fn attempt(
        &self,
        live: Option<&Stored>,
        make: &(impl Fn(Option<&Stored>) -> Result<Next, Failure> + Send + Sync),
    ) -> Result<Option<Written>, Failure> {
        let next = self.decided(|| make(live)).await?;
        match live {
            Some(live) => self.replace(live, next).await,
            None => self.insert(next).await,
        }
    }

    /// Tries to put a new object in the place of a live one; nothing if somebody was faster.
    async fn replace(&self, live: &Stored, next: Next) -> Result<Option<Written>, Failure> {
        let (target, served) = (self.target, &self.target.served);
        let mut warnings = Vec::new();
        let admission = self.admission(Some(live), &target.name).await?;
        let applied = matches!(next, Next::Applied(_));
        let mut state = match next {
            Next::Whole(body) => {
                self.check_version(live, &body.version)?;
                let object = keep_identity(live, body.object);
                let requested = match self.endpoint {
                    Endpoint::Main => served.requested_managers(body.managers.as_ref()),
                    _ => Requested::Live,
                };
                warnings = body.warnings;
                let found =
                    Live { object: &live.object, managers: &live.managers, presence: Presence::Stored };
                let state = self
                    .decided(|| {
                        let decided = self.ownership(&target.subresource, live.revision, |write| {
                            tenure_apply::update(found, &object, requested, write)
                        });
                        decided.map_err(|error| self.refusal(error))
                    })
                    .await?;
                if body.managers.is_some() {
                    self.check_managers(&state.managers)?;
                }
                state
            }
            Next::Applied(state) if served.rests() && is_live(&state, live) && admission.is_none() => {
                return Ok(Some(self.unchanged(live, warnings)));
            }
            Next::Applied(state) => {
                let object = self.complete_applied(&state.object, Some(live), &mut warnings)?;
                State { object: keep_identity(live, object), ..state }
            }
        };
        self.check_count(&state.managers, live.managers.iter().count())?;
        if let Some(admission) = &admission {
            state.object = Box::pin(self.mutated(admission, &state, Some(live), &mut warnings)).await?;
        }
        let mut around = crate::write::create::Around::new(self, &state.object).await?;
        let object = served.prepare_update(&self.endpoint, &live.object, &state.object, &mut around);
        let object = self.accept_definition(object, Some(&live.object), &mut warnings).await?;
        let mut faults = served.validate_update(&self.endpoint, &live.object, &object);
        faults.extend(allocate::faults(self.api, served, &live.object, &state.object, &object).await?);
        if applied && !faults.is_empty() && self.clashes == Clashes::Conflict {
            self.check_clashes(&object, &faults, [&live.managers, &state.managers])?;
        }
        self.check(&object, faults)?;
        if let Some(admission) = &admission {
            let vetted = self.vetted(admission, &object, &state.managers, Some(live), &mut warnings);
            Box::pin(vetted).await?;
        }
        let (object, at_storage) = self.as_read(object, Some(live)).await?;
        let found = Live { object: &live.object, managers: &live.managers, presence: Presence::Stored };
        let state = match (State { object, ..state }).settle(found) {
            Settled::Unchanged(_) => return Ok(Some(self.unchanged(live, warnings))),
            Settled::Changed(state) => state,
        };
        let gone = crate::write::delete::is_finished(&state.object, served);
        let mut stored = Stored { object: state.object, managers: state.managers, revision: live.revision };
        if self.options.dry_run {
            return Ok(Some(Written { stored, outcome: Outcome::Changed(None), warnings }));
        }
        let key = key(&served.resource, &target.namespace, &target.name);
        let expected = Expected::At(live.revision);
        if gone {
            // It is not written again, and so keeps the revision it had.
            let transaction = Transaction::new().delete(key, expected);
            let committed = self.commit(Claims::release(served, &live.object, transaction)).await?;
            return Ok(committed.map(|_| Written { stored, outcome: Outcome::Changed(None), warnings }));
        }
        let claims = Claims::between(served, &live.object, &stored.object);
        let at_storage = self.at_storage(at_storage, &stored.object, Some(live)).await?;
        let value = self.api.store.peek(key.as_bytes())?.filter(|entry| entry.modified == live.revision);
        let value = value.as_ref().map(|entry| &*entry.value);
        let Encoded { value, document } = encode_after(&at_storage, &stored.managers, live, value)?;
        let transaction = claims.add(&key, Transaction::new().put(key.clone(), expected, value));
        let transaction = match served.is_definition() {
            true => {
                let old = (&live.object, live.revision);
                schema_history::keep(self.api, transaction, old, &stored.object).await?
            }
            false => transaction,
        };
        Ok(self.commit(transaction).await?.map(|revision| {
            stored.revision = revision;
            let document = at_storage.ptr_eq(&stored.object).then_some(document);
            self.api.decode_cache.put(key.clone(), Stored { object: at_storage, ..stored.clone() });
            self.api.decode_cache.put_read(&key, served, &stored);
            Written { stored, outcome: Outcome::Changed(document), warnings }
        }))
    }

    /// What became of a write that changes nothing.
    fn unchanged(&self, live: &Stored, warnings: Vec<String>) -> Written {
        self.api.metrics.noops.fetch_add(1, Relaxed);
        Written { stored: live.clone(), outcome: Outcome::Unchanged, warnings }
    }

    /// Tries to create the object; nothing if somebody was faster.
    pub async fn insert(&self, next: Next) -> Result<Option<Written>, Failure> {
        let (target, served) = (self.target, &self.target.served);
        let mut warnings = Vec::new();
        let (state, name) = match next {
            Next::Whole(Body { object, warnings: odd, .. }) => {
                warnings = odd;
                let object = unmarked(object);
                let name = meta_text(&object, "name").to_string();
                let empty = served.empty();
                let none = Managers::default();
                let found = Live { object: &empty, managers: &none, presence: Presence::New };
                let state = self.decided(|| {
                    let decided = self.ownership(&target.subresource, UNWRITTEN, |write| {
                        tenure_apply::update(found, &object, Requested::Live, write)
                    });
                    decided.map_err(|error| self.refusal(error))
                });
                (state.await?, name)
            }
            Next::Applied(state) => {
                let object = self.complete_applied(&state.object, None, &mut warnings)?;
                let name = meta_text(&object, "name").to_string();
                (State { object, ..state }, name)
            }
        };
        let born = self.born(&state.object, &name);
        let admission = self.admission(None, &name).await?;
        let born = match &admission {
            Some(admission) => {
                let state = State { object: born, managers: state.managers.clone() };
                Box::pin(self.mutated(admission, &state, None, &mut warnings)).await?
            }
            None => born,
        };
        let mut around = crate::write::create::Around::new(self, &born).await?;
        let object = served.prepare_create(&born, &mut around);
        let object = self.accept_definition(object, None, &mut warnings).await?;
        let mut faults = served.validate_create(&object);
        faults.extend(allocate::faults(self.api, served, &Value::Null, &born, &object).await?);
        self.check(&object, faults)?;
        if let Some(admission) = &admission {
            let vetted = self.vetted(admission, &object, &state.managers, None, &mut warnings);
            Box::pin(vetted).await?;
        }
        let (object, at_storage) = self.as_read(object, None).await?;
        let mut stored = Stored { object, managers: state.managers, revision: Revision::ZERO };
        let key = key(&served.resource, &target.namespace, &name);
        let namespace = self.api.namespace_for_new(target, &name).await?;
        if self.options.dry_run {
            if self.api.store.get(key.as_bytes()).await?.is_some() {
                return Ok(None);
            }
            return Ok(Some(Written { stored, outcome: Outcome::Created, warnings }));
        }
        let at_storage = self.at_storage(at_storage, &stored.object, None).await?;
        let put =
            Transaction::new().put(key.clone(), Expected::Absent, encode(&at_storage, &stored.managers)?);
        let claims = Claims::between(served, &Value::Null, &stored.object);
        let mut transaction = claims.add(&key, put);
        if let Some((key, namespace)) = namespace {
            transaction = transaction.require(key, Expected::At(namespace.revision));
        }
        match self.commit(transaction).await? {
            Some(revision) => {
                stored.revision = revision;
                Ok(Some(Written { stored, outcome: Outcome::Created, warnings }))
            }
            None => Ok(None),
        }
    }

    /// Gives a definition of a custom resource the status that the server keeps for it.
    async fn accept_definition(
        &self,
        object: Value,
        old: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        if !self.target.served.is_definition() {
            return Ok(object);
        }
        let group = object.at(["spec", "group"]).and_then(Value::as_str).unwrap_or_default();
        let names = self.api.names_in_use(group, meta_text(&object, "name")).await?;
        let object = match old {
            None => {
                let finalizer = Value::array([Value::from(custom::CLEANUP_FINALIZER)]);
                with_metadata(&object, metadata(&object).with("finalizers", finalizer))
            }
            Some(old) => {
                warnings.extend(custom::merge_changes(old, &object));
                object
            }
        };
        Ok(custom::accept(&object, &names, self.now))
    }

    /// Commits; nothing if a key was not as expected.
    pub async fn commit(&self, transaction: Transaction) -> Result<Option<Revision>, Failure> {
        match self.api.store.commit(transaction).await {
            Ok(committed) => {
                self.api.metrics.commits.fetch_add(1, Relaxed);
                if self.target.served.is_definition() {
                    self.api.refresh_catalog().await?;
                }
                if self.target.served.is_admission() {
                    self.api.refresh_admission_config().await?;
                }
                Ok(Some(committed.revision))
            }
            Err(Error::Conflict(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a body as an object of its kind; `strict_errors` are those about its text.
    fn complete(
        &self,
        body: &Value,
        live: Option<&Stored>,
        strict_errors: &Complaints,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let body = self.unscoped(body);
        let decoded = self.target.served.complete(&body, live.map(|live| &live.object), self.now);
        self.complained(&body, decoded, strict_errors, warnings)
    }

    /// Reads what an apply made as an object of its kind.
    fn complete_applied(
        &self,
        object: &Value,
        live: Option<&Stored>,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let object = self.unscoped(object);
        let live = live.map(|live| &live.object);
        let decoded = self.target.served.complete_applied(&object, live, self.now);
        self.complained(&object, decoded, &Complaints::default(), warnings)
    }

    /// An object of the cluster is in no namespace, whatever its body says.
    pub(crate) fn unscoped(&self, body: &Value) -> Value {
        let scoped = metadata(body);
        match self.target.served.resource.scope {
            Scope::Cluster if scoped.get("namespace").is_some_and(|given| given.as_str().is_some()) => {
                with_metadata(body, scoped.without("namespace"))
            }
            _ => body.clone(),
        }
    }

    /// Deals with what strict validation complains of, as the client wants it.
    fn complained(
        &self,
        body: &Value,
        decoded: Result<Decoded, Box<DecodeError>>,
        strict_errors: &Complaints,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let served = &self.target.served;
        let decoded = decoded.map_err(|error| served.cannot_handle(body, &error.to_string()))?;
        match self.options.validation {
            _ if decoded.strict_errors.is_empty() && strict_errors.duplicates.is_empty() => {}
            FieldValidation::Ignore => {}
            FieldValidation::Warn => warnings.extend(strict_errors.with(decoded.strict_errors)),
            FieldValidation::Strict => {
                let strict_errors = strict_errors.with(decoded.strict_errors);
                let why = format!("strict decoding error: {}", strict_errors.join(", "));
                return Err(served.cannot_handle(body, &why));
            }
        }
        warnings.extend(decoded.warnings);
        Ok(decoded.value)
    }

    /// Checks the version that a body was made from, if it says so.
    fn check_version(&self, live: &Stored, version: &str) -> Result<(), Failure> {
        if version.is_empty() || version == "0" {
            if !self.target.served.resource.strategy.unconditional_update && self.endpoint != Endpoint::Scale
            {
                let cause = Cause {
                    reason: "FieldValueInvalid".into(),
                    message: "Invalid value: 0: must be specified for an update".into(),
                    field: "metadata.resourceVersion".into(),
                    extension: None,
                };
                return Err(self.target.served.invalid(&self.target.name, vec![cause]));
            }
        } else {
            let asked = parse_version(version).map_err(Failure::bad_request)?;
            if asked != live.revision {
                return Err(self.target.conflict(MODIFIED));
            }
        }
        Ok(())
    }

    /// Checks that an object does not gather managers without end.
    fn check_count(&self, managers: &Managers, before: usize) -> Result<(), Failure> {
        let count = managers.iter().count();
        if count <= MANAGERS.max(before) {
            return Ok(());
        }
        let cause = Cause {
            reason: "FieldValueTooMany".into(),
            message: format!("Too many: {count}: must have at most {MANAGERS} items"),
            field: "metadata.managedFields".into(),
            extension: None,
        };
        Err(self.target.served.invalid(&self.target.name, vec![cause]))
    }

    /// Checks the names of the managers after a body that brought some.
    fn check_managers(&self, managers: &Managers) -> Result<(), Failure> {
        let faults = managers.iter().enumerate().filter_map(|(at, manager)| {
            let (reason, message) = manager_fault(&manager.name)?;
            let field = format!("metadata.managedFields[{at}].manager");
            Some(Cause { reason: reason.into(), message, field, extension: None })
        });
        let faults: Vec<Cause> = faults.collect();
        if faults.is_empty() { Ok(()) } else { Err(self.target.served.invalid(&self.target.name, faults)) }
    }

    /// Gives a new object what every object has.
    fn born(&self, object: &Value, name: &str) -> Value {
        let served = &self.target.served;
        let namespaced = served.resource.scope == Scope::Namespaced;
        served.identify(
            object,
            &kinds::Identity {
                name: name.into(),
                namespace: namespaced.then(|| self.target.namespace.clone()),
                uid: uuid::Uuid::new_v4().to_string().into(),
                now: self.now,
            },
        )
    }

    /// Returns the failure for an object that breaks rules.
    fn check(&self, object: &Value, faults: Vec<Cause>) -> Result<(), Failure> {
        if faults.is_empty() {
            Ok(())
        } else {
            Err(self.target.served.invalid(meta_text(object, "name"), faults))
        }
    }

    /// Tells of faults that stem from what others hold as the conflicts that they are.
    fn check_clashes(
        &self,
        object: &Value,
        faults: &[Cause],
        managers: [&Managers; 2],
    ) -> Result<(), Failure> {
        let served = &self.target.served;
        let writer = Identity {
            name: &self.manager,
            operation: Operation::Apply,
            api_version: &served.resource.api_version,
            subresource: &self.target.subresource,
        };
        match crate::write::duplicate_key_conflicts::conflicts(
            faults,
            object,
            served.type_ref(),
            managers,
            &writer,
        ) {
            Some(conflicts) => Err(self.refusal(ApplyError::Conflicts(conflicts))),
            None => Ok(()),
        }
    }

    /// Translates what ownership refuses.
    pub fn refusal(&self, error: ApplyError) -> Failure {
        refusal(self, error)
    }
}

/// What a client reads when it was not the first.
pub(crate) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Whether a state is the live one, which is known without comparing.
fn is_live(state: &State, live: &Stored) -> bool {
    state.object.ptr_eq(&live.object) && state.managers.same_fields(&live.managers)
}

/// Carries over what no write may change.
pub(crate) fn keep_identity(live: &Stored, object: Value) -> Value {
    /// Whatever a request says of these, the live object's count.
    const KEPT: [&str; 2] = ["creationTimestamp", "generation"];
    /// These count where a request leaves them out; to change them is a fault that validation finds.
    const FILLED: [&str; 5] = ["uid", "name", "namespace", "deletionTimestamp", "deletionGracePeriodSeconds"];
    let old = metadata(&live.object);
    let mut fields = metadata(&object);
    for name in KEPT {
        if fields.get(name) != old.get(name) {
            fields = match old.get(name) {
                Some(value) => fields.with(name, value.clone()),
                None => fields.without(name),
            };
        }
    }
    for name in FILLED {
        if let (None, Some(value)) = (fields.get(name), old.get(name)) {
            fields = fields.with(name, value.clone());
        }
    }
    if object
        .get("metadata")
        .and_then(Value::as_object)
        .is_some_and(|same| same.ptr_eq(&fields) || *same == fields)
    {
        return object;
    }
    with_metadata(&object, fields)
}

fn refusal(writing: &Writing<'_>, error: ApplyError) -> Failure {
    let target = writing.target;
    match error {
        ApplyError::Conflicts(conflicts) => {
            writing.api.metrics.conflicts.fetch_add(1, Relaxed);
            crate::write::update::conflict(target, &conflicts)
        }
        ApplyError::Conversion { .. } => Failure::internal(error.to_string()),
        other => {
            let resource = &target.served.resource;
            let named = format!(
                "{}/{}; {}, Kind={}",
                target.namespace, target.name, resource.api_version, resource.kind
            );
            Failure::bad_request(format!("failed to create typed patch object ({named}): {other}"))
        }
    }
}

/// Returns a new object without what only a deletion says of one.
fn unmarked(object: Value) -> Value {
    const OF_DELETION: [&str; 2] = ["deletionTimestamp", "deletionGracePeriodSeconds"];
    let fields = metadata(&object);
    if !OF_DELETION.iter().any(|name| fields.contains(name)) {
        return object;
    }
    with_metadata(&object, OF_DELETION.iter().fold(fields, |fields, name| fields.without(name)))
}
