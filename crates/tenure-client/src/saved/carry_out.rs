//! Carrying out a saved plan. First every pin is checked, and a plan that no longer holds writes nothing; then the steps are written
//! in order, each on the condition that its object is still the one that was checked, up to the first refusal.

use crate::{
    ClientError, Cluster, Draft, JSON_PATCH, Mode, REQUESTS_AT_ONCE, Resource, Response, apply::apply, order,
    past::WITHOUT_IDENTITY,
};
use futures::{StreamExt, TryStreamExt, stream};
use http::Method;
use tenure_apply::{Managers, Timestamp};
use tenure_ownership::{
    AppliedPlan, AppliedStep, ApplyingManager, LiveObject, Manifest, PlannedStep, PlannedWrite, SavedPlan,
    Stale, Target, handover::managers_patch,
};
use tenure_value::{Object, Value, json};

/// How often an object that others keep changing is read again.
pub(super) const ATTEMPTS: usize = 8;

/// The manager that restores objects; it owns nothing afterwards.
pub(super) const WRITER: &str = "tenure-undo";

/// What carrying out a plan did.
#[derive(Debug)]
pub struct CarriedOut {
    /// What was written.
    pub applied: AppliedPlan,
    /// How it ended.
    pub end: End,
}

/// How carrying out a plan ended.
#[derive(Debug)]
pub enum End {
    /// Every step was written.
    Complete,
    /// Objects are not as the plan saw them; the steps from here on were not written. Checked first, so that mostly none was.
    Stale(Vec<Stale>),
    /// The server refused a step; the steps from here on were not written.
    Refused {
        /// The object.
        target: Target,
        /// The message of the server.
        message: String,
    },
}

/// Returns the steps of a plan that no longer hold, and refuses a plan for another cluster.
pub async fn stale(plan: &SavedPlan, cluster: &Cluster) -> Result<Vec<Stale>, ClientError> {
    Ok(read_all(plan, cluster).await?.err().unwrap_or_default())
}

/// The objects of a plan as they are, in the order of its steps, or the steps that no longer hold.
type Checked = Result<Vec<Option<LiveObject>>, Vec<Stale>>;

/// Reads the objects of a plan that can be carried out, and compares them with what it relies on.
pub(super) async fn check(plan: &SavedPlan, cluster: &Cluster) -> Result<Checked, ClientError> {
    if let Some(step) = plan.incomplete().next() {
        return Err(ClientError::Withheld {
            what: step.target.to_string(),
            source_name: step.source.clone(),
        });
    }
    read_all(plan, cluster).await
}

async fn read_all(plan: &SavedPlan, cluster: &Cluster) -> Result<Checked, ClientError> {
    let identity = cluster.identity().await?;
    if !plan.cluster.is(&identity) {
        let (planned, server) = (plan.cluster.server.clone(), identity.server);
        return Err(ClientError::OtherCluster { planned, server });
    }
    let carrier = &Carrier { plan, cluster };
    // A stream that makes its futures as it goes would not be `Send`.
    let checks: Vec<_> = plan.steps.iter().map(|step| carrier.checked(step)).collect();
    let checked: Vec<Result<_, Stale>> =
        stream::iter(checks).buffered(REQUESTS_AT_ONCE).try_collect().await?;
    let (mut live, mut stale) = (Vec::new(), Vec::new());
    for of_step in checked {
        match of_step {
            Ok(read) => live.push(read),
            Err(one) => stale.push(one),
        }
    }
    Ok(if stale.is_empty() { Ok(live) } else { Err(stale) })
}

/// Carries out a plan; `on_step` is called for each step that was written. A failure of the connection is an error only if nothing was
/// written; otherwise it ends the plan as a refusal does, so that what was done can be undone.
pub async fn carry_out(
    plan: &SavedPlan,
    now: Timestamp,
    cluster: &Cluster,
    mut on_step: impl FnMut(&PlannedStep),
) -> Result<CarriedOut, ClientError> {
    let mut applied =
        AppliedPlan { digest: plan.digest(), cluster: plan.cluster.clone(), time: now, steps: Vec::new() };
    if let Err(stale) = check(plan, cluster).await? {
        return Ok(CarriedOut { applied, end: End::Stale(stale) });
    }
    let carrier = Carrier { plan, cluster };
    for step in &plan.steps {
        let end = match carrier.step(step, now).await {
            Ok(Ended::Written(written)) => {
                applied.steps.push(written);
                on_step(step);
                order::establish(&step.target, cluster).await.err().map(|error| error.to_string())
            }
            Ok(Ended::Stale(stale)) => return Ok(CarriedOut { applied, end: End::Stale(vec![stale]) }),
            Ok(Ended::Refused(message)) => Some(message),
            Err(error) if applied.steps.is_empty() => return Err(error),
            Err(error) => Some(error.to_string()),
        };
        if let Some(message) = end {
            return Ok(CarriedOut { applied, end: End::Refused { target: step.target.clone(), message } });
        }
    }
    Ok(CarriedOut { applied, end: End::Complete })
}

