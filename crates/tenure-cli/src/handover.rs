//! The commands that move ownership, from the terminal's side: compute, show, ask, carry out, and write the undo file.

use crate::{
    Error, Outcome,
    terminal::{Audience, Format, Ink, Terminal, columns, shortened, visible},
    undo_files,
};
use clap::Args;
use std::{collections::BTreeSet, path::PathBuf};
use tenure_client::{Cluster, Found};
use tenure_ownership::{
    Handover, LiveObject, OwnershipError,
    handover::HandoverOutcome,
    owner::{self, Owner},
};
use tenure_schema::TypeRef;
use tenure_transport::nearest_name;
use tenure_value::Value;

/// The flags of commands that move ownership.
#[derive(Args, Clone, Debug, Default)]
pub struct HandoverFlags {
    /// Show what would happen, without changing anything.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    yes: bool,
    /// The undo file to write [default: one in $XDG_STATE_HOME/tenure/undo].
    #[arg(long, value_name = "FILE")]
    undo: Option<PathBuf>,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    pub output: Format,
}

/// Checks that no name of a manager is a typo: one that no object has, and that is written like one that an object has.
pub fn check_managers<'o>(
    names: &[String],
    objects: impl Iterator<Item = &'o LiveObject>,
) -> Result<(), Error> {
    let known: BTreeSet<&str> =
        objects.flat_map(|live| live.managers.iter().map(|manager| manager.name.as_str())).collect();
    let unknown = names.iter().filter(|name| !known.contains(name.as_str()));
    for name in unknown {
        // A name that is like none may be that of a manager that gave up everything.
        if let Some(nearest) = nearest_name(name, known.iter().copied()) {
            let all = known.iter().copied().collect::<Vec<_>>().join(", ");
            let problem =
                format!("no manager is named {name:?}; did you mean {nearest:?}? The managers are {all}");
            return Err(Error::usage(problem));
        }
    }
    Ok(())
}

/// Moves the ownership of objects: shows every step, asks once, carries the steps out and writes the undo file. `title` says what is
/// done, `from` are the managers that fields are taken from, if they are named.
pub async fn carry_out(
    found: Vec<Found>,
    cluster: &Cluster,
    flags: &HandoverFlags,
    terminal: &Terminal,
    (title, from): (&str, &[String]),
    step: impl Fn(&LiveObject, TypeRef<'static>) -> Result<HandoverOutcome, OwnershipError>,
) -> Result<Outcome, Error> {
    let mut objects = Vec::new();
    for found in found {
        let live = found.read()?;
        objects.push((found, live));
    }
    check_managers(from, objects.iter().map(|(_, live)| live))?;
    let (mut handovers, mut shown) = (Vec::new(), Vec::new());
    for (found, live) in objects {
        let ty = cluster.type_of(live.api_version(), live.kind()).await?;
        let handover = Handover::new(&live, step(&live, ty)?, ty);
        match flags.output {
            Format::Text => terminal.print(preview(&found, &handover, terminal))?,
            _ => shown.push(document(&found, &handover)),
        }
        if !handover.is_empty() {
            handovers.push((found, handover, ty));
        }
    }
    if flags.output != Format::Text {
        terminal.print_value(&Value::object([("objects", Value::array(shown))]), flags.output)?;
    }
    if handovers.is_empty() || flags.dry_run {
        return Ok(Outcome::Done);
    }
    // Checked first: a step without an undo file could not be undone.
    if let Some(file) = flags.undo.as_ref().filter(|file| file.exists()) {
        return Err(Error::usage(format!(
            "--undo {}: the file already exists; choose another",
            file.display()
        )));
    }
    if !flags.yes && !confirmed(terminal).await? {
        terminal.note("nothing was changed");
        return Ok(Outcome::Done);
    }
    let mut undos = Vec::new();
    let mut outcome = Ok(Outcome::Done);
    for (found, handover, ty) in handovers {
        let compute = |live: &LiveObject| Ok(Handover::new(live, step(live, ty)?, ty));
        match tenure_client::hand_over(&found, handover, compute, cluster).await {
            Ok(undo) => undos.push(undo),
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    if !undos.is_empty() {
        let file = undo_files::write(undos, title, cluster.server(), flags.undo.as_deref(), terminal.now)?;
        let named = flags.undo.as_ref().map(|_| format!(" {}", file.display())).unwrap_or_default();
        terminal.note(format_args!("done; `tenure undo{named}` reverts it"));
    }
    outcome
}

async fn confirmed(terminal: &Terminal) -> Result<bool, Error> {
    if terminal.audience == Audience::Program {
        return Err(Error::usage(
            "cannot ask for confirmation without a terminal; check with --dry-run, then use --yes",
        ));
    }
    let answer = terminal.ask("Continue? [y/N] ".to_owned()).await?;
    Ok(matches!(answer.as_deref(), Some("y" | "Y" | "yes")))
}

/// Returns a handover as a document.
fn document(found: &Found, handover: &Handover) -> Value {
    let shown = handover.to_value().as_object().cloned().unwrap_or_default();
    Value::Object(shown.with("object", found.target().to_value()))
}

/// Returns a handover as text.
fn preview(found: &Found, handover: &Handover, terminal: &Terminal) -> String {
    let paint = terminal.paint;
    let mut out = format!("{}:", paint.ink(Ink::Strong, found.target()));
    if handover.is_empty() {
        let owners = handover.before.managers.iter().map(Owner::from);
        let names: Vec<String> =
            owners.map(|owner| format!("{} ({})", owner.name, owner::operation(&owner))).collect();
        out += &format!(" nothing to do; its managers are {}", visible(&names.join(", ")));
    }
    out.push('\n');
    let mut line = |ink, text: String| out += &format!("  {}\n", paint.ink(ink, text));
    for (path, value) in handover.removals() {
        let path = path.to_string();
        let room = terminal.width.saturating_sub(columns(&path) + 8).max(24);
        let value = shortened(&value.to_string(), room);
        line(Ink::Removed, format!("- {path}: {value}"));
    }
    for change in &handover.owners {
        let who = format!("{} ({})", change.owner.name, owner::operation(&change.owner));
        for path in change.lost.leaves().iter() {
            line(Ink::Removed, format!("← {who} loses {path}"));
        }
        for path in change.removed.leaves().iter() {
            line(Ink::Removed, format!("← {who} loses {path}, which is removed"));
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
