//! Asks those who have a say in a write: webhooks that may change it, one after the other, and when it is whole those
//! that may only refuse it, and the policies. Who holds what has been decided before: what a webhook sets is held by
//! nobody.

use super::{
    Api, Request,
    object::{Stored, bare, metadata, with_metadata},
    read::all,
    route,
    served::Served,
    target::{Target, Verb},
};
use crate::{
    Cause, Failure, Reason,
    admission::{
        Action, Binding, CONFIGURATIONS, Change, Condition, Constraints, Deed, Form, GROUP, Gate, Hook,
        OnFailure, Operation, Policy, Refusal, Review, Scene, Verdict, request,
    },
    kinds::{Registry, Resource, Scope},
};
use std::sync::{Arc, PoisonError, RwLock};
use tenure_apply::{Force, Live, Managers, Presence, Reset, SingleVersion, Write};
use tenure_fields::FieldSet;
use tenure_schema::{Schema, TypeRef};
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
            let Some(resource) = Registry::builtin().find(GROUP, "v1", name) else { continue };
            let stored = all(&*self.store, resource, "").await?;
            *objects = stored.into_iter().map(|stored| stored.object).collect();
        }
        let gate = Some(Gate::read(&configured)).filter(|gate| !gate.is_open()).map(Arc::new);
        *self.gate.0.write().unwrap_or_else(PoisonError::into_inner) = gate;
        Ok(())
    }
}

/// Where the configurations are in the store.
pub(crate) const PLACE: &str = "objects/admissionregistration.k8s.io/";

