//! Plans that are ready: kept by this server under their digest, and handed to a person where approval is needed.

use crate::{
    context::Context,
    reply::{Failure, Next, Reason},
};
use tenure_client::{ApprovalDecision, ApprovalError};
use tenure_ownership::SavedPlan;
use tenure_value::{Object, Value};

/// A plan that this server keeps.
pub struct Kept {
    /// Its digest.
    pub digest: String,
    approval: Option<&'static str>,
    read_only: bool,
}

/// Keeps a plan.
pub fn keep(plan: SavedPlan, context: &Context) -> Result<Kept, Failure> {
    let digest = plan.digest();
    let approval = match &context.approvals {
        Some(approvals) if !context.guard.read_only => {
            approvals.announce(&digest, &plan)?;
            Some(match approvals.decision(&digest)? {
                None => "required",
                Some(ApprovalDecision::Approved) => "given",
                Some(ApprovalDecision::Refused) => "refused",
            })
        }
        _ => None,
    };
    context.plans.made(digest.clone(), plan);
    Ok(Kept { digest, approval, read_only: context.guard.read_only })
}

impl Kept {
    /// Adds the digest to a result.
    pub fn add_to(&self, data: Object) -> Object {
        let data = data.with("digest", self.digest.as_str());
        match self.approval {
            Some(word) => data.with("approval", word),
            None => data,
        }
    }

    /// Returns what can be done next.
    pub fn next(&self) -> Vec<Next> {
        if self.read_only {
            return vec![Next::person(format!(
                "this server is read-only; show the plan {} to a person",
                self.digest
            ))];
        }
        let mut next = Vec::new();
        if self.approval == Some("required") {
            next.push(wait(&self.digest));
        }
        let arguments = Value::object([("digest", Value::from(self.digest.as_str()))]);
        next.push(Next::call("apply_plan", arguments, "carry out exactly this plan"));
        next
    }
}

/// Returns what a person does about a plan that needs approval.
pub fn wait(digest: &str) -> Next {
    Next::person(format!(
        "a person reads and approves the plan, in a terminal with `tenure approve {digest}` or on the page of `tenure ui`"
    ))
}

impl From<ApprovalError> for Failure {
    fn from(error: ApprovalError) -> Failure {
        Failure::new(Reason::Unavailable, format!("the plan cannot be handed to a person: {error}"))
    }
}
