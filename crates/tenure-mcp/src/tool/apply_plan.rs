//! `apply_plan`: carries out a plan that this server made. The one tool that writes.

use super::{Outcome, keep, shown};
use crate::{
    arguments::Arguments,
    audit::Entry,
    context::Context,
    quota::Exceeded,
    reply::{Failure, Next, Reason, Reply},
    text::count,
};
use std::sync::Arc;
use tenure_apply::Timestamp;
use tenure_client::{ApprovalDecision, Atomicity, CarriedOut, ClientError, End};
use tenure_ownership::{SavedPlan, Stale};
use tenure_value::{Object, Value};

/// Carries out a plan.
pub async fn apply_plan(arguments: &Arguments, context: &Arc<Context>) -> Outcome {
    context.guard.check_write()?;
    let digest = arguments.text("digest").unwrap_or_default().to_owned();
    let with_digest = |failure: Failure| Failure { digest: Some(digest.as_str().into()), ..failure };
    let plan = context.plans.get(&digest).ok_or_else(|| with_digest(unknown(&digest)))?;
    check_approval(&digest, context).map_err(with_digest)?;
    let began = context.now();
    take_room(&plan, began, context).map_err(with_digest)?;
    // Taken only now, so that a plan that waits for approval or room can be asked for again, and once, so that it is carried out once.
    let taken = context.plans.take(&digest).ok_or_else(|| unknown(&digest)).and_then(|taken| {
        audit(&digest, arguments, context)?;
        Ok(taken)
    });
    let taken = taken.map_err(|failure| {
        give_back(plan.steps.len(), began, context);
        with_digest(failure)
    })?;
    // A client that leaves must not stop it halfway: what was written would be unknown.
    let (worker, running) = (context.clone(), context.running().await);
    let carried = tokio::spawn(async move {
        let result = carry_out(&taken, began, &worker).await;
        drop(running);
        result
    });
    let carried = carried.await.unwrap_or_else(|error| Err(Failure::new(Reason::Refused, error.to_string())));
    carried.map(|reply| done(reply, &plan)).map_err(with_digest)
}

fn unknown(digest: &str) -> Failure {
    Failure::new(Reason::NotFound, format!("this server has no plan {digest}"))
        .at("digest")
        .suggest("a plan is carried out once, by the server that made it; plan again")
        .then(Next::call("plan", Value::Null, "make a plan"))
}

fn check_approval(digest: &str, context: &Context) -> Result<(), Failure> {
    let Some(approvals) = &context.approvals else { return Ok(()) };
    match approvals.decision(digest)? {
        Some(ApprovalDecision::Approved) => Ok(()),
        Some(ApprovalDecision::Refused) => {
            context.plans.take(digest);
            approvals.withdraw(digest)?;
            Err(Failure::new(Reason::NotApproved, "a person refused this plan")
                .then(Next::person("ask why before you plan anything like it")))
        }
        None => Err(Failure::new(Reason::NotApproved, "a person has to approve this plan first")
            .then(keep::wait(digest))),
    }
}

/// Takes room for the changes of a plan.
fn take_room(plan: &SavedPlan, now: Timestamp, context: &Context) -> Result<(), Failure> {
    let Some(quota) = &context.quota else { return Ok(()) };
    quota.take(plan.steps.len(), now).map_err(|Exceeded { used, most, wait }| {
        let changes = count(plan.steps.len(), "object");
        let message = format!(
            "the plan changes {changes}; this server allows {most} in a minute, and {used} were changed in the last one"
        );
        let failure = Failure::new(Reason::TooManyChanges, message);
        match wait {
            Some(seconds) => failure.suggest(format!("the plan stays; try again in {}", count(seconds as usize, "second"))),
            None => failure
                .suggest("plan fewer objects at once")
                .then(Next::person("the person who started the server can allow more with --max-changes-per-minute")),
        }
    })
}

fn give_back(number: usize, taken: Timestamp, context: &Context) {
    if let Some(quota) = &context.quota {
        quota.give_back(number, taken);
    }
}