/// What is asked about one write.
pub(crate) struct Admission<'a> {
    api: &'a Api,
    target: &'a Target,
    gate: Arc<Gate>,
    deed: Deed,
    /// The namespace of the object, if it is in one.
    namespace: Value,
    /// The object as it was; `null` if it was not there.
    old: Value,
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
type Complete<'c> = &'c (dyn Fn(&Value) -> Result<Value, Failure> + Send + Sync);

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
        let answer = self.api.webhooks.ask(&hook.webhook, &route, review.question(), hook.patience).await;
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
        Err(fault_of_webhook(format!("failed calling webhook {name:?}: {why}")))
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
    async fn back(&self, changed: Value, object: &Value, form: &Form) -> Result<Value, Failure> {
        match self.other(form)? {
            Some(other) => {
                let back = self.api.between(&other, &self.target.served, &bare(&changed)).await?;
                Ok(with_managers(back, object))
            }
            None => Ok(changed),
        }
    }

    /// Returns an object in a form of its resource.
    async fn at_form(&self, object: &Value, form: &Form) -> Result<Value, Failure> {
        match self.other(form)? {
            Some(other) if !object.is_null() => {
                let converted = self.api.between(&self.target.served, &other, &bare(object)).await?;
                Ok(with_managers(converted, object))
            }
            _ => Ok(object.clone()),
        }
    }

    /// Returns the resource in a form that is not the one of the request, if the objects differ.
    fn other(&self, form: &Form) -> Result<Option<Served>, Failure> {
        if form.kind == self.deed.requested().kind {
            return Ok(None);
        }
        self.api.served(&form.group, &form.version, &form.resource).map(Some)
    }

    /// Returns an object as a policy changes it, wherever a binding says so; nothing if none does.
    async fn changed(
        &self,
        policy: &Policy,
        object: &Value,
        complete: Complete<'_>,
    ) -> Result<Option<Value>, Failure> {
        let Some(form) = policy.constraints.form(&self.deed) else { return Ok(None) };
        let mut changed: Option<Value> = None;
        for binding in self.bindings(policy, object) {
            let outcome = match self.parameters(policy, binding).await? {
                Ok(parameters) => {
                    let object = changed.as_ref().unwrap_or(object);
                    self.changed_by(policy, &parameters, form, object, complete).await?
                }
                Err(why) => Err(why),
            };
            match outcome {
                Ok(outcome) => changed = outcome.or(changed),
                Err(_) if policy.on_failure == OnFailure::GoOn => {}
                Err(why) => {
                    let named = format!("policy '{}' with binding '{}'", policy.name, binding.name);
                    let mut failure = self.forbidden(&format!("{named} denied request: {why}"));
                    failure.reason = Reason::Invalid;
                    return Err(failure);
                }
            }
        }
        Ok(changed)
    }

    /// Returns an object as the mutations of a policy make it, with each of its parameters in turn; nothing if its conditions
    /// hold with none, or why it cannot be told.
    async fn changed_by(
        &self,
        policy: &Policy,
        parameters: &[Option<Value>],
        form: &Form,
        object: &Value,
        complete: Complete<'_>,
    ) -> Result<Result<Option<Value>, String>, Failure> {
        let (told, shown_old) = (request(&self.deed, form), self.at_form(&self.old, form).await?);
        let mut changed: Option<Value> = None;
        for parameters in parameters.iter().map(Option::as_ref) {
            let mut shown = self.at_form(changed.as_ref().unwrap_or(object), form).await?;
            match policy.applies([&told, &shown, &shown_old, &self.namespace], parameters) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(why) => return Ok(Err(why)),
            }
            for mutation in &policy.mutations {
                let seen = [&told, &shown, &shown_old, &self.namespace];
                let made = policy.change(mutation, seen, parameters);
                let completed = match made.and_then(|change| self.merged(&shown, &change, form)) {
                    Ok(merged) => complete(&self.back(merged, object, form).await?)?,
                    Err(why) => return Ok(Err(why)),
                };
                shown = self.at_form(&completed, form).await?;
                changed = Some(completed);
            }
        }
        Ok(Ok(changed))
    }

    /// Returns what a change of a policy makes of an object.
    fn merged(&self, object: &Value, change: &Change, form: &Form) -> Result<Value, String> {
        let config = match change {
            Change::Patch(patch) => {
                let options = tenure_patch::json::Options::default();
                return tenure_patch::json::apply(object, patch, &options).map_err(|error| error.to_string());
            }
            Change::Apply(config) => config,
        };
        let (group, version, kind) = &form.kind;
        let api_version =
            if group.is_empty() { version.clone() } else { format!("{group}/{version}").into() };
        let other = self.other(form).map_err(|failure| failure.to_string())?;
        let served = other.as_ref().unwrap_or(&self.target.served);
        let of = match served.resource.kind == *kind {
            true => served.type_ref(),
            // A scale, a binding and the like are of built-in kinds, whatever they are below.
            false => Schema::builtin().kind(&api_version, kind).unwrap_or_else(TypeRef::untyped),
        };
        let fields = config.as_object().ok_or("an ApplyConfiguration is an object: Object{…}")?;
        let config: Value = fields.with("apiVersion", api_version.clone()).with("kind", kind.clone()).into();
        check_granular(&config, of)?;
        let versions = SingleVersion::new(api_version.clone(), of);
        let write = Write {
            manager: "policy",
            api_version: &api_version,
            subresource: "",
            now: tenure_apply::Timestamp::from_unix(0),
            versions: &versions,
            reset: Reset::Nothing,
            empty: &Value::object([
                ("apiVersion", api_version.clone().into()),
                ("kind", kind.clone().into()),
            ]),
        };
        let (bare, nobody) = (bare(object), Managers::default());
        let found = Live { object: &bare, managers: &nobody, presence: Presence::Stored };
        let state = tenure_apply::apply(found, &config, &write, Force::All);
        state.map(|state| with_managers(state.object, object)).map_err(|error| error.to_string())
    }

    /// Whether selectors choose an object, as it will be or as it was.
    fn selects(&self, constraints: &Constraints, object: &Value) -> bool {
        constraints.selects(&self.deed, object, &self.old, &self.namespace)
    }

    /// Returns the bindings of a policy that are about an object.
    fn bindings<'p>(&self, policy: &'p Policy, object: &Value) -> impl Iterator<Item = &'p Binding> {
        let is_meant = self.selects(&policy.constraints, object);
        policy.bindings.iter().filter(move |binding| {
            let bound = &binding.constraints;
            is_meant
                && (!bound.has_rules() || bound.form(&self.deed).is_some())
                && self.selects(bound, object)
        })
    }

    /// Checks that an object holds to a policy wherever a binding says so.
    async fn hold_to(
        &self,
        policy: &Policy,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let Some(form) = policy.constraints.form(&self.deed) else { return Ok(()) };
        let (shown, shown_old) = (self.at_form(object, form).await?, self.at_form(&self.old, form).await?);
        let told = request(&self.deed, form);
        let seen = [&told, &shown, &shown_old, &self.namespace];
        for binding in self.bindings(policy, object) {
            let refusals: Vec<Refusal> = match self.parameters(policy, binding).await? {
                Ok(all) => {
                    all.iter().flat_map(|parameters| policy.judge(seen, parameters.as_ref())).collect()
                }
                Err(why) => policy.unknown(why),
            };
            self.act_on(policy, binding, &refusals, warnings)?;
        }
        Ok(())
    }

    /// Does what a binding says about what does not hold.
    fn act_on(
        &self,
        policy: &Policy,
        binding: &Binding,
        refusals: &[Refusal],
        warnings: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let named = format!("ValidatingAdmissionPolicy '{}' with binding '{}'", policy.name, binding.name);
        if binding.actions.contains(&Action::Warn) {
            let words = refusals.iter().map(|of| format!("Validation failed for {named}: {}", of.message));
            warnings.extend(words);
        }
        if binding.actions.contains(&Action::Audit) {
            for refusal in refusals {
                tracing::info!(policy = %policy.name, binding = %binding.name, refusal.message, "a policy is not held to");
            }
        }
        match refusals.first().filter(|_| binding.actions.contains(&Action::Deny)) {
            None => Ok(()),
            Some(refusal) => {
                let why = format!("{named} denied request: {}", refusal.message);
                let mut failure = self.forbidden(&why);
                failure.reason = refusal.reason;
                Err(failure.with_causes(vec![plain_cause(why)]).with_warnings(std::mem::take(warnings)))
            }
        }
    }

    /// Returns the parameters that a policy is to be asked with, one after the other, or why it cannot be: those that the
    /// binding names, and nothing, once, if the policy takes none.
    async fn parameters(
        &self,
        policy: &Policy,
        binding: &Binding,
    ) -> Result<Result<Vec<Option<Value>>, String>, Failure> {
        let (Some((api_version, kind)), Some(named)) = (&policy.parameters, &binding.parameters) else {
            return Ok(Ok(vec![None]));
        };
        let Some(served) = self.api.served_kind(api_version, kind) else {
            return Ok(Err(format!(
                "failed to configure policy: failed to find resource referenced by paramKind: '{api_version}, Kind={kind}'"
            )));
        };
        let namespace = match (served.resource.scope, named.namespace.as_str()) {
            (Scope::Cluster, _) => Text::default(),
            (Scope::Namespaced, "") => self.deed.namespace.clone(),
            (Scope::Namespaced, _) => named.namespace.clone(),
        };
        let found: Vec<Option<Value>> = match named.name.is_empty() {
            false => {
                let (verb, name, subresource) = (Verb::Get, named.name.clone(), Text::default());
                let target = Target { verb, served, namespace, name, subresource };
                self.api.read(&target).await?.into_iter().map(|stored| Some(stored.object)).collect()
            }
            true => {
                let stored = self.api.read_all(&served.resource, &namespace).await?;
                let objects = self.api.for_reading(&served, stored).await?.into_iter().map(|of| of.object);
                objects.filter(|object| named.selector.selects(object)).map(Some).collect()
            }
        };
        Ok(match (found.is_empty(), named.on_absence) {
            (true, OnFailure::Refuse) => Err(
                "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
                    .into(),
            ),
            _ => Ok(found),
        })
    }

    fn forbidden(&self, why: &str) -> Failure {
        let form = self.deed.requested();
        Failure::forbidden(&form.group, &form.resource, &self.deed.name, why)
    }
}

