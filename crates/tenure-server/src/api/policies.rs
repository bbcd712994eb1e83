//! Holds a write to the policies, and lets those change it that do, wherever a binding says so.

use super::{
    admission::{Admission, Complete, plain_cause, with_managers},
    object::bare,
    target::{Target, Verb},
};
use crate::{
    Failure, Reason,
    admission::{Action, Binding, Change, Form, OnFailure, Policy, Refusal, request},
    kinds::Scope,
};
use tenure_apply::{Force, Live, Managers, Presence, Reset, SingleVersion, Write};
use tenure_fields::FieldSet;
use tenure_schema::{Schema, TypeRef};
use tenure_value::{Text, Value};

impl Admission<'_> {
    /// Returns an object as a policy changes it, wherever a binding says so; nothing if none does.
    pub(crate) async fn changed(
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
            now: Some(tenure_apply::Timestamp::from_unix(0)),
            versions: &versions,
            reset: Reset::Nothing,
            behavior: tenure_apply::Behavior::default(),
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
    pub(crate) async fn hold_to(
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