/// Writes the call to the log before anything is written to the cluster: what cannot be logged is not done.
fn audit(digest: &str, arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let Some(log) = &context.audit else { return Ok(()) };
    let entry = Entry {
        time: context.now(),
        stage: "call",
        tool: "apply_plan",
        arguments: &arguments.0,
        digest: Some(digest),
        outcome: "begun",
    };
    log.write(&entry).map_err(|error| {
        Failure::new(
            Reason::Unavailable,
            format!("nothing was written, because the audit log cannot be: {error}"),
        )
    })
}

/// Carries out a plan that was taken, and keeps what undoes it.
async fn carry_out(
    plan: &SavedPlan,
    began: Timestamp,
    context: &Context,
) -> Result<(CarriedOut, Atomicity), Failure> {
    let digest = plan.digest();
    let carried = match tenure_client::carry_out_together(plan, context.now(), &context.cluster).await {
        Ok((carried, atomicity)) => {
            give_back(plan.steps.len().saturating_sub(carried.applied.steps.len()), began, context);
            (carried, atomicity)
        }
        Err(error) => {
            give_back(plan.steps.len(), began, context);
            // Nothing was written, so that the plan can be tried again if the server is only out of reach.
            if matches!(error, ClientError::Connect(_)) {
                context.plans.made(digest, plan.clone());
            }
            return Err(error.into());
        }
    };
    let (carried, atomicity) = carried;
    if let Some(approvals) = &context.approvals
        && let Err(error) = approvals.withdraw(&digest)
    {
        tracing::warn!(%error, "the approval of a plan that was carried out cannot be removed");
    }
    if !carried.applied.steps.is_empty() {
        context.plans.applied(carried.applied.clone());
        let kept = context.keep_undo.as_ref().map(|keep| keep(&carried.applied));
        if let Some(Err(error)) = kept {
            tracing::warn!(%error, "the undo file of a plan cannot be written");
        }
    }
    match &carried.end {
        End::Complete => Ok((carried, atomicity)),
        End::Stale(stale) => Err(stopped(stale_failure(stale, context), &carried)),
        End::Refused { target, message } => {
            let failure = Failure::new(Reason::Refused, format!("{}: {message}", shown::name(target)));
            Err(stopped(
                failure.then(Next::call("plan", Value::Null, "correct it, and plan again")),
                &carried,
            ))
        }
    }
}

fn stale_failure(stale: &[Stale], context: &Context) -> Failure {
    let described: Vec<String> = stale.iter().map(|one| one.describe(context.now())).collect();
    let message = format!("the plan no longer holds:\n{}", described.join("\n"));
    let failure = Failure::new(Reason::Stale, message)
        .suggest("look at what changed and who changed it; plan again if the change is still wanted")
        .then(Next::call("plan", Value::Null, "the same call again, on the objects as they are now"));
    Failure {
        data: Object::default().with("stale", Value::array(stale.iter().map(Stale::to_value))),
        ..failure
    }
}

/// Adds what was written before a plan was stopped.
fn stopped(failure: Failure, carried: &CarriedOut) -> Failure {
    let written = &carried.applied.steps;
    let list = Value::array(written.iter().map(|step| step.target.to_value()));
    let message = match written.len() {
        0 => format!("nothing was written: {}", failure.message),
        number => format!("stopped after {}: {}", count(number, "object"), failure.message),
    };
    let mut next = failure.next.clone();
    if !written.is_empty() {
        next.push(undo(&carried.applied.digest));
    }
    Failure { message, data: failure.data.with("written", list), next, ..failure }
}

fn undo(digest: &str) -> Next {
    let arguments = Value::object([("digest", Value::from(digest))]);
    Next::call("undo", arguments, "a plan that restores the values and owners from before")
}

fn done((carried, atomicity): (CarriedOut, Atomicity), plan: &SavedPlan) -> Reply {
    let written = carried.applied.steps.iter().map(|step| step.target.to_value());
    let digest = carried.applied.digest;
    let data = Object::default()
        .with("result", "complete")
        .with("digest", digest.as_str())
        .with("atomic", atomicity == Atomicity::Together)
        .with("written", Value::array(written));
    let how = match (atomicity, plan.steps.len()) {
        (_, 0 | 1) => "",
        (Atomicity::Together, _) => ", as one transaction",
        (Atomicity::InTurn, _) => ", one after the other",
    };
    let text = format!("complete: {} written{how}", count(plan.steps.len(), "object"));
    Reply { data, text, next: vec![undo(&digest)], untrusted: &["written"], digest: Some(digest) }
}
