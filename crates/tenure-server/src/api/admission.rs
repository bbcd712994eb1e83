//! Asks those who have a say in a write: policies (`policies.rs`) and webhooks that may change it, one after the other, and
//! when it is whole those that may only refuse it. Who holds what has been decided before: what they set is held by nobody.

use super::{
    Api, Request,
    object::{Stored, bare, metadata, with_metadata},
    read::all,
    route,
    served::Served,
    target::Target,
};
use crate::{
    Cause, Failure,
    admission::{
        CONFIGURATIONS, Condition, Constraints, Deed, Form, GROUP, Gate, Hook, OnFailure, Operation, Review,
        Scene, Verdict, request,
    },
    kinds::Resource,
};
use std::sync::{Arc, PoisonError, RwLock};
use tenure_apply::Managers;
use tenure_store::Revision;
use tenure_value::{Text, Value};

/// Those who have a say now; nothing if nobody has.
#[derive(Default)]
pub(crate) struct CurrentGate(RwLock<Option<Arc<Gate>>>);

impl Api {
    /// Returns those who may have a say in an operation on a resource; mostly nobody has.
    fn gate(&self, operation: Operation, resource: &str) -> Option<Arc<Gate>> {
        let gate = self.gate.0.read().unwrap_or_else(PoisonError::into_inner);
        gate.as_ref().filter(|gate| gate.may_concern(operation, resource)).cloned()
    }

    /// Reads anew who has a say.
    pub(crate) async fn refresh_gate(&self) -> Result<(), Failure> {
        let _one_at_a_time = self.refreshing.lock().await;
        let mut configured: [Vec<Value>; 6] = Default::default();
        for (name, objects) in CONFIGURATIONS.iter().zip(&mut configured) {
            let Some(resource) = crate::kinds::registry().find(GROUP, "v1", name) else { continue };
            let stored = all(&*self.store, resource, "").await?;
            *objects = stored.into_iter().map(|stored| stored.object).collect();
        }
        let gate = Some(Gate::read(&configured)).filter(|gate| !gate.is_open()).map(Arc::new);
        *self.gate.0.write().unwrap_or_else(PoisonError::into_inner) = gate;
        Ok(())
    }
}

/// The longest response of a webhook: it repeats nothing of the object but what its patch sets.
const RESPONSE_BYTES: usize = 6 << 20;

/// Where the configurations are in the store.
pub(crate) const PLACE: &str = "objects/admissionregistration.k8s.io/";

/// What is asked about one write.
pub(crate) struct Admission<'a> {
    pub(crate) api: &'a Api,
    pub(crate) target: &'a Target,
    gate: Arc<Gate>,
    pub(crate) deed: Deed,
    /// The namespace of the object, if it is in one.
    pub(crate) namespace: Value,
    /// The object as it was; `null` if it was not there.
    pub(crate) old: Value,
}

/// What a webhook answered.
enum Heard<'d> {
    /// It has no say, or could not be asked and is passed over.
    Nothing,
    /// It agrees.
    Agreed,
    /// It wants a patch of the object in one of its forms.
    Wants(&'d Form, Value),
}

/// Returns an object as the write makes it from what a webhook made of it.
pub(crate) type Complete<'c> = &'c (dyn Fn(&Value) -> Result<Value, Failure> + Send + Sync);

