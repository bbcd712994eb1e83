//! Conflicts one by one: mine, theirs, share, or leave out. The decisions become another manifest and a list of fields to force, with
//! which the apply is planned again.

use crate::{
    Error,
    terminal::{Ink, Terminal},
};
use tenure_client::Draft;
use tenure_ownership::{Applier, Conflict, Plan, Settlement, owner::describe_all, settle};
use tenure_value::json;

const QUESTION: &str = "  [m]ine: take it   [t]heirs: leave it as it is   [s]hare: own their value too   [l]eave out: do not own it   [q]uit
> ";

/// Asks about every conflict of a plan; `None` at the end of input or on quit.
pub fn decide(
    plan: &Plan,
    mut draft: Draft,
    mut applier: Applier,
    terminal: &Terminal,
) -> Result<Option<(Draft, Applier)>, Error> {
    for conflict in plan.conflicts() {
        let Some(decision) = ask(plan, conflict, terminal)? else { return Ok(None) };
        settle(decision, conflict, plan.before.as_ref(), &mut draft.manifest, &mut applier);
    }
    Ok(Some((draft, applier)))
}

fn ask(plan: &Plan, conflict: &Conflict, terminal: &Terminal) -> Result<Option<Settlement>, Error> {
    let shown = |value: &Option<_>| value.as_ref().map_or_else(|| "(not set)".to_owned(), json::to_string);
    let owners = describe_all(&conflict.owners, terminal.now);
    let heading = format!("{}: {}", plan.target, conflict.path);
    terminal.note(format_args!(
        "{}\n  theirs: {}, owned by {owners}\n  mine:   {}",
        terminal.paint.ink(Ink::Strong, heading),
        shown(&conflict.live),
        shown(&conflict.proposed)
    ));
    loop {
        let Some(answer) = terminal.ask(QUESTION)? else { return Ok(None) };
        return Ok(Some(match answer.to_lowercase().as_str() {
            "m" | "mine" => Settlement::Take,
            "t" | "theirs" => Settlement::Theirs,
            "s" | "share" => Settlement::Share,
            "l" | "leave out" | "leave" => Settlement::LeaveOut,
            "q" | "quit" => return Ok(None),
            _ => continue,
        }));
    }
}
