//! Conflicts one by one: mine, theirs, share, or leave out. The decisions become another manifest and a list of fields to force, with
//! which the apply is planned again.

use crate::{
    Error,
    terminal::{Ink, Terminal},
};
use tenure_apply::Operation;
use tenure_client::Draft;
use tenure_ownership::{Applier, Conflict, Force, Plan, owner::describe_all};
use tenure_value::json;

/// What to do about one conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    /// Take the field.
    Mine,
    /// Leave the value and its owners as they are.
    Theirs,
    /// Own their value together with them.
    Share,
    /// Do not own the field.
    LeaveOut,
}

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
        follow(decision, conflict, plan, &mut draft, &mut applier);
    }
    Ok(Some((draft, applier)))
}

fn ask(plan: &Plan, conflict: &Conflict, terminal: &Terminal) -> Result<Option<Decision>, Error> {
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
            "m" | "mine" => Decision::Mine,
            "t" | "theirs" => Decision::Theirs,
            "s" | "share" => Decision::Share,
            "l" | "leave out" | "leave" => Decision::LeaveOut,
            "q" | "quit" => return Ok(None),
            _ => continue,
        }));
    }
}

fn follow(decision: Decision, conflict: &Conflict, plan: &Plan, draft: &mut Draft, applier: &mut Applier) {
    let owned = plan.before.as_ref().is_some_and(|before| {
        before.managers.iter().any(|manager| {
            manager.name == applier.manager
                && manager.operation == Operation::Apply
                && manager.fields.has(&conflict.path)
        })
    });
    let decision = match decision {
        Decision::Theirs if owned => Decision::Share,
        Decision::Theirs => Decision::LeaveOut,
        other => other,
    };
    let location = conflict.path.pointer(&draft.manifest.config, draft.manifest.ty);
    let config = match (decision, location, &conflict.live) {
        (Decision::Mine, ..) => {
            let mut paths = match &applier.force {
                Force::Paths(paths) => paths.clone(),
                _ => Vec::new(),
            };
            paths.push(conflict.path.to_string());
            applier.force = Force::Paths(paths);
            None
        }
        (Decision::Share, Some(location), Some(live)) => {
            location.replace(&draft.manifest.config, live.clone())
        },
        (_, Some(location), _) => location.remove(&draft.manifest.config),
        _ => None,
    };
    if let Some(config) = config {
        draft.manifest.config = config;
    }
}
