//! The undo of a plan that was carried out, as a plan: created objects are deleted, deleted ones created again, and the fields that
//! a step changed get back their values and owners. What others changed since is a conflict.

use crate::{ClientError, Cluster, Past, past::text};
use tenure_apply::Timestamp;
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_history::{
    secret,
    undo::{self, OnConflict},
};
use tenure_ownership::{
    AppliedPlan, AppliedStep, Change, LiveObject, Pinning, Plan, PlannedStep, PlannedWrite, SavedPlan,
    Target, handover::reverted, owner,
};
use tenure_value::{Value, json};

/// How many changes of an object are searched for the one of a plan.
const SEARCHED: usize = 500;

/// The undo of a plan.
#[derive(Debug)]
pub struct UndoPlan {
    /// What it does to each object, for people.
    pub plans: Vec<Plan>,
    /// The plan to carry out.
    pub saved: SavedPlan,
    /// What others changed since. It stays as it is, unless the undo overwrites it.
    pub conflicts: Vec<UndoConflict>,
}

/// What stands against the undo of a step.
#[derive(Clone, Debug)]
pub struct UndoConflict {
    /// The object.
    pub target: Target,
    /// What happened, and who did it.
    pub problem: String,
}

/// Computes the undo of a plan, the last step first.
pub async fn undo_plan(
    applied: &AppliedPlan,
    on_conflict: OnConflict,
    pinning: Pinning,
    now: Timestamp,
    cluster: &Cluster,
) -> Result<UndoPlan, ClientError> {
    let identity = cluster.identity().await?;
    if !applied.cluster.is(&identity) {
        let (planned, server) = (applied.cluster.server.clone(), identity.server);
        return Err(ClientError::OtherCluster { planned, server });
    }
    let (mut plans, mut conflicts) = (Vec::new(), Vec::new());
    for step in applied.steps.iter().rev() {
        let undone = Undoing { step, on_conflict, now, cluster }.plan().await?;
        plans.extend(undone.plan);
        conflicts.extend(
            undone.problems.into_iter().map(|problem| UndoConflict { target: step.target.clone(), problem }),
        );
    }
    let steps = plans.iter().filter_map(PlannedStep::of_plan).collect();
    Ok(UndoPlan { saved: SavedPlan { cluster: identity, time: now, pinning, steps }, plans, conflicts })
}

struct Undoing<'a> {
    step: &'a AppliedStep,
    on_conflict: OnConflict,
    now: Timestamp,
    cluster: &'a Cluster,
}

#[derive(Default)]
struct Undone {
    plan: Option<Plan>,
    problems: Vec<String>,
}

impl Undone {
    fn problem(problem: impl Into<String>) -> Undone {
        Undone { plan: None, problems: vec![problem.into()] }
    }
}

