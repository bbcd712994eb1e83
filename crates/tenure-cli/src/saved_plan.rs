//! Saved plans on the command line: writing, reading and showing them, carrying them out, and undoing them as plans.

use crate::{
    Error, Outcome, change_text,
    connection::Connection,
    document::{self, Document},
    plan_text::{self, Shown, Typed},
    terminal::{Audience, Format, Ink, Progress, Terminal, visible},
    undo_files,
};
use std::{
    fmt::Write as _,
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
};
use tenure_client::{CarriedOut, Cluster, End, Mode, UndoPlan};
use tenure_history::undo::OnConflict;
use tenure_ownership::{
    AppliedPlan, ForcedFields, Pinning, Plan, PlannedStep, PlannedWrite, SavedPlan, Stale,
};
use tenure_value::{Object, Value};

/// How a saved plan is carried out.
pub struct Way<'a> {
    /// The undo file to write; `None` for one in the private directory.
    pub undo: Option<&'a Path>,
    /// Whether it is only checked.
    pub mode: Mode,
    /// Whether its steps are written together.
    pub atomicity: Atomicity,
    /// The output format.
    pub output: Format,
}

/// Whether the steps of a plan are written together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomicity {
    /// One after the other, up to the first refusal.
    StepByStep,
    /// All or none, as one transaction of a Tenure server.
    Atomic,
}

impl Atomicity {
    /// Returns what `--atomic` chooses.
    pub fn of(atomic: bool) -> Atomicity {
        if atomic { Atomicity::Atomic } else { Atomicity::StepByStep }
    }
}

/// How the undo of a plan is carried out.
pub struct UndoWay {
    /// What to do about fields that were changed again since.
    pub on_conflict: OnUndoConflict,
    /// Only show what would change.
    pub dry_run: bool,
    /// Do not ask.
    pub yes: bool,
    /// Whether its steps are written together.
    pub atomicity: Atomicity,
    /// The output format.
    pub output: Format,
}

/// What to do about fields that were changed again since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUndoConflict {
    /// Write nothing.
    Stop,
    /// Leave them as they are, and undo the rest.
    Keep,
    /// Undo them, too.
    Overwrite,
}

/// Writes a plan: the whole file or none of it.
pub fn write(plan: &SavedPlan, file: &Path) -> Result<(), Error> {
    let failed = |source| Error::Write { path: file.into(), source };
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let content = Format::Json.render(&plan.to_value());
    let written =
        OpenOptions::new().write(true).create(true).truncate(true).open(&part).and_then(|mut out| {
            out.write_all(content.as_bytes())?;
            out.sync_all()
        });
    written.and_then(|()| std::fs::rename(&part, file)).map_err(|error| {
        // What is left of the part is of no use, and the first error says what is wrong.
        let _ = std::fs::remove_file(&part);
        failed(error)
    })
}

/// Reads a plan.
pub fn read(file: &Path) -> Result<SavedPlan, Error> {
    let document = document::read_one(file)?;
    SavedPlan::read(&document.value).map_err(|error| Error::document(&document.place, error))
}

/// Shows a saved plan.
pub fn show(file: &Path, output: Format, terminal: &Terminal) -> Result<Outcome, Error> {
    let plan = read(file)?;
    match output {
        Format::Text => terminal.show(&text(&plan, terminal))?,
        format => terminal.print_value(&plan.to_value(), format)?,
    }
    Ok(if plan.steps.is_empty() { Outcome::Done } else { Outcome::Changes })
}

/// Returns a plan as text.
pub fn text(plan: &SavedPlan, terminal: &Terminal) -> String {
    let mut out = String::new();
    for step in &plan.steps {
        step_text(step, terminal, &mut out);
    }
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "\nFor {}, made at {}, pinned to {}.",
        visible(&plan.cluster.server),
        plan.time,
        plan.pinning.word()
    );
    let _ = writeln!(out, "{}: {}", count(plan.steps.len(), "step"), plan.digest());
    out
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn step_text(step: &PlannedStep, terminal: &Terminal, out: &mut String) {
    let list = |value: &'_ Value, name: &str| -> Vec<Value> {
        value
            .get(name)
            .and_then(Value::as_array)
            .map(|items| items.iter().cloned().collect())
            .unwrap_or_default()
    };
    let word =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let action = word(&step.preview, "action");
    let _ = writeln!(out, "{}: {action}", terminal.paint.ink(Ink::Strong, &step.target));
    let forced: &[String] = match &step.write {
        PlannedWrite::Apply { force: ForcedFields::Paths(paths), .. } => paths,
        PlannedWrite::Apply { force: ForcedFields::All, .. } => &["every conflicting field".to_owned()],
        _ => &[],
    };
    for path in forced {
        let _ = writeln!(
            out,
            "    {}",
            terminal.paint.ink(Ink::Warning, format_args!("takes {path} from its owners"))
        );
    }
    for value in list(&step.preview, "values") {
        change_text::change(&word(&value, "path"), value.get("before"), value.get("after"), terminal, out);
    }
    for owner in list(&step.preview, "owners") {
        for (name, verb) in [("gained", "gains"), ("lost", "loses"), ("removed", "loses the removed")] {
            for path in list(&owner, name).iter().filter_map(Value::as_str) {
                let line = format!("{} {verb} {path}", word(&owner, "manager"));
                let _ = writeln!(out, "    {}", terminal.paint.ink(Ink::Faint, line));
            }
        }
    }
}

