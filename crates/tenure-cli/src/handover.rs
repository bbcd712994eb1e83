//! The commands that move ownership, from the terminal's side: compute, show, ask, carry out, and write the undo file.

use crate::{
    Error, Outcome,
    terminal::{Audience, Format, Ink, Terminal},
};
use clap::Args;
use std::{
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};
use tenure_apply::Timestamp;
use tenure_client::{Cluster, Found};
use tenure_ownership::{
    Handover, LiveObject, OwnershipError, Undo,
    handover::{Step, undo_file},
    owner,
};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// The flags of commands that move ownership.
#[derive(Args, Clone, Debug, Default)]
pub struct HandoverFlags {
    /// Show what would happen, without changing anything.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    yes: bool,
    /// The undo file to write [default: tenure-undo-TIME.json].
    #[arg(long, value_name = "FILE")]
    undo: Option<PathBuf>,
}

/// Moves the ownership of objects: shows every step, asks once, carries the steps out and writes the undo file.
pub async fn carry_out(
    found: Vec<Found>,
    cluster: &Cluster,
    flags: &HandoverFlags,
    terminal: &Terminal,
    step: impl Fn(&LiveObject, TypeRef<'static>) -> Result<Step, OwnershipError>,
) -> Result<Outcome, Error> {
    let mut handovers = Vec::new();
    for found in found {
        let live = found.read()?;
        let ty = cluster.type_of(live.api_version(), live.kind()).await?;
        let handover = Handover::new(&live, step(&live, ty)?, ty);
        terminal.print(preview(&found, &handover, terminal))?;
        if !handover.is_empty() {
            handovers.push((found, handover, ty));
        }
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
    if !flags.yes && !confirmed(terminal)? {
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
        let file = write_undo(&undos, flags.undo.as_deref(), terminal.now)?;
        terminal.note(format_args!("done; `tenure undo {}` reverts it", file.display()));
    }
    outcome
}

fn confirmed(terminal: &Terminal) -> Result<bool, Error> {
    if terminal.audience == Audience::Program {
        return Err(Error::usage(
            "cannot ask for confirmation without a terminal; check with --dry-run, then use --yes",
        ));
    }
    let answer = terminal.ask("Continue? [y/N] ")?;
    Ok(matches!(answer.as_deref(), Some("y" | "Y" | "yes")))
}

/// Returns a handover as text.
fn preview(found: &Found, handover: &Handover, terminal: &Terminal) -> String {
    let paint = terminal.paint;
    let mut out = format!("{}:", paint.ink(Ink::Strong, found.target()));
    if handover.is_empty() {
        out += " nothing to do";
    }
    out.push('\n');
    let mut line = |ink, text: String| out += &format!("  {}\n", paint.ink(ink, text));
    for (path, value) in handover.removals() {
        let path = path.to_string();
        let room = terminal.width.saturating_sub(path.chars().count() + 8);
        let value: String = value.to_string().chars().take(room).collect();
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

/// How many undo files of one second get different names.
const NAMES: usize = 1_000;

/// Writes the undo file, which must not exist, and returns its name: the given one, or one made of the time.
fn write_undo(undos: &[Undo], given: Option<&Path>, now: Timestamp) -> Result<PathBuf, Error> {
    let document: Value = undo_file(undos);
    let text = Format::Json.render(&document);
    let time: String = now.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    let names: Vec<PathBuf> = match given {
        Some(file) => vec![file.to_owned()],
        None => [String::new()]
            .into_iter()
            .chain((2..=NAMES).map(|number| format!("-{number}")))
            .map(|suffix| PathBuf::from(format!("tenure-undo-{time}{suffix}.json")))
            .collect(),
    };
    let mut last = None;
    for path in names {
        let written = std::fs::File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        match written {
            Ok(()) => return Ok(path),
            Err(source) => {
                let exists = source.kind() == ErrorKind::AlreadyExists;
                last = Some(Error::Write { path, source });
                if !exists {
                    break;
                }
            }
        }
    }
    Err(last.unwrap_or_else(|| Error::usage("no name is free for the undo file; give one with --undo")))
}
