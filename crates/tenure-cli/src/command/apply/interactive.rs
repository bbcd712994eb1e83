//! Conflicts one by one: mine, theirs, share, or leave out; a capital letter decides for all conflicts of the same kind. The decisions
//! become another manifest and a list of fields to force, with which the apply is planned again.

use crate::{
    Error,
    terminal::{Ink, Terminal, wrapped},
};
use std::collections::HashMap;
use tenure_apply::Operation;
use tenure_client::Draft;
use tenure_ownership::{ApplyingManager, Conflict, Plan, Settlement, owner::describe_all, settle};
use tenure_value::json;

/// The questions of one command, with the answers that are for all conflicts like theirs.
#[derive(Default)]
pub struct Questions {
    answered: HashMap<Likeness, Settlement>,
}

/// What conflicts have in common that one answer decides: the field and the managers that own it.
type Likeness = (String, Vec<String>);

impl Questions {
    /// Asks about every conflict of a plan; `None` at the end of input or on quit.
    pub async fn decide(
        &mut self,
        plan: &Plan,
        mut draft: Draft,
        mut applier: ApplyingManager,
        terminal: &Terminal,
    ) -> Result<Option<(Draft, ApplyingManager)>, Error> {
        let shown = plan.shown_conflicts();
        for (conflict, shown) in plan.conflicts().iter().zip(&shown) {
            let likeness = likeness(conflict);
            let decision = match self.answered.get(&likeness) {
                Some(known) => *known,
                None => {
                    let Some(answer) = ask(plan, shown, &applier, terminal).await? else { return Ok(None) };
                    if answer.for_all {
                        self.answered.insert(likeness, answer.settlement);
                    }
                    answer.settlement
                }
            };
            settle(decision, conflict, plan.before.as_ref(), &mut draft.manifest, &mut applier);
        }
        Ok(Some((draft, applier)))
    }
}

fn likeness(conflict: &Conflict) -> Likeness {
    let owners = conflict.owners.iter().map(|owner| owner.name.to_string()).collect();
    (conflict.path.to_string(), owners)
}

struct Answer {
    settlement: Settlement,
    for_all: bool,
}

async fn ask(
    plan: &Plan,
    conflict: &Conflict,
    applier: &ApplyingManager,
    terminal: &Terminal,
) -> Result<Option<Answer>, Error> {
    let shown = |value: &Option<_>| value.as_ref().map_or_else(|| "(not set)".to_owned(), json::to_string);
    let (theirs, mine) = (shown(&conflict.live), shown(&conflict.proposed));
    let owners = describe_all(&conflict.owners, terminal.now);
    let heading = format!("{}: {}", plan.target, conflict.path);
    let is_mine = conflict
        .owners
        .iter()
        .any(|owner| owner.name == applier.manager && owner.operation == Operation::Apply);
    let leave = if is_mine {
        "keep theirs, and stay one of its owners"
    } else {
        "keep theirs, its owners do not change"
    };
    let about = plan.causes.iter().filter(|cause| cause.paths.contains(&conflict.path));
    let room = terminal.width.saturating_sub(2);
    let lines = about.flat_map(|cause| wrapped(&cause.sentence, room));
    let causes: String = lines.map(|line| format!("  {line}\n")).collect();
    terminal.note(format_args!(
        "{}\n{causes}  theirs: {theirs}, owned by {owners}\n  mine:   {mine}\n\n  \
         m  mine       set mine, and become the only owner\n  \
         t  theirs     {leave}\n  \
         s  share      keep theirs, and own it together with them\n  \
         l  leave out  keep theirs, and do not own it\n  \
         q  quit       write nothing at all\n\n  \
         A capital letter decides for all conflicts about this field with these owners.",
        terminal.paint.ink(Ink::Strong, heading),
    ));
    loop {
        let Some(answer) = terminal.ask("> ".to_owned()).await? else { return Ok(None) };
        let settlement = match answer.to_lowercase().as_str() {
            "m" | "mine" => Settlement::Take,
            "t" | "theirs" => Settlement::Theirs,
            "s" | "share" => Settlement::Share,
            "l" | "leave out" | "leave" => Settlement::LeaveOut,
            "q" | "quit" => return Ok(None),
            _ => {
                terminal.note("answer with m, t, s, l or q; with a capital letter for all like this");
                continue;
            }
        };
        let for_all = answer.starts_with(char::is_uppercase);
        return Ok(Some(Answer { settlement, for_all }));
    }
}
