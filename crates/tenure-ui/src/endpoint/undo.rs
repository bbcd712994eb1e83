//! Undoing what was done on the page: applies and changes of ownership, also those of an earlier day, and of the commands.

use super::{Acting, now};
use crate::{PageError, request::flag, request::text};
use tenure_client::{Cluster, End, Rebase, UndoStep, Undoable};
use tenure_history::undo::OnConflict;
use tenure_ownership::{AppliedPlan, Pinning};
use tenure_value::{Object, Value};

/// Lists the steps that the signed-in user can undo, the latest first.
pub(crate) fn steps(acting: Acting<'_>) -> Value {
    let shown = |(id, step): (String, UndoStep)| {
        let writes = matches!(step.undoable, Undoable::Plan(_));
        let shown = Object::default().with("id", id).with("title", step.title).with("writes", writes);
        Value::Object(match step.time {
            Some(time) => shown.with("time", time.to_string()),
            None => shown,
        })
    };
    let all = acting.session.undo_steps.all(acting.cluster.server());
    Value::object([("steps", Value::array(all.into_iter().map(shown)))])
}

fn find(acting: Acting<'_>, id: &str) -> Result<UndoStep, PageError> {
    let all = acting.session.undo_steps.all(acting.cluster.server());
    let found = all.into_iter().find(|(name, _)| name == id).map(|(_, step)| step);
    found.ok_or_else(|| PageError::bad_request("this step was undone already"))
}

/// Returns the file of a step, which `tenure undo` takes.
pub(crate) fn undo_file(acting: Acting<'_>, id: &str) -> Result<Value, PageError> {
    Ok(find(acting, id)?.to_value())
}

/// Undoes a step. What was changed since is kept on request, or taken back.
pub(crate) async fn undo(acting: Acting<'_>, body: &Value) -> Result<Value, PageError> {
    let step = find(acting, text(body, "id"))?;
    let since = match (flag(body, "overwrite"), flag(body, "rebase")) {
        (true, _) => Since::TakenBack,
        (false, true) => Since::Kept,
        (false, false) => Since::Asked,
    };
    let left = match &step.undoable {
        Undoable::Owners(undos) => {
            let rebase = if since == Since::Asked { Rebase::No } else { Rebase::Yes };
            for undo in undos.iter().rev() {
                tenure_client::undo(undo, rebase, acting.cluster).await?;
            }
            Vec::new()
        }
        Undoable::Plan(applied) => take_back(applied, since, acting.cluster).await?,
    };
    acting.session.undo_steps.forget(text(body, "id"));
    let left = left.into_iter().map(Value::from);
    Ok(Value::object([("title", Value::from(step.title)), ("left", Value::array(left))]))
}

/// What happens to changes that came after the step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Since {
    /// The user is asked, and nothing is written.
    Asked,
    Kept,
    TakenBack,
}

/// Brings objects back to what they were before they were written, which deletes those that were created. Returns what stays.
async fn take_back(applied: &AppliedPlan, since: Since, cluster: &Cluster) -> Result<Vec<String>, PageError> {
    let on_conflict = if since == Since::TakenBack { OnConflict::Overwrite } else { OnConflict::Keep };
    let undo = tenure_client::undo_plan(applied, on_conflict, Pinning::Versions, now(), cluster).await?;
    let left: Vec<String> =
        undo.conflicts.iter().map(|conflict| format!("{}: {}", conflict.target, conflict.problem)).collect();
    if !left.is_empty() && (since == Since::Asked || undo.saved.steps.is_empty()) {
        return Err(PageError::WrittenSince { what: left.join("; ") });
    }
    let done = tenure_client::carry_out(&undo.saved, now(), cluster, |_| {}).await?;
    match done.end {
        End::Complete => Ok(left),
        End::Stale(stale) => {
            let names: Vec<String> = stale.iter().map(|one| one.target.to_string()).collect();
            Err(PageError::Changed { what: names.join(", ") })
        }
        End::Refused { target, message } => Err(PageError::UndoRefused { what: target.to_string(), message }),
    }
}
