//! Carrying out a saved plan as one transaction of a Tenure server: all of it or nothing. Every pin is checked first, and every write
//! is conditional on what was checked.

use super::carry_out::{ATTEMPTS, Carrier, WRITER, with_version, without_identity};
use crate::{APPLY_PATCH, CarriedOut, ClientError, Cluster, End, JSON_PATCH, Mode, Resource, Scope, apply};
use tenure_apply::Timestamp;
use tenure_ownership::{
    AppliedPlan, AppliedStep, LiveObject, Manifest, PlannedStep, PlannedWrite, SavedPlan, Target,
    handover::replace_managers,
};
use tenure_value::Value;

/// The path of transactions.
const PATH: &str = "/transactions";

/// How the steps of a plan were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomicity {
    /// All or none.
    Together,
    /// One after the other, up to the first refusal.
    InTurn,
}

/// What became of a transaction.
enum Transacted {
    Ended(Box<CarriedOut>),
    /// The server has none, the user may not use them, or its store cannot hold this one; nothing was written.
    NotOffered {
        code: u16,
        message: String,
    },
}

/// Carries out a plan as one transaction. What it returns has all steps or none.
pub async fn carry_out_atomically(
    plan: &SavedPlan,
    now: Timestamp,
    cluster: &Cluster,
) -> Result<CarriedOut, ClientError> {
    match transact(plan, now, cluster).await? {
        Transacted::Ended(carried) => Ok(*carried),
        Transacted::NotOffered { code: 404 | 405, .. } => {
            Err(ClientError::NoTransactions { server: cluster.server().to_owned() })
        }
        Transacted::NotOffered { message, .. } => {
            let Some(first) = plan.steps.first() else {
                return Err(ClientError::Changed { what: "the plan".into() });
            };
            let end = End::Refused { target: first.target.clone(), message };
            Ok(CarriedOut { applied: nothing_yet(plan, now), end })
        }
    }
}

/// Carries out a plan as one transaction if the server takes it as one, else step by step.
pub async fn carry_out_together(
    plan: &SavedPlan,
    now: Timestamp,
    cluster: &Cluster,
) -> Result<(CarriedOut, Atomicity), ClientError> {
    let is_one_write = match plan.steps.as_slice() {
        [] => true,
        [step] => !matches!(step.write, PlannedWrite::Restore(_)),
        _ => false,
    };
    if is_one_write {
        return Ok((super::carry_out(plan, now, cluster, |_| {}).await?, Atomicity::Together));
    }
    match transact(plan, now, cluster).await? {
        Transacted::Ended(carried) => Ok((*carried, Atomicity::Together)),
        Transacted::NotOffered { .. } => {
            Ok((super::carry_out(plan, now, cluster, |_| {}).await?, Atomicity::InTurn))
        }
    }
}

fn nothing_yet(plan: &SavedPlan, now: Timestamp) -> AppliedPlan {
    AppliedPlan { digest: plan.digest(), cluster: plan.cluster.clone(), time: now, steps: Vec::new() }
}

async fn transact(plan: &SavedPlan, now: Timestamp, cluster: &Cluster) -> Result<Transacted, ClientError> {
    let mut applied = nothing_yet(plan, now);
    let ended = |applied, end| Ok(Transacted::Ended(Box::new(CarriedOut { applied, end })));
    for _ in 0..ATTEMPTS {
        let checked = match super::carry_out::check(plan, cluster).await? {
            Ok(checked) => checked,
            Err(stale) => return ended(applied, End::Stale(stale)),
        };
        if plan.steps.is_empty() {
            return ended(applied, End::Complete);
        }
        let carrier = Carrier { plan, cluster };
        let (mut requests, mut steps) = (Vec::new(), Vec::new());
        for (place, (step, live)) in plan.steps.iter().zip(&checked).enumerate() {
            for request in carrier.requests(step, live.as_ref()).await? {
                requests.push(request);
                steps.push(place);
            }
        }
        let transaction = Value::object([
            ("apiVersion", Value::from("tenure.dev/v1")),
            ("kind", "Transaction".into()),
            ("requests", Value::array(requests)),
        ]);
        let response = cluster.post(PATH, &transaction).await?;
        if response.is_success() {
            let results = response.value.get("results").and_then(Value::as_array);
            let results = results.map(|results| results.items()).unwrap_or_default();
            for (place, (step, live)) in plan.steps.iter().zip(checked).enumerate() {
                // The last write of a step shows its object.
                let after = steps.partition_point(|step| *step <= place);
                let last = after.checked_sub(1).and_then(|at| results.get(at));
                let after = match (&step.write, last.and_then(|result| result.get("object"))) {
                    (PlannedWrite::Delete, _) => None,
                    (_, Some(object)) => Some(
                        LiveObject::read(object)
                            .map_err(|error| ClientError::invalid(&step.target, error))?,
                    ),
                    // The objects are written; the undo file lacks what the server did not tell.
                    (_, None) => None,
                };
                applied.steps.push(AppliedStep { target: step.target.clone(), before: live, after });
            }
            cluster.rediscover();
            return ended(applied, End::Complete);
        }
        let refusal = response.refusal();
        let place = refusal.refused_write().and_then(|at| steps.get(at)).copied();
        // A refusal that names no write is about the transaction as such, and was made before anything was committed.
        if matches!(refusal.code, 400 | 403 | 404 | 405 | 413) && place.is_none() {
            return Ok(Transacted::NotOffered { code: refusal.code, message: refusal.message });
        }
        let is_changed = refusal.is_outdated() || refusal.reason == "AlreadyExists" || refusal.code == 404;
        if !is_changed {
            let target = place.and_then(|place| plan.steps.get(place)).or(plan.steps.first());
            let Some(target) = target.map(|step| step.target.clone()) else { break };
            return ended(applied, End::Refused { target, message: refusal.message });
        }
    }
    Err(ClientError::Changed { what: "the objects of the plan".into() })
}