/// Carries out the plan of a file, or checks it. `documents` have the values of Secrets.
pub fn apply(
    file: &Path,
    expected: Option<&str>,
    documents: Vec<Document>,
    way: Way<'_>,
    connection: &Connection,
    terminal: &Terminal,
) -> Result<Outcome, Error> {
    let mut plan = read(file)?;
    let digest = plan.digest();
    let is_expected = |expected: &str| expected == digest || digest.strip_prefix("sha256:") == Some(expected);
    if let Some(expected) = expected.filter(|expected| !is_expected(expected)) {
        return Err(Error::usage(format!(
            "{}: its digest is {digest}, not {expected}; it is not the plan that was approved",
            file.display()
        )));
    }
    connection.run(async |cluster| {
        complete(&mut plan, &documents, &cluster).await?;
        if way.mode == Mode::DryRun {
            let stale = tenure_client::stale(&plan, &cluster).await?;
            return report(&plan, &CarriedOutcome::Checked(&stale), way.output, terminal);
        }
        carry_out(&plan, &way, &cluster, terminal).await
    })
}

/// Puts the values of Secrets into a plan.
async fn complete(plan: &mut SavedPlan, documents: &[Document], cluster: &Cluster) -> Result<(), Error> {
    if plan.incomplete().next().is_none() {
        return Ok(());
    }
    let salt = plan.clone();
    for document in documents {
        let draft = document.draft(cluster).await?;
        for step in plan.steps.iter_mut().filter(|step| step.is_of(&draft.manifest)) {
            step.complete(&draft.manifest.config, salt.withholding())?;
        }
    }
    Ok(())
}

/// Carries out a plan, writes the undo file and prints what was done.
async fn carry_out(
    plan: &SavedPlan,
    way: &Way<'_>,
    cluster: &Cluster,
    terminal: &Terminal,
) -> Result<Outcome, Error> {
    let undo = way.undo;
    // Checked first: a plan without an undo file could not be undone.
    if let Some(file) = undo.filter(|file| file.exists()) {
        return Err(Error::usage(format!(
            "--undo {}: the file already exists; choose another",
            file.display()
        )));
    }
    let done = match way.atomicity {
        Atomicity::Atomic => tenure_client::carry_out_atomically(plan, terminal.now, cluster).await?,
        Atomicity::StepByStep => {
            let progress = Progress::new(terminal, "applying", plan.steps.len());
            let done = tenure_client::carry_out(plan, terminal.now, cluster, |_| progress.step()).await;
            progress.finish();
            done?
        }
    };
    if !done.applied.steps.is_empty() {
        let file = undo_files::write_plan(&done.applied, cluster.server(), undo)?;
        terminal.note(format_args!("`tenure undo {}` takes it back", file.display()));
    }
    report(plan, &CarriedOutcome::Done(&done), way.output, terminal)
}