impl Undoing<'_> {
    async fn plan(&self) -> Result<Undone, ClientError> {
        let target = &self.step.target;
        let Some(resource) = self.cluster.kind_of(&target.api_version, &target.kind).await? else {
            return Ok(Undone::problem("the server no longer has its kind"));
        };
        let live = self.cluster.find_live(&resource.path(&target.namespace, &target.name)).await?;
        let ty = self.cluster.type_of(&target.api_version, &target.kind).await?;
        let uid = |live: &LiveObject| live.object.at(["metadata", "uid"]).cloned();
        Ok(match (&self.step.before, &self.step.after, live) {
            (None, Some(_), None) | (None, None, _) => Undone::default(),
            (None | Some(_), Some(after), Some(live)) if uid(after) != uid(&live) => Undone::problem(
                "was deleted since, and another object of this name was created; it is left alone",
            ),
            (None, Some(after), Some(live)) => self.delete(after, live, ty),
            (Some(before), Some(after), Some(live)) => self.revert(before, after, live, ty),
            (Some(_), Some(_), None) => Undone::problem("was deleted since; `tenure restore` brings it back"),
            (Some(before), None, None) => {
                let owners =
                    before.managers.iter().filter(|manager| manager.subresource != "status").cloned();
                let after = LiveObject { object: before.object.clone(), managers: owners.collect() };
                Undone {
                    plan: Some(Plan::restoration(target.clone(), None, after, ty)),
                    problems: Vec::new(),
                }
            }
            (Some(before), None, Some(live)) if uid(before) == uid(&live) => {
                Undone::problem("is still being deleted, because finalizers hold it; wait until it is gone")
            }
            (Some(_), None, Some(_)) => Undone::problem("exists again; it is left alone"),
        })
    }

    /// Deletes an object that the step created, unless others have written to it since.
    fn delete(&self, after: &LiveObject, live: LiveObject, ty: tenure_schema::TypeRef<'_>) -> Undone {
        let target = self.step.target.clone();
        let mut change = Change::between(after, &live, &target.word, ty);
        let status = PathElement::field("status");
        let is_status = |path: &Path| path.first() == Some(&status);
        change.values.retain(|value| !is_status(&value.path));
        change.owners.retain(|change| change.owner.subresource != "status");
        if change.is_empty() || self.on_conflict == OnConflict::Overwrite {
            return Undone { plan: Some(Plan::deletion(target, live)), problems: Vec::new() };
        }
        let who = owner::describe_all(&change.authors, self.now);
        Undone::problem(format!("was created by the plan and changed since by {who}; it is not deleted"))
    }

    /// Gives the fields that the step changed their values and owners from before it.
    fn revert(
        &self,
        before: &LiveObject,
        after: &LiveObject,
        live: LiveObject,
        ty: tenure_schema::TypeRef<'_>,
    ) -> Undone {
        let target = self.step.target.clone();
        let found = undo::plan(&live.object, &before.object, &after.object, ty, self.on_conflict);
        let mut kept = FieldSet::default();
        let mut problems = Vec::new();
        let hidden = target.word == "secret";
        for conflict in &found.conflicts {
            if self.on_conflict == OnConflict::Overwrite {
                continue;
            }
            kept.insert(&conflict.path);
            let side = |value: &Option<Value>| match value {
                Some(_) if hidden => "***".to_owned(),
                Some(value) => json::to_string(value),
                None => "(not set)".to_owned(),
            };
            let who = owner::describe_all(&owner::owners_of(&live.managers, &conflict.path), self.now);
            problems.push(format!(
                "{} was changed again since by {who}: it was {}, the plan made it {}, it is {} now",
                conflict.path,
                side(&conflict.wanted),
                side(&conflict.left),
                side(&conflict.found)
            ));
        }
        let managers = reverted(&before.managers, &after.managers, &live.managers, &kept);
        let next = LiveObject { object: found.object, managers };
        Undone { plan: Some(Plan::restoration(target, Some(live), next, ty)), problems }
    }
}

/// Finds in the history of the server what a plan did. Values of Secrets must have been kept.
pub async fn applied_from_history(
    plan: &SavedPlan,
    digest: String,
    cluster: &Cluster,
) -> Result<AppliedPlan, ClientError> {
    let mut steps = Vec::new();
    for step in &plan.steps {
        steps.extend(step_from_history(step, cluster).await?);
    }
    Ok(AppliedPlan { digest, cluster: plan.cluster.clone(), time: plan.time, steps })
}

async fn step_from_history(
    step: &PlannedStep,
    cluster: &Cluster,
) -> Result<Option<AppliedStep>, ClientError> {
    let target = &step.target;
    let Some(resource) = cluster.kind_of(&target.api_version, &target.kind).await? else { return Ok(None) };
    let past = Past::new(resource, &target.namespace, &target.name);
    let log = past.log(cluster, None, None, SEARCHED).await?;
    let seen = step
        .before
        .as_ref()
        .and_then(|live| live.resource_version().as_str()?.parse::<u64>().ok())
        .unwrap_or(0);
    let is_its = |item: &&Value| {
        let is_later = text(item, "revision").parse::<u64>().is_ok_and(|revision| revision > seen);
        is_later
            && match (&step.write, &step.before) {
                (PlannedWrite::Delete, _) => text(item, "type") == "Deleted",
                (PlannedWrite::Apply { manager, .. }, None) => {
                    text(item, "type") == "Created" && text(item, "manager") == manager
                }
                (PlannedWrite::Apply { manager, .. }, Some(_)) => text(item, "manager") == manager,
                (PlannedWrite::Restore(_), _) => false,
            }
    };
    // The first such change after what the plan saw.
    let Some(item) = log.items.iter().rev().find(is_its) else { return Ok(None) };
    let before = match text(item, "previous") {
        "" => None,
        _ if step.before.is_none() => None,
        previous => Some(past.at(cluster, previous).await?),
    };
    let after = match step.write {
        PlannedWrite::Delete => None,
        _ => Some(past.at(cluster, text(item, "revision")).await?),
    };
    let hides = |live: &Option<LiveObject>| {
        let maps = live.iter().flat_map(|live| ["data", "stringData"].map(|name| live.object.get(name)));
        let mut values = maps.flatten().filter_map(Value::as_object).flat_map(|map| map.iter());
        values.any(|(_, value)| secret::is_withheld(value))
    };
    if target.word == "secret" && (hides(&before) || hides(&after)) {
        return Err(ClientError::history(format!(
            "{target}: the history of the server does not have the values of Secrets; undo from the undo file of the plan"
        )));
    }
    Ok(Some(AppliedStep { target: target.clone(), before, after }))
}
