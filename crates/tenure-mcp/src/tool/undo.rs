//! `undo`: the undo of a plan or of a change in the history, as a plan again.

use super::{Outcome, keep::keep, shown};
use crate::{
    arguments::{Arguments, Reference, missing},
    context::Context,
    reply::{Failure, Next, Reason, Reply},
    secrets,
    text::{count, quoted},
};
use tenure_client::Past;
use tenure_history::{secret, undo::OnConflict};
use tenure_ownership::{AppliedPlan, AppliedStep, LiveObject, Pinning, Target};
use tenure_value::{Object, Value};

/// Plans an undo.
pub async fn undo(arguments: &Arguments, context: &Context) -> Outcome {
    let applied = match (arguments.text("digest"), arguments.optional_reference()) {
        (Some(digest), None) => context.plans.get_applied(digest).ok_or_else(|| {
            Failure::new(Reason::NotFound, format!("this server did not carry out a plan {digest}"))
                .at("digest")
                .suggest("name the object instead, and a revision of its history")
        })?,
        (None, Some(reference)) => from_history(&reference, arguments.number("revision"), context).await?,
        (None, None) => return Err(missing("digest").suggest("name a plan by its digest, or an object")),
        (Some(_), Some(_)) => {
            let message = "name a plan by its digest or an object, not both";
            return Err(Failure::new(Reason::InvalidArguments, message).at("digest"));
        }
    };
    // The undo rewrites the objects, so that it is pinned to them whole.
    let undone = tenure_client::undo_plan(
        &applied,
        OnConflict::Keep,
        Pinning::Versions,
        context.now(),
        &context.cluster,
    )
    .await?;
    let is_stopped = !undone.conflicts.is_empty() && !arguments.flag("keep");
    let result = match undone.saved.steps.is_empty() {
        _ if is_stopped => "conflicts",
        true => "unchanged",
        false => "ready",
    };
    let conflicts = undone.conflicts.iter().map(|conflict| {
        let problem = Value::from(conflict.problem.as_str());
        Value::object([("object", conflict.target.to_value()), ("problem", problem)])
    });
    let plans = undone.plans.iter().map(|plan| Value::Object(shown::plan(plan, "")));
    let mut data = Object::default()
        .with("result", result)
        .with("plans", Value::array(plans))
        .with("conflicts", Value::array(conflicts));
    let mut text = format!("{result} ({})", shown::summary(undone.plans.iter()));
    let (mut digest, mut next) = (None, Vec::new());
    if result == "ready" {
        let kept = keep(undone.saved, context)?;
        data = kept.add_to(data);
        next = kept.next();
        text += &format!("; {}", kept.digest);
        digest = Some(kept.digest);
    }
    if is_stopped {
        text += &format!("; {} stand against it", count(undone.conflicts.len(), "later change"));
        let again = arguments.0.as_object().cloned().unwrap_or_default().with("keep", true);
        let why = "leave what others changed since as it is, and undo the rest";
        next.push(Next::call("undo", Value::Object(again), why));
    }
    Ok(Reply { data, text, next, untrusted: &["plans", "conflicts"], digest })
}

/// Finds in the history what a change did.
async fn from_history(
    reference: &Reference,
    revision: Option<u64>,
    context: &Context,
) -> Result<AppliedPlan, Failure> {
    let (resource, namespace) = context.place(reference).await?;
    let word = resource.word();
    let past = Past::new(resource, &namespace, &reference.name);
    let before = revision.and_then(|revision| revision.checked_add(1));
    let log = past.log(&context.cluster, None, before, 1).await?;
    let text =
        |item: &Value, name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let found = log
        .items
        .first()
        .filter(|item| revision.is_none_or(|revision| text(item, "revision") == revision.to_string()));
    let Some(item) = found else {
        let message = format!("the history of {word} {} has no such change", quoted(&reference.name));
        return Err(Failure::new(Reason::NotFound, message)
            .at("revision")
            .suggest("history lists the changes"));
    };
    let (earlier, later) = match text(item, "type").as_str() {
        "Created" => (String::new(), text(item, "revision")),
        "Deleted" => (text(item, "previous"), String::new()),
        _ => (text(item, "previous"), text(item, "revision")),
    };
    let (earlier, later) = (side(&past, &earlier, context).await?, side(&past, &later, context).await?);
    let Some(shown) = earlier.as_ref().or(later.as_ref()) else {
        return Err(Failure::new(Reason::NotFound, "the history has neither side of this change"));
    };
    let target = Target::of(shown, word);
    let cluster = context.cluster.identity().await?;
    let steps = vec![AppliedStep { target, before: earlier, after: later }];
    Ok(AppliedPlan { digest: String::new(), cluster, time: context.now(), steps })
}

/// Reads one side of a change; `None` if the object did not exist.
async fn side(past: &Past, moment: &str, context: &Context) -> Result<Option<LiveObject>, Failure> {
    if moment.is_empty() {
        return Ok(None);
    }
    let live = past.at(&context.cluster, moment).await?;
    let maps = ["data", "stringData"].into_iter().filter_map(|name| live.object.get(name)?.as_object());
    if secrets::is_secret(&past.resource)
        && maps.flat_map(|map| map.iter()).any(|(_, value)| secret::is_withheld(value))
    {
        let message =
            "the history does not have the values of this Secret, so that the change cannot be undone";
        return Err(Failure::new(Reason::Unavailable, message));
    }
    Ok(Some(live))
}