impl<'a> Admission<'a> {
    /// Prepares to ask about a write; nothing if nobody has a say in it.
    pub fn of(
        api: &'a Api,
        target: &'a Target,
        operation: Operation,
        name: &str,
        dry_run: bool,
    ) -> Option<Box<Admission<'a>>> {
        let resource = &target.served.resource;
        let gate = api.gate(operation, &resource.name)?;
        let mut deed = Deed {
            operation,
            forms: forms(api, resource, &target.subresource),
            subresource: target.subresource.clone(),
            scope: resource.scope,
            namespace: target.namespace.clone(),
            name: name.into(),
            dry_run,
            user: Value::Null,
            options: Value::Null,
        };
        if deed.is_of_namespace() {
            deed.namespace = deed.name.clone();
        }
        let admission = Admission { api, target, gate, deed, namespace: Value::Null, old: Value::Null };
        admission.gate.concerns(&admission.deed).then(|| Box::new(admission))
    }

    /// Finds out what those are told who are asked: who does it, how, where, and what was there before.
    pub async fn introduced(
        mut self: Box<Self>,
        request: &Request,
        options: Value,
        old: Value,
    ) -> Result<Box<Self>, Failure> {
        self.deed.user = self.api.caller(&request.headers).await.to_value();
        (self.deed.options, self.old) = (options, old);
        let is_new = self.deed.operation == Operation::Create
            && self.deed.subresource.is_empty()
            && self.target.served.resource.is_stored();
        self.namespace = match is_new {
            // Nobody is asked about what could not be in its namespace.
            true => self.api.namespace_for_new(self.target, &self.deed.name).await?.map(|(_, of)| of.object),
            false => self.api.find_builtin(("", "namespaces"), &self.target.namespace).await?,
        }
        .unwrap_or_default();
        Ok(self)
    }

    /// Whether somebody may change what is written.
    pub fn mutates(&self) -> bool {
        let hooks = self.gate.mutating.iter().map(|hook| &hook.constraints);
        let policies = self.gate.mutating_policies.iter().map(|policy| &policy.constraints);
        hooks.chain(policies).any(|of| of.form(&self.deed).is_some())
    }

    /// Whether somebody may refuse what is written.
    pub fn validates(&self) -> bool {
        let hooks = self.gate.validating.iter().map(|hook| &hook.constraints);
        let policies = self.gate.policies.iter().map(|policy| &policy.constraints);
        hooks.chain(policies).any(|of| of.form(&self.deed).is_some())
    }

    /// Returns an object as those make it who may change it, policies before webhooks. Those that want to be asked again
    /// when others have changed it since are, once.
    pub async fn mutate(
        &self,
        mut object: Value,
        complete: Complete<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let mut left_by_policy: Vec<Option<Value>> = vec![None; self.gate.mutating_policies.len()];
        let mut left: Vec<Option<Value>> = vec![None; self.gate.mutating.len()];
        for again in [false, true] {
            for (policy, left) in self.gate.mutating_policies.iter().zip(&mut left_by_policy) {
                if again && !is_due_again(policy.is_reinvoked, left.as_ref(), &object) {
                    continue;
                }
                if let Some(changed) = self.changed(policy, &object, complete).await? {
                    object = changed;
                    *left = Some(object.clone());
                }
            }
            for (hook, left) in self.gate.mutating.iter().zip(&mut left) {
                if again && !is_due_again(hook.is_reinvoked, left.as_ref(), &object) {
                    continue;
                }
                match self.ask(hook, &object, warnings).await? {
                    Heard::Nothing => continue,
                    Heard::Agreed => {}
                    Heard::Wants(form, patch) => {
                        object = self.patched(hook, &object, &patch, form, complete).await?;
                    }
                }
                *left = Some(object.clone());
            }
        }
        Ok(object)
    }

    /// Checks that an object may be written as it is, or deleted.
    pub async fn validate(&self, object: &Value, warnings: &mut Vec<String>) -> Result<(), Failure> {
        for policy in &self.gate.policies {
            self.hold_to(policy, object, warnings).await?;
        }
        for hook in &self.gate.validating {
            self.ask(hook, object, warnings).await?;
        }
        Ok(())
    }

    /// Asks about something that has no object that could be changed: a deletion.
    pub async fn consent(&self, warnings: &mut Vec<String>) -> Result<(), Failure> {
        for hook in &self.gate.mutating {
            if let Heard::Wants(..) = self.ask(hook, &Value::Null, warnings).await? {
                return Err(fault_of_webhook(format!(
                    "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
                    hook.name.as_str()
                )));
            }
        }
        self.validate(&Value::Null, warnings).await
    }

    /// Asks a webhook, if it has a say.
    async fn ask(
        &self,
        hook: &Hook,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<Heard<'_>, Failure> {
        let Some(form) = hook.constraints.form(&self.deed) else { return Ok(Heard::Nothing) };
        if !self.selects(&hook.constraints, object) {
            return Ok(Heard::Nothing);
        }
        if let Some(why) = hook.refuses_to_be_asked(&self.deed) {
            return Err(Failure::bad_request(why));
        }
        let (shown, shown_old) = (self.at_form(object, form).await?, self.at_form(&self.old, form).await?);
        let told = request(&self.deed, form);
        match Condition::all(&hook.conditions, &mut Scene::new(&told, &shown, &shown_old)) {
            Ok(true) => {}
            Ok(false) => return Ok(Heard::Nothing),
            Err(why) if hook.on_failure == OnFailure::Refuse => return Err(self.forbidden(&why)),
            Err(_) => return Ok(Heard::Nothing),
        }
        let uid = Text::from(uuid::Uuid::new_v4().to_string());
        let review = Review::new(uid, &hook.webhook.review_versions, told, &shown, &shown_old);
        match self.call(hook, &review).await {
            Ok(Verdict { refusal: Some(status), warnings: told, .. }) => {
                warnings.extend(told);
                Err(Failure::denied(&hook.name, &status).with_warnings(std::mem::take(warnings)))
            }
            Ok(verdict) => {
                warnings.extend(verdict.warnings);
                Ok(verdict.patch.map_or(Heard::Agreed, |patch| Heard::Wants(form, patch)))
            }
            Err(why) => self.failed(hook, &why).map(|()| Heard::Nothing),
        }
    }

    async fn call(&self, hook: &Hook, review: &Review) -> Result<Verdict, String> {
        let route = route::to(&*self.api.store, &hook.webhook.target).await;
        let route = route.map_err(|why| format!("failed to call webhook: {why}"))?;
        let answer = self
            .api
            .webhooks
            .post(&hook.webhook.ca_bundle, &route, review.question(), hook.patience, |_| RESPONSE_BYTES)
            .await;
        let answer = answer.map_err(|why| format!("failed to call webhook: {why}"))?;
        review.answer(&answer).map_err(|why| format!("received invalid webhook response: {why}"))
    }

    /// Decides what becomes of a request about which a webhook could not be asked.
    fn failed(&self, hook: &Hook, why: &str) -> Result<(), Failure> {
        let name = hook.name.as_str();
        if hook.on_failure == OnFailure::GoOn {
            tracing::warn!(webhook = name, why, "an admission webhook failed and is passed over");
            return Ok(());
        }
        let (kind, configuration) = &hook.configuration;
        Err(fault_of_webhook(format!(
            "failed calling webhook {name:?}: {why}; to go on without it, set its failurePolicy to Ignore in {kind} {:?}, or delete that",
            configuration.as_str()
        )))
    }

    /// Returns the object that a webhook's patch makes.
    async fn patched(
        &self,
        hook: &Hook,
        object: &Value,
        patch: &Value,
        form: &Form,
        complete: Complete<'_>,
    ) -> Result<Value, Failure> {
        let shown = self.at_form(object, form).await?;
        let options = tenure_patch::json::Options::default();
        let patched = tenure_patch::json::apply(&shown, patch, &options).map_err(|error| {
            let name = hook.name.as_str();
            fault_of_webhook(format!("the patch of admission webhook {name:?} cannot be applied: {error}"))
        })?;
        complete(&self.back(patched, object, form).await?)
    }

    /// Returns a changed object in the form of the request.
    pub(crate) async fn back(&self, changed: Value, object: &Value, form: &Form) -> Result<Value, Failure> {
        match self.other(form)? {
            Some(other) => {
                let back = self.api.between(&other, &self.target.served, &bare(&changed)).await?;
                Ok(with_managers(back, object))
            }
            None => Ok(changed),
        }
    }

    /// Returns an object in a form of its resource.
    pub(crate) async fn at_form(&self, object: &Value, form: &Form) -> Result<Value, Failure> {
        match self.other(form)? {
            Some(other) if !object.is_null() => {
                let converted = self.api.between(&self.target.served, &other, &bare(object)).await?;
                Ok(with_managers(converted, object))
            }
            _ => Ok(object.clone()),
        }
    }

    /// Returns the resource in a form that is not the one of the request, if the objects differ.
    pub(crate) fn other(&self, form: &Form) -> Result<Option<Served>, Failure> {
        if form.kind == self.deed.requested().kind {
            return Ok(None);
        }
        self.api.served(&form.group, &form.version, &form.resource).map(Some)
    }

    /// Whether selectors choose an object, as it will be or as it was.
    pub(crate) fn selects(&self, constraints: &Constraints, object: &Value) -> bool {
        constraints.selects(&self.deed, object, &self.old, &self.namespace)
    }

    pub(crate) fn forbidden(&self, why: &str) -> Failure {
        let form = self.deed.requested();
        Failure::forbidden(&form.group, &form.resource, &self.deed.name, why)
    }
}