impl Carrier<'_> {
    /// Returns the writes of a step.
    async fn requests(
        &self,
        step: &PlannedStep,
        live: Option<&LiveObject>,
    ) -> Result<Vec<Value>, ClientError> {
        let target = &step.target;
        let resource = self.resource(target).await?;
        let path = resource.path(&target.namespace, &target.name);
        Ok(match &step.write {
            PlannedWrite::Apply { config, manager, force } => {
                let ty = self.cluster.type_of(&target.api_version, &target.kind).await?;
                let manifest = Manifest::new(config.clone(), step.source.clone(), ty);
                let config = match live {
                    Some(live) => manifest.guarded(&live.object),
                    None => manifest.config,
                };
                let query = apply::query(manager, force, Mode::Write);
                let write = request("PATCH", format!("{path}{query}"), APPLY_PATCH, config);
                vec![if live.is_none() { only_if_absent(write) } else { write }]
            }
            PlannedWrite::Restore(after) => {
                let by = format!("?fieldManager={WRITER}");
                let write = match live {
                    Some(live) => request(
                        "PUT",
                        format!("{path}{by}"),
                        "application/json",
                        with_version(&after.object, live),
                    ),
                    None => {
                        let collection = resource.collection(Some(&target.namespace));
                        let object = without_identity(&after.object);
                        request("POST", format!("{collection}{by}"), "application/json", object)
                    }
                };
                let owners = Value::array([replace_managers(&after.managers)]);
                vec![write, request("PATCH", format!("{path}{by}"), JSON_PATCH, owners)]
            }
            PlannedWrite::Delete => {
                vec![request("DELETE", path, "application/json", super::carry_out::delete_options(live))]
            }
        })
    }

    /// Returns the resource of an object, by the server or by a definition in the plan itself.
    async fn resource(&self, target: &Target) -> Result<Resource, ClientError> {
        if let Some(resource) = self.cluster.kind_of(&target.api_version, &target.kind).await? {
            return Ok(resource);
        }
        let defined = self.plan.steps.iter().find_map(|step| match &step.write {
            PlannedWrite::Apply { config, .. } => defined_resource(config, target),
            _ => None,
        });
        defined.ok_or_else(|| ClientError::UnknownKind {
            name: format!("{}.{}", target.kind, target.api_version),
            nearest: String::new(),
            server: self.cluster.server().to_owned(),
        })
    }
}

/// Returns the resource of an object if this is the definition of its kind.
fn defined_resource(definition: &Value, target: &Target) -> Option<Resource> {
    let text = |path: &[&str]| definition.at(path.iter().copied()).and_then(Value::as_str).map(str::to_owned);
    let (group, version) = target.api_version.split_once('/')?;
    let is_it = text(&["kind"]).as_deref() == Some("CustomResourceDefinition")
        && text(&["spec", "group"]).as_deref() == Some(group)
        && text(&["spec", "names", "kind"]).as_deref() == Some(&target.kind);
    is_it.then(|| Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: target.kind.clone(),
        plural: text(&["spec", "names", "plural"]).unwrap_or_default(),
        singular: text(&["spec", "names", "singular"]).unwrap_or_default(),
        short_names: Vec::new(),
        scope: match text(&["spec", "scope"]).as_deref() {
            Some("Cluster") => Scope::Cluster,
            _ => Scope::Namespaced,
        },
        verbs: Vec::new(),
    })
}

fn request(method: &'static str, path: String, content_type: &'static str, body: Value) -> Value {
    Value::object([
        ("method", Value::from(method)),
        ("path", path.into()),
        ("contentType", content_type.into()),
        ("body", body),
    ])
}

fn only_if_absent(request: Value) -> Value {
    Value::Object(request.as_object().cloned().unwrap_or_default().with("absent", true))
}