enum CarriedOutcome<'a> {
    Checked(&'a [Stale]),
    Done(&'a CarriedOut),
}

/// Prints the result and returns the exit code.
fn report(
    plan: &SavedPlan,
    outcome: &CarriedOutcome<'_>,
    output: Format,
    terminal: &Terminal,
) -> Result<Outcome, Error> {
    let none: &[Stale] = &[];
    let (written, stale, refused) = match outcome {
        CarriedOutcome::Checked(stale) => (0, *stale, None),
        CarriedOutcome::Done(done) => match &done.end {
            End::Complete => (done.applied.steps.len(), none, None),
            End::Stale(stale) => (done.applied.steps.len(), stale.as_slice(), None),
            End::Refused { target, message } => (done.applied.steps.len(), none, Some((target, message))),
        },
    };
    let result = match (outcome, stale, refused) {
        (_, _, Some(_)) => "refused",
        (_, [_, ..], _) => "stale",
        (CarriedOutcome::Checked(_), _, _) => "holds",
        (CarriedOutcome::Done(_), _, _) => "complete",
    };
    if output == Format::Text {
        let mut out = String::new();
        for (at, step) in plan.steps.iter().enumerate() {
            let word = match (&step.write, at < written) {
                (write, true) => format!("{} done", write.word()),
                (write, false) => format!("{} not written", write.word()),
            };
            if matches!(outcome, CarriedOutcome::Done(_)) && written > 0 {
                // Writing to a string does not fail.
                let _ = writeln!(out, "{}: {word}", visible(&step.target.to_string()));
            }
        }
        for stale in stale {
            let _ = writeln!(out, "{}", terminal.paint.ink(Ink::Problem, stale.describe(terminal.now)));
        }
        if let Some((target, message)) = refused {
            let _ =
                writeln!(out, "{}", terminal.paint.ink(Ink::Problem, format_args!("{target}: {message}")));
        }
        let steps = count(plan.steps.len(), "step");
        let _ = match result {
            "stale" if written == 0 => writeln!(
                out,
                "\n{steps}: nothing was written, since the plan no longer holds; make a new one"
            ),
            "refused" if written == 0 => writeln!(out, "\n{steps}: nothing was written"),
            "stale" | "refused" => writeln!(out, "\n{steps}: {written} written, then stopped"),
            "holds" => writeln!(out, "{steps}: the plan holds; nothing was written"),
            _ => writeln!(out, "\n{steps}: all written"),
        };
        terminal.print(out)?;
    } else {
        let objects = plan.steps.iter().take(written).map(|step| step.target.to_value());
        let mut shown = Object::default()
            .with("digest", plan.digest())
            .with("result", result)
            .with("written", Value::array(objects))
            .with("stale", Value::array(stale.iter().map(Stale::to_value)));
        if let Some((target, message)) = refused {
            shown = shown.with("refused", target.to_value()).with("error", message.as_str());
        }
        terminal.print_value(&Value::Object(shown), output)?;
    }
    match refused {
        Some(_) => Err(Error::SomeRefused { number: plan.steps.len() - written, total: plan.steps.len() }),
        None if stale.is_empty() => Ok(Outcome::Done),
        None => Ok(Outcome::Conflicts),
    }
}

/// Computes the undo of a plan, shows it, asks, and carries it out as a plan.
pub async fn undo(
    applied: &AppliedPlan,
    way: &UndoWay,
    cluster: &Cluster,
    terminal: &Terminal,
) -> Result<Outcome, Error> {
    let on_conflict = match way.on_conflict {
        OnUndoConflict::Overwrite => OnConflict::Overwrite,
        OnUndoConflict::Stop | OnUndoConflict::Keep => OnConflict::Keep,
    };
    let undo =
        tenure_client::undo_plan(applied, on_conflict, Pinning::Versions, terminal.now, cluster).await?;
    let is_stopped = !undo.conflicts.is_empty() && way.on_conflict == OnUndoConflict::Stop;
    let is_shown_only = way.dry_run || is_stopped || undo.saved.steps.is_empty();
    if way.output == Format::Text {
        terminal.print(undo_text(&undo, is_stopped, terminal))?;
    } else if is_shown_only {
        terminal.print_value(&undo_value(&undo), way.output)?;
    }
    if is_stopped {
        return Ok(Outcome::Conflicts);
    }
    if is_shown_only || !(way.yes || confirmed(terminal).await?) {
        return Ok(Outcome::Done);
    }
    let done = match way.atomicity {
        Atomicity::Atomic => tenure_client::carry_out_atomically(&undo.saved, terminal.now, cluster).await?,
        Atomicity::StepByStep => tenure_client::carry_out(&undo.saved, terminal.now, cluster, |_| {}).await?,
    };
    if !done.applied.steps.is_empty() {
        undo_files::write_plan(&done.applied, cluster.server(), None)?;
    }
    report(&undo.saved, &CarriedOutcome::Done(&done), way.output, terminal)
}

fn undo_text(undo: &UndoPlan, is_stopped: bool, terminal: &Terminal) -> String {
    let typed = Typed::default();
    let mut out = plan_text::all(undo.plans.iter(), Shown::All, &typed, terminal);
    for conflict in &undo.conflicts {
        let line = format!("{}: {}", conflict.target, conflict.problem);
        // Writing to a string does not fail.
        let _ = writeln!(out, "{}", terminal.paint.ink(Ink::Problem, line));
    }
    if is_stopped {
        out += "Nothing is written. Use --keep to leave this as it is and undo the rest, or --force to undo it, too.\n";
    } else if undo.saved.steps.is_empty() {
        out += "There is nothing to undo.\n";
    }
    out
}

fn undo_value(undo: &UndoPlan) -> Value {
    let conflicts = undo.conflicts.iter().map(|conflict| {
        let problem = Value::from(conflict.problem.as_str());
        Value::object([("object", conflict.target.to_value()), ("problem", problem)])
    });
    Value::object([
        ("plans", Value::array(undo.plans.iter().map(Plan::to_value))),
        ("conflicts", Value::array(conflicts)),
    ])
}

async fn confirmed(terminal: &Terminal) -> Result<bool, Error> {
    if terminal.audience == Audience::Program {
        return Err(Error::usage(
            "cannot ask for confirmation without a terminal; check with --dry-run, then use --yes",
        ));
    }
    let answer = terminal.ask("Carry out this undo? [y/N] ".to_owned()).await?;
    Ok(matches!(answer.as_deref(), Some("y" | "Y" | "yes")))
}
