//! Undoing a past change of an object that exists: the fields that it changed get back their values and their owners.

use super::{Past, text};
use crate::{ClientError, Cluster, JSON_PATCH};
use http::Method;
use tenure_apply::{Managers, State};
use tenure_history::{
    secret::is_withheld,
    undo::{self, OnConflict, Plan},
};
use tenure_ownership::{LiveObject, handover::managers_patch};
use tenure_schema::TypeRef;
use tenure_value::{Value, json};

/// The manager that carries out an undo; it owns nothing afterwards.
const WRITER: &str = "tenure-undo";

/// A past change of an object that exists.
pub struct PastChange {
    /// The object.
    pub past: Past,
    /// The revision of the change.
    pub revision: u64,
    before: LiveObject,
    after: LiveObject,
    live: LiveObject,
    /// The path that the change was made through.
    path: String,
}

impl PastChange {
    /// Finds a change by its revision, or the last one.
    pub async fn find(
        past: Past,
        revision: Option<u64>,
        cluster: &Cluster,
    ) -> Result<PastChange, ClientError> {
        let log = past.log(cluster, None, revision.and_then(|revision| revision.checked_add(1)), 1).await?;
        let found =
            log.items.first().and_then(|item| Some((item, text(item, "revision").parse::<u64>().ok()?)));
        let found = found.filter(|(_, found)| revision.is_none_or(|wanted| *found == wanted));
        let Some((item, revision)) = found else {
            let which = revision.map(|revision| format!(" with revision {revision}")).unwrap_or_default();
            return Err(ClientError::history(format!(
                "{}: no change{which} is kept; `tenure log {}` lists them",
                past.what(),
                past.what()
            )));
        };
        let advice = match text(item, "type") {
            "Created" => Some("it created the object; delete the object instead"),
            "Deleted" => Some("it deleted the object; use `tenure restore` instead"),
            _ => None,
        };
        if let Some(advice) = advice {
            let problem = format!("{}: revision {revision} cannot be undone: {advice}", past.what());
            return Err(ClientError::history(problem));
        }
        let before = past.at(cluster, text(item, "previous")).await?;
        let after = past.at(cluster, &revision.to_string()).await?;
        let live = cluster.find_live(&past.path).await?;
        let live = live.ok_or_else(|| {
            ClientError::history(format!("{} was deleted; use `tenure restore`", past.what()))
        })?;
        let path = match text(item, "subresource") {
            "status" => format!("{}/status", past.path),
            _ => past.path.clone(),
        };
        Ok(PastChange { past, revision, before, after, live, path })
    }

    /// Returns a change of which both versions are known, on any server.
    pub async fn between(
        past: Past,
        before: LiveObject,
        after: LiveObject,
        cluster: &Cluster,
    ) -> Result<PastChange, ClientError> {
        let gone = || ClientError::ChangedSince { what: past.what() };
        let live = cluster.find_live(&past.path).await?.ok_or_else(gone)?;
        let revision = after.resource_version().as_str().and_then(|version| version.parse().ok());
        let path = past.path.clone();
        Ok(PastChange { past, revision: revision.unwrap_or_default(), before, after, live, path })
    }

    /// Plans the undo. The values of a Secret must have been kept.
    pub fn plan(&self, ty: TypeRef<'_>, on_conflict: OnConflict) -> Result<Plan, ClientError> {
        let plan = undo::plan(&self.live.object, &self.before.object, &self.after.object, ty, on_conflict);
        let values =
            plan.edits.iter().map(|edit| &edit.after).chain(plan.conflicts.iter().map(|one| &one.wanted));
        if self.past.resource.kind == "Secret" && values.flatten().any(is_withheld) {
            return Err(ClientError::history(
                "the values of this Secret were not kept, so that the change cannot be undone; a server that should keep \
                 them runs with --history-secret-values, a recorder with --secret-values",
            ));
        }
        Ok(plan)
    }

    /// Carries out a plan.
    pub async fn carry_out(&self, plan: &Plan, cluster: &Cluster) -> Result<(), ClientError> {
        let written = self.put(plan, cluster).await?;
        self.set_owners(&written, plan, cluster).await
    }

    /// Writes the values of a plan.
    async fn put(&self, plan: &Plan, cluster: &Cluster) -> Result<Value, ClientError> {
        // The resourceVersion in the object makes this fail if another client writes in between.
        let path = format!("{}?fieldManager={WRITER}", self.path);
        let body = Some(("application/json", json::to_vec(&plan.object)));
        let response = cluster.send(Method::PUT, &path, "application/json", body).await?;
        if response.refusal().is_outdated() && !response.is_success() {
            return Err(ClientError::history(format!(
                "{} was written in between; try again",
                self.past.what()
            )));
        }
        response.success("write", &self.past.what())
    }

    /// Gives the fields back to their owners before the change.
    async fn set_owners(&self, written: &Value, plan: &Plan, cluster: &Cluster) -> Result<(), ClientError> {
        let live =
            LiveObject::read(written).map_err(|error| ClientError::invalid(&self.past.what(), error))?;
        let before = State { object: self.before.object.clone(), managers: self.before.managers.clone() };
        let wanted: Managers = undo::owners(&live.managers, &before, &plan.edits, WRITER);
        if wanted.same_fields(&live.managers) {
            return Ok(());
        }
        self.patch_owners(&managers_patch(live.resource_version(), &wanted), cluster).await
    }

    async fn patch_owners(&self, patch: &Value, cluster: &Cluster) -> Result<(), ClientError> {
        let path = format!("{}?fieldManager={WRITER}", self.past.path);
        let response = cluster.patch(&path, JSON_PATCH, patch).await?;
        response.success("restore the owners of", &self.past.what()).map(drop)
    }
}
