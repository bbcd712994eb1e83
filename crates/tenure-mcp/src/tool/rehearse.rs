//! `rehearse`: an apply on a copy of what it touches. How that is done is up to the program around the server.

use super::{Outcome, plan::drafts};
use crate::{
    arguments::Arguments,
    context::Context,
    reply::{Failure, Next, Reason, Reply},
    text::count,
};
use tenure_value::Value;

/// Rehearses an apply.
pub async fn rehearse(arguments: &Arguments, context: &Context) -> Outcome {
    let Some(rehearsal) = &context.rehearsal else {
        return Err(Failure::new(Reason::Unavailable, "this server cannot rehearse").then(Next::call(
            "plan",
            Value::Null,
            "a plan says what the cluster itself would do",
        )));
    };
    let manager = arguments.manager()?;
    let drafts = drafts(arguments, context, 0).await?;
    if drafts.is_empty() {
        return Err(Failure::new(Reason::InvalidArguments, "there is nothing to rehearse").at("manifests"));
    }
    let manifests = drafts.into_iter().map(|draft| draft.manifest.config).collect();
    let report = rehearsal.rehearse(manifests, manager, &context.cluster).await;
    let report = report.map_err(|problem| Failure::new(Reason::Refused, problem))?;
    let number = |name: &str| report.get(name).and_then(Value::as_array).map_or(0, |list| list.len());
    let again = match number("second") {
        0 => "a second apply would change nothing".to_owned(),
        unstable => format!("a second apply would change {} again", count(unstable, "object")),
    };
    let text = format!("rehearsed {}; {again}", count(number("plans"), "object"));
    let data = report.as_object().cloned().unwrap_or_default();
    let next = vec![Next::call("plan", Value::Null, "plan the same manifests on the cluster itself")];
    Ok(Reply { data, text, next, untrusted: &["plans", "second", "notCalled", "leftOut"], digest: None })
}
