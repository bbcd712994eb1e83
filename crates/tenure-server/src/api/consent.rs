//! A write before those who have a say in it: how it is shown to them, and what it is after they have changed it.

use super::{
    Api, Request,
    admission::{Admission, fault_of_webhook},
    delete::DeleteOptions,
    object::{Stored, bare, metadata, with_metadata},
    scale::{scale, with_replicas},
    served::Endpoint,
    target::Target,
    write::{Writing, keep_identity},
};
use crate::{Failure, FieldValidation, WriteOptions, admission::Operation};
use tenure_apply::{Managers, State};
use tenure_store::Revision;
use tenure_value::Value;

/// Whether those who have a say in something have still to be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Consent {
    /// They have.
    #[default]
    Needed,
    /// They were asked about the request that this is a part of, or it is the server's own doing.
    Given,
}

impl Writing<'_> {
    /// Prepares to ask those who have a say in this write of an object, live or new; nothing if nobody has.
    pub(crate) async fn admission(
        &self,
        live: Option<&Stored>,
        name: &str,
    ) -> Result<Option<Box<Admission<'_>>>, Failure> {
        if self.consent == Consent::Given {
            return Ok(None);
        }
        let operation = if live.is_some() { Operation::Update } else { Operation::Create };
        let admission = Admission::of(self.api, self.target, operation, name, self.options.dry_run);
        let Some(admission) = admission else { return Ok(None) };
        let old = live.map_or(Value::Null, |live| self.as_asked(&live.object, &live.managers, live.revision));
        let options = options_of(operation, &self.options);
        Box::pin(admission.introduced(self.request, options, old)).await.map(Some)
    }

    /// Returns an object as those are shown it who have a say.
    fn as_asked(&self, object: &Value, managers: &Managers, revision: Revision) -> Value {
        let stored = Stored { object: object.clone(), managers: managers.clone(), revision };
        match self.endpoint {
            Endpoint::Scale => scale(self.target, &stored),
            _ => stored.shown(),
        }
    }

    /// Returns an object as those make it who may change it.
    pub(crate) async fn mutated(
        &self,
        admission: &Admission<'_>,
        state: &State,
        live: Option<&Stored>,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        if !admission.mutates() {
            return Ok(state.object.clone());
        }
        let revision = live.map_or(Revision::ZERO, |live| live.revision);
        let asked = self.as_asked(&state.object, &state.managers, revision);
        if self.endpoint == Endpoint::Scale {
            let scale = admission.mutate(asked, &as_it_is, warnings).await?;
            return with_replicas(self.target, &state.object, &scale);
        }
        let complete = |patched: &Value| {
            let body = self.unscoped(&bare(patched));
            let decoded = self.target.served.complete(&body, live.map(|live| &live.object), self.now);
            let made = decoded.map_err(|error| {
                fault_of_webhook(format!("what admission makes of the object is none: {error}"))
            })?;
            let object = match live {
                Some(live) => keep_identity(live, made.value),
                None => keep_birth(&state.object, made.value),
            };
            Ok(self.as_asked(&object, &state.managers, revision))
        };
        admission.mutate(asked, &complete, warnings).await.map(|object| bare(&object))
    }

    /// Checks that those agree who may refuse an object.
    pub(crate) async fn vetted(
        &self,
        admission: &Admission<'_>,
        object: &Value,
        managers: &Managers,
        live: Option<&Stored>,
        warnings: &mut Vec<String>,
    ) -> Result<(), Failure> {
        if !admission.validates() {
            return Ok(());
        }
        let revision = live.map_or(Revision::ZERO, |live| live.revision);
        admission.validate(&self.as_asked(object, managers, revision), warnings).await
    }
}

/// What is made of something that the server has nothing to add to.
fn as_it_is(patched: &Value) -> Result<Value, Failure> {
    Ok(patched.clone())
}

/// Carries over what a new object has been given at its birth.
fn keep_birth(born: &Value, object: Value) -> Value {
    const GIVEN: [&str; 4] = ["creationTimestamp", "name", "namespace", "uid"];
    let given = metadata(born);
    let fields = GIVEN.iter().fold(metadata(&object), |fields, name| match given.get(name) {
        Some(value) => fields.with(*name, value.clone()),
        None => fields.without(name),
    });
    with_metadata(&object, fields)
}

/// Returns the options of a write as reviews tell them.
fn options_of(operation: Operation, options: &WriteOptions) -> Value {
    let kind = if operation == Operation::Create { "CreateOptions" } else { "UpdateOptions" };
    let mut fields = vec![("kind", Value::from(kind)), ("apiVersion", Value::from("meta.k8s.io/v1"))];
    if options.dry_run {
        fields.push(("dryRun", Value::array([Value::from("All")])));
    }
    if let Some(manager) = &options.manager {
        fields.push(("fieldManager", Value::from(manager.clone())));
    }
    let validation = match options.validation {
        FieldValidation::Strict => Some("Strict"),
        FieldValidation::Ignore => Some("Ignore"),
        FieldValidation::Warn => None,
    };
    fields.extend(validation.map(|word| ("fieldValidation", Value::from(word))));
    Value::object(fields)
}

impl Api {
    /// Asks about something that is posted and not kept, and returns it as the webhooks make it.
    pub(crate) async fn consented(
        &self,
        target: &Target,
        request: &Request,
        options: &WriteOptions,
        posted: Value,
    ) -> Result<(Value, Vec<String>), Failure> {
        let mut warnings = Vec::new();
        let admission = Admission::of(self, target, Operation::Create, &target.name, options.dry_run);
        let Some(admission) = admission else { return Ok((posted, warnings)) };
        let told = options_of(Operation::Create, options);
        let admission = admission.introduced(request, told, Value::Null).await?;
        let posted = admission.mutate(posted, &as_it_is, &mut warnings).await?;
        admission.validate(&posted, &mut warnings).await?;
        Ok((posted, warnings))
    }

    /// Asks those who have a say in whether an object may be deleted.
    pub(crate) async fn consent_to_deletion(
        &self,
        target: &Target,
        request: &Request,
        options: &DeleteOptions,
        live: &Stored,
        warnings: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let admission = Admission::of(self, target, Operation::Delete, &target.name, options.dry_run);
        let Some(admission) = admission else { return Ok(()) };
        admission.introduced(request, options.to_value(), live.shown()).await?.consent(warnings).await
    }
}
