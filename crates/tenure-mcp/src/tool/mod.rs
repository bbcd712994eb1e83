//! The tools. Each reads, or makes a plan; [`apply_plan`] alone writes, and only plans that this server made. `data/tools.json` says
//! what each takes and returns.

mod apply_plan;
mod delete;
mod keep;
mod owners;
mod past;
mod plan;
mod read;
mod rehearse;
mod shown;
mod transfer;
mod undo;

use crate::{
    arguments::Arguments,
    context::Context,
    reply::{Failure, Reason, Reply},
};
use std::sync::Arc;

/// The result of a tool.
type Outcome = Result<Reply, Failure>;

/// Calls a tool; the arguments fit its schema.
pub async fn call(name: &str, arguments: &Arguments, context: &Arc<Context>) -> Outcome {
    match name {
        "get" => read::get(arguments, context).await,
        "list" => read::list(arguments, context).await,
        "blame" => owners::blame(arguments, context).await,
        "why" => owners::why(arguments, context).await,
        "history" => past::history(arguments, context).await,
        "fights" => past::fights(context).await,
        "plan" => plan::plan(arguments, context).await,
        "apply_plan" => apply_plan::apply_plan(arguments, context).await,
        "undo" => undo::undo(arguments, context).await,
        "transfer" => transfer::transfer(arguments, context).await,
        "delete" => delete::delete(arguments, context).await,
        "rehearse" => rehearse::rehearse(arguments, context).await,
        name => Err(Failure::new(Reason::NotFound, format!("there is no tool {name}"))),
    }
}