/// Returns the failure for something that a webhook did wrong.
pub(super) fn fault_of_webhook(why: String) -> Failure {
    Failure::internal(format!("Internal error occurred: {why}")).with_causes(vec![plain_cause(why)])
}

fn plain_cause(message: String) -> Cause {
    Cause { reason: Text::default(), message, field: String::new(), extension: None }
}

/// Whether somebody who has been asked is to be asked again: if it wants to be, and left something else behind.
fn is_due_again(is_reinvoked: bool, left: Option<&Value>, object: &Value) -> bool {
    is_reinvoked && left.is_some_and(|left| left != object)
}

/// Checks that a configuration sets nothing that can only be replaced whole: what a policy does not name would be lost.
fn check_granular(config: &Value, of: TypeRef<'_>) -> Result<(), String> {
    let declared = FieldSet::of(config, of).map_err(|error| error.to_string())?;
    for path in declared.leaves().iter() {
        let found = path.resolve(config, of);
        let is_whole = match found {
            Some(Value::Array(items)) => !items.is_empty(),
            Some(Value::Object(fields)) => !fields.is_empty(),
            _ => false,
        };
        if is_whole {
            return Err(format!(
                "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {path}; use a JSONPatch"
            ));
        }
    }
    Ok(())
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
fn with_managers(converted: Value, of: &Value) -> Value {
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
