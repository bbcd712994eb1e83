//! `transfer`: fields get another owner, as a plan. No value changes.

use super::{Outcome, keep::keep, shown};
use crate::{
    arguments::{Arguments, missing},
    context::Context,
    reply::{Failure, Reason, Reply},
};
use tenure_ownership::{Action, Handover, Pinning, Plan, PlannedStep, SavedPlan, handover};
use tenure_value::{Object, Value};

/// Plans a change of owners.
pub async fn transfer(arguments: &Arguments, context: &Context) -> Outcome {
    let found = context.find(&arguments.reference()?).await?;
    let to = match arguments.text("to") {
        Some(to) => to.to_owned(),
        None => arguments.manager().map_err(|failure| match arguments.text("task") {
            None => missing("to").suggest("name the new manager with to, or the task"),
            Some(_) => failure,
        })?,
    };
    let (paths, from) = (arguments.texts("paths"), arguments.texts("from"));
    // The plan writes the object as it is, with the values of Secrets; what is shown of it has none.
    let live = found.read()?;
    let ty = context.type_of(&found.resource).await?;
    let now = context.now();
    let step = match (arguments.flag("client_side"), paths.is_empty(), from.is_empty()) {
        (true, true, _) => handover::migrate(&live, &from, &to, now),
        (false, false, _) => handover::transfer(&live, ty, &paths, &from, &to, now)?,
        (false, true, false) => handover::adopt(&live, &from, &to, now),
        (true, false, _) => {
            let message = "client_side moves everything that was applied on the client; leave paths out";
            return Err(Failure::new(Reason::InvalidArguments, message).at("paths"));
        }
        (false, true, true) => {
            return Err(missing("paths").suggest("name fields with paths, or managers with from"));
        }
    };
    let handover = Handover::new(&live, step, ty);
    let target = found.target();
    let plan = Plan::restoration(target.clone(), Some(live), handover.after, ty);
    let mut data = Object::default()
        .with("plans", Value::array([Value::Object(shown::plan(&plan, &to))]))
        .with("notes", shown::texts(&handover.notes));
    if plan.action() == Action::Unchanged {
        data = data.with("result", "unchanged");
        let text = format!("unchanged: nothing of {} moves to {to}", shown::name(&target));
        return Ok(Reply { data, text, next: Vec::new(), untrusted: &["plans", "notes"], digest: None });
    }
    let steps = PlannedStep::of_plan(&plan).into_iter().collect();
    let cluster = context.cluster.identity().await?;
    // The object is written whole, so that the plan is pinned to it whole.
    let kept = keep(SavedPlan { cluster, time: now, pinning: Pinning::Versions, steps }, context)?;
    let text = format!("ready: {}; {}", shown::name(&target), kept.digest);
    let data = kept.add_to(data.with("result", "ready"));
    Ok(Reply { data, text, next: kept.next(), untrusted: &["plans", "notes"], digest: Some(kept.digest) })
}
