//! Plans that are kept, on a server: making one from drafts, carrying it out under its pins, and computing its undo, which is a plan
//! again.

mod approval;
mod carry_out;
mod transaction;
mod undo;

pub use approval::{ApprovalDecision, ApprovalError, Approvals, Pending, WaitingPlan};
pub use carry_out::{CarriedOut, End, carry_out, stale};
pub use transaction::{Atomicity, carry_out_atomically, carry_out_together};
pub use undo::{UndoConflict, UndoPlan, applied_from_history, undo_plan};

use crate::{ClientError, Cluster, Draft, Found, order};
use http::Method;
use tenure_apply::Timestamp;
use tenure_ownership::{ApplyingManager, ClusterIdentity, Pinning, Plan, PlannedStep, SavedPlan};
use tenure_value::Value;

/// The namespace whose uid identifies a cluster.
const IDENTITY: &str = "/api/v1/namespaces/kube-system";

impl Cluster {
    /// Returns what identifies the cluster; without the uid if the user may not read it.
    pub async fn identity(&self) -> Result<ClusterIdentity, ClientError> {
        let response = self.send(Method::GET, IDENTITY, "application/json", None).await?;
        let uid =
            response.value.at(["metadata", "uid"]).and_then(Value::as_str).unwrap_or_default().to_owned();
        let uid = if response.is_success() { uid } else { String::new() };
        match response.code {
            200..300 | 403 | 404 => Ok(ClusterIdentity { server: self.server().to_owned(), uid }),
            _ => Err(response.error("read", IDENTITY)),
        }
    }
}

/// Makes a plan that can be kept from planned applies and from plans of deletions. Objects are written in the order of their
/// dependencies and deleted last, in the reverse order. Objects that would not change are left out.
pub async fn save<'a>(
    applies: impl IntoIterator<Item = (&'a Draft, &'a ApplyingManager, &'a Plan)>,
    deletions: &[Plan],
    pinning: Pinning,
    now: Timestamp,
    cluster: &Cluster,
) -> Result<SavedPlan, ClientError> {
    let mut steps = Vec::new();
    for (draft, applier, plan) in applies {
        steps.extend(PlannedStep::apply(&draft.manifest, applier, plan)?);
    }
    steps.sort_by_key(|step| order::phase(&step.target.kind));
    let mut deleted: Vec<PlannedStep> = deletions.iter().filter_map(PlannedStep::of_plan).collect();
    deleted.sort_by_key(|step| std::cmp::Reverse(order::phase(&step.target.kind)));
    steps.extend(deleted);
    Ok(SavedPlan { cluster: cluster.identity().await?, time: now, pinning, steps })
}

/// Returns the plan of the deletion of an object.
pub fn deletion(found: &Found) -> Result<Plan, ClientError> {
    Ok(Plan::deletion(found.target(), found.read()?))
}