enum Ended {
    Written(AppliedStep),
    Stale(Stale),
    Refused(String),
}

pub(super) struct Carrier<'a> {
    pub(super) plan: &'a SavedPlan,
    pub(super) cluster: &'a Cluster,
}

impl Carrier<'_> {
    /// Reads the object of a step and compares it with what the step relies on.
    async fn checked(&self, step: &PlannedStep) -> Result<Result<Option<LiveObject>, Stale>, ClientError> {
        let target = &step.target;
        let Some(resource) = self.cluster.kind_of(&target.api_version, &target.kind).await? else {
            // Its definition is part of the plan, or the kind is gone.
            return Ok(match step.before {
                None => Ok(None),
                Some(_) => Err(Stale { target: target.clone(), what: tenure_ownership::Staleness::Deleted }),
            });
        };
        let live = self.cluster.find_live(&resource.path(&target.namespace, &target.name)).await?;
        let ty = self.cluster.type_of(&target.api_version, &target.kind).await?;
        let withholding = self.plan.withholding();
        Ok(match step.check(live.as_ref(), self.plan.pinning, withholding, ty) {
            Some(stale) => Err(stale),
            None => Ok(live),
        })
    }

    async fn step(&self, step: &PlannedStep, now: Timestamp) -> Result<Ended, ClientError> {
        let target = &step.target;
        for _ in 0..ATTEMPTS {
            let live = match self.checked(step).await? {
                Ok(live) => live,
                Err(stale) => return Ok(Ended::Stale(stale)),
            };
            let Some(resource) = self.cluster.kind_of(&target.api_version, &target.kind).await? else {
                return Ok(Ended::Refused(self.cluster.lacks_kind(&target.api_version, &target.kind).await?));
            };
            let response = match &step.write {
                PlannedWrite::Apply { config, manager, force } => {
                    let applier = ApplyingManager { manager: manager.clone(), force: force.clone(), now };
                    self.apply(step, config, applier, live.as_ref(), &resource).await?
                }
                PlannedWrite::Restore(after) => self.restore(step, after, live.as_ref(), &resource).await?,
                PlannedWrite::Delete => self.delete(step, live.as_ref(), &resource).await?,
            };
            if response.is_success() {
                if live.is_none() && response.code == 200 && matches!(step.write, PlannedWrite::Apply { .. })
                {
                    let message = "another client created it while the plan was carried out; the apply was merged with it";
                    return Ok(Ended::Refused(message.into()));
                }
                let after = match step.write {
                    PlannedWrite::Delete => None,
                    _ => {
                        let read = LiveObject::read(&response.value);
                        Some(read.map_err(|error| ClientError::invalid(target, error))?)
                    }
                };
                return Ok(Ended::Written(AppliedStep { target: target.clone(), before: live, after }));
            }
            let refusal = response.refusal();
            let is_created = refusal.reason == "AlreadyExists";
            let is_deleted = refusal.code == 404 && live.is_some();
            let is_changed = refusal.is_outdated() || is_created || is_deleted;
            if !is_changed {
                return Ok(Ended::Refused(refusal.message));
            }
        }
        Ok(Ended::Refused("other clients keep changing it; try again".into()))
    }

    async fn apply(
        &self,
        step: &PlannedStep,
        config: &Value,
        applier: ApplyingManager,
        live: Option<&LiveObject>,
        resource: &Resource,
    ) -> Result<Response, ClientError> {
        let target = &step.target;
        let ty = self.cluster.type_of(&target.api_version, &target.kind).await?;
        let mut manifest = Manifest::new(config.clone(), step.source.clone(), ty);
        if let Some(live) = live {
            manifest.config = manifest.guarded(&live.object);
        }
        manifest.target = target.clone();
        let draft = Draft { manifest, resource: Some(resource.clone()) };
        let path = resource.path(&target.namespace, &target.name);
        apply(&draft, &path, live, &applier, Mode::Write, self.cluster).await
    }

    /// Gives an object its content and its owners: two writes, since a server counts every changed value as the writer's.
    async fn restore(
        &self,
        step: &PlannedStep,
        after: &LiveObject,
        live: Option<&LiveObject>,
        resource: &Resource,
    ) -> Result<Response, ClientError> {
        let target = &step.target;
        let path = resource.path(&target.namespace, &target.name);
        let written = match live {
            Some(live) => {
                let object = with_version(&after.object, live);
                let body = Some(("application/json", json::to_vec(&object)));
                self.cluster
                    .send(Method::PUT, &format!("{path}?fieldManager={WRITER}"), "application/json", body)
                    .await?
            }
            None => {
                let path = format!("{}?fieldManager={WRITER}", resource.collection(Some(&target.namespace)));
                self.cluster.post(&path, &without_identity(&after.object)).await?
            }
        };
        if !written.is_success() {
            return Ok(written);
        }
        self.set_owners(&path, written, &after.managers, target).await
    }

    /// Sets the owners of an object that was just restored; controllers may write it in between, and keep what they own.
    async fn set_owners(
        &self,
        path: &str,
        written: Response,
        wanted: &Managers,
        target: &Target,
    ) -> Result<Response, ClientError> {
        let read =
            |shown: &Value| LiveObject::read(shown).map_err(|error| ClientError::invalid(target, error));
        let restored = read(&written.value)?;
        let mut shown = written.value;
        let patched = format!("{path}?fieldManager={WRITER}");
        for _ in 0..ATTEMPTS {
            let live = read(&shown)?;
            let new = live.managers.iter().filter(|manager| {
                manager.name != WRITER
                    && wanted.get(&manager.identity()).is_none()
                    && restored.managers.get(&manager.identity()).is_none()
            });
            let managers = Managers::new(wanted.iter().chain(new).cloned());
            let patch = managers_patch(live.resource_version(), &managers);
            let response = self.cluster.patch(&patched, JSON_PATCH, &patch).await?;
            if response.is_success() || !response.refusal().is_outdated() {
                return Ok(response);
            }
            shown = self.cluster.get(path).await?;
        }
        Err(ClientError::Changed { what: target.to_string() })
    }

    async fn delete(
        &self,
        step: &PlannedStep,
        live: Option<&LiveObject>,
        resource: &Resource,
    ) -> Result<Response, ClientError> {
        let target = &step.target;
        let path = resource.path(&target.namespace, &target.name);
        let body = Some(("application/json", json::to_vec(&delete_options(live))));
        self.cluster.send(Method::DELETE, &path, "application/json", body).await
    }
}

