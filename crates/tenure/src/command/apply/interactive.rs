//! Conflicts one by one: mine, theirs, share, or leave out. What is decided becomes another manifest and a list of fields to
//! take, with which the apply is planned anew.

use crate::{
    Error, holder,
    plan::{
        Contest, Draft, Plan, Verdict,
        live::{Applier, Force},
    },
    terminal::{Ink, Terminal},
};
use tenure_apply::Operation;
use tenure_value::json;

/// What to do about one conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    /// Take the field.
    Mine,
    /// Leave value and holders as they are.
    Theirs,
    /// Hold their value together with them.
    Share,
    /// Do not hold it.
    LeaveOut,
}

const QUESTION: &str = "  [m]ine: take it   [t]heirs: leave it as it is   [s]hare: hold their value too   [l]eave out: do not hold it   [q]uit
> ";

/// Asks about every conflict of a plan; nothing where the answers end or someone wants to stop.
pub fn decide(
    plan: &Plan,
    mut draft: Draft,
    mut applier: Applier,
    terminal: &Terminal,
) -> Result<Option<(Draft, Applier)>, Error> {
    let Verdict::Contested(contests, _) = &plan.verdict else { return Ok(Some((draft, applier))) };
    for contest in contests {
        let Some(decision) = ask(plan, contest, terminal)? else { return Ok(None) };
        follow(decision, contest, plan, &mut draft, &mut applier);
    }
    Ok(Some((draft, applier)))
}

fn ask(plan: &Plan, contest: &Contest, terminal: &Terminal) -> Result<Option<Decision>, Error> {
    let shown = |value: &Option<_>| value.as_ref().map_or_else(|| "nothing".to_owned(), json::to_string);
    let holders = holder::describe_all(&contest.holders, terminal.now);
    let heading = format!("{}: {}", plan.target, contest.path);
    terminal.note(format_args!(
        "{}\n  theirs: {}, held by {holders}\n  mine:   {}",
        terminal.paint.ink(Ink::Strong, heading),
        shown(&contest.live),
        shown(&contest.proposed)
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

fn follow(decision: Decision, contest: &Contest, plan: &Plan, draft: &mut Draft, applier: &mut Applier) {
    let held = plan.before.as_ref().is_some_and(|before| {
        before.managers.iter().any(|manager| {
            manager.name == applier.manager
                && manager.operation == Operation::Apply
                && manager.fields.has(&contest.path)
        })
    });
    let decision = match decision {
        Decision::Theirs if held => Decision::Share,
        Decision::Theirs => Decision::LeaveOut,
        other => other,
    };
    let way = contest.path.pointer(&draft.config, draft.ty);
    let config = match (decision, way, &contest.live) {
        (Decision::Mine, ..) => {
            let mut paths = match &applier.force {
                Force::Paths(paths) => paths.clone(),
                _ => Vec::new(),
            };
            paths.push(contest.path.to_string());
            applier.force = Force::Paths(paths);
            None
        }
        (Decision::Share, Some(way), Some(live)) => way.replace(&draft.config, live.clone()),
        (_, Some(way), _) => way.remove(&draft.config),
        _ => None,
    };
    if let Some(config) = config {
        draft.config = config;
    }
}