/// Returns the failure for something that a webhook did wrong.
pub(crate) fn fault_of_webhook(why: String) -> Failure {
    Failure::internal(format!("Internal error occurred: {why}")).with_causes(vec![plain_cause(why)])
}

pub(crate) fn plain_cause(message: String) -> Cause {
    Cause { reason: Text::default(), message, field: String::new(), extension: None }
}

/// Whether somebody who has been asked is to be asked again: if it wants to be, and left something else behind.
fn is_due_again(is_reinvoked: bool, left: Option<&Value>, object: &Value) -> bool {
    is_reinvoked && left.is_some_and(|left| left != object)
}

/// Returns a resource as a request names it, and then as it is served besides: what is kept in one place is one.
fn forms(api: &Api, resource: &Resource, subresource: &str) -> Vec<Form> {
    let requested = Form::of(resource, subresource);
    let catalog = api.catalog();
    let all = catalog.registry.resources().iter();
    let same = all.filter(|of| of.is_stored() && of.storage == resource.storage && of.name == resource.name);
    let others = same.map(|of| Form::of(of, subresource)).filter(|form| *form != requested);
    let others: Vec<Form> = others.collect();
    std::iter::once(requested).chain(others).collect()
}

/// Returns a converted object with those who hold it, whom no conversion knows.
pub(crate) fn with_managers(converted: Value, of: &Value) -> Value {
    let kept = metadata(of);
    let fields = ["managedFields", "resourceVersion"].iter().fold(metadata(&converted), |fields, name| {
        match kept.get(name) {
            Some(value) => fields.with(*name, value.clone()),
            None => fields,
        }
    });
    with_metadata(&converted, fields)
}

impl Api {
    /// Returns an object of one version in another.
    async fn between(&self, from: &Served, to: &Served, object: &Value) -> Result<Value, Failure> {
        let object = self.for_storing(from, object).await?;
        let stored = Stored { object, managers: Managers::default(), revision: Revision::ZERO };
        Ok(self.for_reading_one(to, stored).await?.object)
    }
}