/// Returns the options by which only the object that was read is deleted.
pub(super) fn delete_options(live: Option<&LiveObject>) -> Value {
    let field = |name: &'static str| {
        let value = live.and_then(|live| live.object.at(["metadata", name]).cloned());
        value.map(|value| (name, value))
    };
    Value::object([
        ("apiVersion", Value::from("v1")),
        ("kind", Value::from("DeleteOptions")),
        ("propagationPolicy", Value::from("Background")),
        ("preconditions", Value::object([field("uid"), field("resourceVersion")].into_iter().flatten())),
    ])
}

/// Returns an object with the resourceVersion of the live one: a PUT of it fails if another client writes in between.
pub(super) fn with_version(object: &Value, live: &LiveObject) -> Value {
    let metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let metadata = metadata.with("resourceVersion", live.resource_version());
    Value::Object(object.as_object().cloned().unwrap_or_default().with("metadata", metadata))
}

/// Returns an object as it is created again, without what belonged to the one that is gone.
pub(super) fn without_identity(object: &Value) -> Value {
    let root: Object = object.as_object().cloned().unwrap_or_default().without("status");
    let metadata = root.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let metadata = WITHOUT_IDENTITY.iter().fold(metadata, |metadata, name| metadata.without(name));
    Value::Object(root.with("metadata", metadata))
}
