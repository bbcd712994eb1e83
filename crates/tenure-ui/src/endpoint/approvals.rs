//! Plans of agents that wait for a person: what they do, whether they still hold, and the decision. Only users who
//! opened the link of the program can see and decide: an agent may have a token, too.

use super::{Acting, now};
use crate::{PageError, request::text, session::Credentials};
use std::path::Path;
use tenure_client::{ApprovalDecision, Approvals, Cluster, Pending, WaitingPlan};
use tenure_ownership::{ForcedFields, PlannedStep, PlannedWrite};
use tenure_value::{Object, Value};

/// How many steps of a plan the list names.
const NAMED: usize = 4;

/// The directory of the plans, for a user who may decide.
pub(crate) struct ApprovalEndpoint<'a> {
    directory: &'a Path,
    acting: Acting<'a>,
}

impl<'a> ApprovalEndpoint<'a> {
    /// Returns the endpoint of a page that has one.
    pub fn new(directory: Option<&'a Path>, acting: Acting<'a>) -> Result<ApprovalEndpoint<'a>, PageError> {
        let directory = directory.ok_or(PageError::NotFound)?;
        match acting.session.credentials {
            Credentials::OfProgram => Ok(ApprovalEndpoint { directory, acting }),
            Credentials::Token(_) => Err(PageError::NotThePerson),
        }
    }

    /// Whether a user is shown the plans: agents have asked here, and the user may decide.
    pub fn is_shown(directory: Option<&Path>, credentials: &Credentials) -> bool {
        *credentials == Credentials::OfProgram && directory.is_some_and(Path::exists)
    }

    fn open(&self) -> Result<Option<Approvals>, PageError> {
        Ok(Approvals::existing(self.directory)?)
    }

    fn find(&self, digest: &str) -> Result<(Approvals, WaitingPlan), PageError> {
        let approvals = self.open()?.ok_or_else(|| PageError::NoObject { what: "the plan".into() })?;
        let waiting = approvals.find(digest)?;
        Ok((approvals, waiting))
    }

    /// Lists the plans, the newest first.
    pub fn list(&self) -> Result<Value, PageError> {
        let Pending { mut plans, unreadable } = match self.open()? {
            Some(approvals) => approvals.waiting()?,
            None => Pending::default(),
        };
        plans.sort_by_key(|waiting| std::cmp::Reverse(waiting.plan.time.unix()));
        Ok(Object::default()
            .with("plans", Value::array(plans.iter().map(|waiting| Value::Object(summary(waiting)))))
            .with("problems", Value::array(unreadable.iter().map(|error| Value::from(error.to_string()))))
            .into())
    }

    /// Returns everything that a plan does, and whether it still holds on the cluster of the user.
    pub async fn show(&self, digest: &str) -> Result<Value, PageError> {
        let (_, waiting) = self.find(digest)?;
        let cluster = self.acting.cluster;
        let is_here = waiting.plan.cluster.is(&cluster.identity().await?);
        let mut steps = Vec::with_capacity(waiting.plan.steps.len());
        for one in &waiting.plan.steps {
            steps.push(step(one, is_here.then_some(cluster)).await?);
        }
        let mut shown = summary(&waiting)
            .with("pin", waiting.plan.pinning.word())
            .with("isHere", is_here)
            .with("steps", Value::array(steps));
        if is_here {
            let stale = tenure_client::stale(&waiting.plan, cluster).await?;
            let described = stale.iter().map(|one| Value::from(one.describe(now())));
            shown = shown.with("stale", Value::array(described));
        }
        Ok(shown.into())
    }

    /// Writes the decision about a plan, which is named by its whole digest.
    pub fn decide(&self, body: &Value) -> Result<Value, PageError> {
        let (approvals, waiting) = self.find(text(body, "digest"))?;
        if waiting.digest != text(body, "digest") {
            return Err(PageError::bad_request("a decision is about the whole digest of a plan"));
        }
        let given = text(body, "decision");
        let decision = [ApprovalDecision::Approved, ApprovalDecision::Refused]
            .into_iter()
            .find(|one| one.word() == given);
        let decision = decision.ok_or_else(|| {
            PageError::bad_request(format!("the decision is approved or refused, not {given:?}"))
        })?;
        approvals.decide(&waiting.digest, decision, now())?;
        let user = &self.acting.session.user;
        tracing::info!(
            user,
            digest = waiting.digest,
            decision = decision.word(),
            "a plan of an agent was decided"
        );
        Ok(Value::object([("decision", Value::from(decision.word()))]))
    }
}

fn summary(waiting: &WaitingPlan) -> Object {
    let plan = &waiting.plan;
    let named = plan.steps.iter().take(NAMED).map(|step| {
        Value::Object(
            Object::default().with("write", step.write.word()).with("object", step.target.to_value()),
        )
    });
    Object::default()
        .with("digest", waiting.digest.as_str())
        .with("decision", waiting.word())
        .with("server", plan.cluster.server.as_str())
        .with("time", plan.time.to_string())
        .with("managers", Value::array(waiting.managers().into_iter().map(Value::from)))
        .with("count", plan.steps.len() as i64)
        .with("named", Value::array(named))
}

/// Returns what a step does; on the cluster of the user with what leads to its object.
async fn step(step: &PlannedStep, cluster: Option<&Cluster>) -> Result<Value, PageError> {
    let target = &step.target;
    let mut object = target.to_value().as_object().cloned().unwrap_or_default();
    if let Some(cluster) = cluster
        && step.before.is_some()
        && let Some(kind) = cluster.kind_of(&target.api_version, &target.kind).await?
    {
        object = object.with("resource", kind.plural);
    }
    let shown = Object::default()
        .with("object", object)
        .with("write", step.write.word())
        .with("plan", step.preview.clone());
    Ok(Value::Object(match &step.write {
        PlannedWrite::Apply { manager, force, .. } => {
            let shown = shown.with("manager", manager.as_str());
            match force {
                ForcedFields::None => shown,
                ForcedFields::All => shown.with("forcesAll", true),
                ForcedFields::Paths(paths) => {
                    shown.with("forces", Value::array(paths.iter().map(|path| Value::from(path.as_str()))))
                }
            }
        }
        PlannedWrite::Restore(_) | PlannedWrite::Delete => shown,
    }))
}
