//! The way of every step: work it out, show it, ask, send it, and keep what takes it back. An object that was changed
//! in the meantime is looked at again; if the step is still the one that was shown, it is taken.

use super::{Handover, Intent, send, undo::UndoFile};
use crate::{
    Error, Outcome,
    cluster::{Cluster, Found},
    live::LiveObject,
    terminal::{Audience, Ink, Terminal},
};
use clap::Args;
use std::path::PathBuf;
use tenure_apply::OwnershipChange;
use tenure_schema::TypeRef;
use tenure_value::Value;

/// How often an object that others keep changing is looked at again.
const ATTEMPTS: usize = 8;

/// The flags of commands that move ownership.
#[derive(Args, Clone, Debug, Default)]
pub struct Carry {
    /// Show what would happen, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Go ahead without asking.
    #[arg(short, long)]
    yes: bool,
    /// Where to write what takes it back; tenure-undo-TIME.json where nothing is said.
    #[arg(long, value_name = "FILE")]
    undo: Option<PathBuf>,
}

/// Takes a step on every object that was found.
pub async fn carry_out(
    found: Vec<Found>,
    cluster: &Cluster,
    carry: &Carry,
    terminal: &Terminal,
    intent: impl Fn(&LiveObject, TypeRef<'static>) -> Result<Intent, Error>,
) -> Result<Outcome, Error> {
    let mut steps = Vec::new();
    for found in found {
        let live = found.read()?;
        let ty = cluster.type_of(live.api_version(), live.kind()).await?;
        let handover = Handover::new(&live, intent(&live, ty)?, ty);
        terminal.print(preview(&name(&found), &handover, terminal))?;
        if !handover.is_empty() {
            steps.push((found, handover, ty));
        }
    }
    if steps.is_empty() || carry.dry_run {
        return Ok(Outcome::Done);
    }
    // Known too late, it would leave a step without a way back.
    if let Some(file) = carry.undo.as_ref().filter(|file| file.exists()) {
        return Err(Error::usage(format!(
            "--undo {}: the file is there already; choose another",
            file.display()
        )));
    }
    if !carry.yes && !agreed(terminal)? {
        terminal.note("nothing was changed");
        return Ok(Outcome::Done);
    }
    let mut undo = UndoFile::default();
    let mut outcome = Ok(Outcome::Done);
    for (found, handover, ty) in steps {
        match take(&found, handover, ty, cluster, &intent).await {
            Ok((handover, left)) => undo.add(&handover.before, handover.undo(&left)),
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    if !undo.is_empty() {
        let file = undo.write(carry.undo.as_deref(), terminal.now)?;
        terminal.note(format_args!("done; `tenure undo {}` takes it back", file.display()));
    }
    outcome
}

fn agreed(terminal: &Terminal) -> Result<bool, Error> {
    if terminal.audience == Audience::Program {
        return Err(Error::usage(
            "nobody is there to be asked; look with --dry-run, then go ahead with --yes",
        ));
    }
    let answer = terminal.ask("Go ahead? [y/N] ")?;
    Ok(matches!(answer.as_deref(), Some("y" | "Y" | "yes")))
}

/// Sends the step, again where the object was changed in the meantime, and returns the object as it was left.
async fn take(
    found: &Found,
    mut handover: Handover,
    ty: TypeRef<'static>,
    cluster: &Cluster,
    intent: &impl Fn(&LiveObject, TypeRef<'static>) -> Result<Intent, Error>,
) -> Result<(Handover, Value), Error> {
    let path = found.path();
    let shown = told(&handover);
    for _ in 0..ATTEMPTS {
        let reply = send(&path, &handover.patch(), &handover.after.managers, cluster).await?;
        if reply.is_success() {
            return Ok((handover, reply.value));
        }
        if !reply.refusal().is_outdated() {
            return Err(reply.refusal().into_error("change the holders of", &name(found)));
        }
        let again = LiveObject::read(&cluster.get(&path).await?)
            .map_err(|error| Error::strange(&name(found), error))?;
        handover = Handover::new(&again, intent(&again, ty)?, ty);
        if told(&handover) != shown {
            break;
        }
    }
    Err(Error::ChangedMeanwhile { what: name(found) })
}

/// Returns the object's name for people.
pub fn name(found: &Found) -> String {
    let text = |name| found.shown.at(["metadata", name]).and_then(Value::as_str).unwrap_or_default();
    let word = format!("{}/{}", found.resource.word(), text("name"));
    match text("namespace") {
        "" => word,
        namespace => format!("{word} in {namespace}"),
    }
}

/// Returns what a step does, to be compared with what was shown.
fn told(handover: &Handover) -> (Vec<OwnershipChange>, Vec<String>) {
    let timeless = |mut change: OwnershipChange| {
        change.owner.time = None;
        change
    };
    let removals = handover.removals().map(|(place, value)| format!("{place} {value:?}")).collect();
    (handover.changes().into_iter().map(timeless).collect(), removals)
}

/// Returns a step as people read it.
fn preview(name: &str, handover: &Handover, terminal: &Terminal) -> String {
    let paint = terminal.paint;
    let mut out = format!("{}:", paint.ink(Ink::Strong, name));
    if handover.is_empty() {
        out += " nothing to do";
    }
    out.push('\n');
    let mut line = |ink, text: String| out += &format!("  {}\n", paint.ink(ink, text));
    for (place, value) in handover.removals() {
        let text: String =
            value.to_string().chars().take(terminal.width.saturating_sub(place.len() + 8)).collect();
        line(Ink::Removed, format!("- {place}: {text}"));
    }
    for change in handover.changes() {
        let who = format!("{} ({})", change.owner.name, crate::holder::operation(&change.owner));
        for path in change.lost.leaves().iter() {
            line(Ink::Removed, format!("← {who} gives up {path}"));
        }
        for path in change.removed.leaves().iter() {
            line(Ink::Removed, format!("← {who} no longer holds {path}, which goes"));
        }
        for path in change.gained.leaves().iter() {
            line(Ink::Added, format!("→ {who} gains {path}"));
        }
    }
    for note in &handover.notes {
        line(Ink::Warning, format!("? {note}"));
    }
    out
}
