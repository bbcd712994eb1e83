//! `tenure undo`: undoes a past change of an object, or reverts a change of ownership from the file that it wrote.

use crate::{
    Error, Outcome,
    change_log::or_dash,
    change_text,
    connection::Connection,
    document,
    history_source::HistorySource,
    past::{Past, text as text_of},
    saved_plan,
    terminal::{Audience, Format, Ink, Terminal, table, wrapped},
    undo_files,
};
use clap::Args;
use std::{fmt::Write, path::Path};
use tenure_client::{Cluster, KeptStep, PastChange, Rebase, Undoable};
use tenure_history::undo::{OnConflict, Plan};
use tenure_ownership::{SavedPlan, owner::age};
use tenure_value::Value;

/// Undo a past change, or revert an adopt, transfer, release or migrate.
#[derive(Args)]
#[command(after_help = "\
Without an argument, the last adopt, transfer, release, migrate, saved plan or step on the page of `tenure ui` on this server is shown
and, after a question, reverted; --list only lists them. They are kept in $XDG_STATE_HOME/tenure/undo (else
~/.local/state/tenure/undo), which only you can read.

With an object, its last change is undone, or that of --revision (it needs a history: a Tenure server, or `tenure record`): the fields that the change
set, changed or removed get back the values and the owners from before it. Where a field was changed again since, nothing is written:
the conflicts are shown, with who made them, and the exit code is 3. --keep undoes the rest and leaves these fields as they are;
--force undoes everything.

With a saved plan that was carried out, its reverse is computed as a plan, from the file that `tenure apply` kept or from the history
of the server: created objects are deleted, deleted ones created again, and fields get back their values and owners. It is shown, and
carried out after a question. What others changed since stops it, as above.

With a file, an object that was written since is left alone. With --rebase the step is reverted on the object as it is now:
every manager gets back the fields that the step took from it and gives up those that it gained, removed values return where
nothing has taken their place, and everything else stays.

Examples:
  tenure undo
  tenure undo --list
  tenure undo deployment/web
  tenure undo deployment/web --revision 4711 --dry-run
  tenure undo plan.json
  tenure undo step.json --rebase")]
pub struct Options {
    /// The object, as KIND/NAME, a saved plan, or an undo file [default: the last step on this server].
    #[arg(value_name = "KIND/NAME|FILE")]
    what: Option<String>,
    /// The change to undo, by its revision, as `tenure log` shows it [default: the last one].
    #[arg(long, value_name = "REVISION", conflicts_with = "rebase", requires = "what")]
    revision: Option<u64>,
    /// Leave fields that were changed again since as they are, and undo the rest.
    #[arg(long, conflicts_with = "force")]
    keep: bool,
    /// Undo fields that were changed again since, too.
    #[arg(long)]
    force: bool,
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
    /// Revert a step even if the object was written since, and keep the later changes.
    #[arg(long)]
    rebase: bool,
    /// List the steps that can be undone, the last first.
    #[arg(long, conflicts_with_all = ["what", "dry_run"])]
    list: bool,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    yes: bool,
    /// Write all steps of the undone plan or none, as one transaction; needs a Tenure server.
    #[arg(long)]
    atomic: bool,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    history: HistorySource,
    #[command(flatten)]
    connection: Connection,
}

/// Undoes a change, or reverts the steps of a file.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    options.history.run(&options.connection, async |cluster| match options.what.as_deref() {
        None => last_step(&options, &cluster, terminal).await,
        Some(what) if is_object(what) => {
            let change = PastChange::find(Past::of(&cluster, what).await?, options.revision, &cluster).await?;
            take_back(change, &options, &cluster, terminal).await
        }
        Some(file) => {
            let document = document::read_one(Path::new(file))?;
            if !SavedPlan::is_document(&document.value) {
                return revert(&undo_files::read(Path::new(file))?, &options, &cluster, terminal).await;
            }
            let plan = saved_plan::read(Path::new(file))?;
            let digest = plan.digest();
            if let Some(kept) = undo_files::of_plan(&digest) {
                return revert(&kept, &options, &cluster, terminal).await;
            }
            let applied = tenure_client::applied_from_history(&plan, digest, &cluster).await?;
            if applied.steps.is_empty() {
                return Err(Error::usage(format!(
                    "{file}: no file of its undo is in the private directory, and the history of the server has nothing that the plan did"
                )));
            }
            saved_plan::undo(&applied, &options.undo_way(), &cluster, terminal).await
        }
    })
}

impl Options {
    fn undo_way(&self) -> saved_plan::UndoWay {
        let on_conflict = match (self.force, self.keep) {
            (true, _) => saved_plan::OnUndoConflict::Overwrite,
            (_, true) => saved_plan::OnUndoConflict::Keep,
            _ => saved_plan::OnUndoConflict::Stop,
        };
        saved_plan::UndoWay {
            on_conflict,
            dry_run: self.dry_run,
            yes: self.yes,
            atomicity: saved_plan::Atomicity::of(self.atomic),
            output: self.output,
        }
    }
}

/// Whether a word names an object and not a file.
fn is_object(word: &str) -> bool {
    !Path::new(word).exists() && word.contains('/') && !word.ends_with(".json")
}

/// Lists the steps on a server, or reverts the last one.
async fn last_step(options: &Options, cluster: &Cluster, terminal: &Terminal) -> Result<Outcome, Error> {
    let kept = undo_files::all(cluster.server());
    if options.output != Format::Text {
        let step = |kept: &KeptStep| {
            let time = kept.step.time.map(|time| time.to_string()).unwrap_or_default();
            let file = kept.path.to_string_lossy().into_owned();
            Value::object([
                ("title", Value::from(kept.step.title.as_str())),
                ("time", Value::from(time)),
                ("file", Value::from(file)),
            ])
        };
        terminal
            .print_value(&Value::object([("steps", Value::array(kept.iter().map(step)))]), options.output)?;
        return Ok(Outcome::Done);
    }
    let Some(last) = kept.first() else {
        terminal.print(format!("There is nothing to undo on {}.\n", cluster.server()))?;
        return Ok(Outcome::Done);
    };
    let row = |kept: &KeptStep| {
        let step = &kept.step;
        [age(step.time, terminal.now), step.undoable.objects().join(", "), step.title.clone()]
    };
    let rows: Vec<[String; 3]> = kept.iter().map(row).collect();
    terminal.print(table(["AGE", "OBJECTS", "STEP"], &rows, terminal))?;
    if options.list || options.dry_run {
        return Ok(Outcome::Done);
    }
    if !options.yes {
        if terminal.audience == Audience::Program {
            return Err(Error::usage(
                "cannot ask for confirmation without a terminal; use --list, then --yes to undo the last step",
            ));
        }
        let answer = terminal.ask(format!("\nUndo the last step ({})? [y/N] ", last.step.title)).await?;
        if !matches!(answer.as_deref(), Some("y" | "Y" | "yes")) {
            return Ok(Outcome::Done);
        }
    }
    revert(last, options, cluster, terminal).await
}

/// Reverts a step, its last object first. A file of the private directory is removed then.
async fn revert(
    kept: &KeptStep,
    options: &Options,
    cluster: &Cluster,
    terminal: &Terminal,
) -> Result<Outcome, Error> {
    let rebase = if options.rebase { Rebase::Yes } else { Rebase::No };
    match &kept.step.undoable {
        Undoable::Owners(undos) => {
            for undo in undos.iter().rev() {
                let what = tenure_client::undo(undo, rebase, cluster).await?;
                terminal.print(format!("{what}: restored\n"))?;
            }
        }
        Undoable::Plan(applied) => {
            let outcome = saved_plan::undo(applied, &options.undo_way(), cluster, terminal).await?;
            if outcome != Outcome::Done || options.dry_run {
                return Ok(outcome);
            }
        }
    }
    if let Some(directory) = undo_files::directory() {
        directory.forget(&kept.path).map_err(|source| Error::Write { path: kept.path.clone(), source })?;
    }
    Ok(Outcome::Done)
}

/// Shows what an undo changes, and carries it out.
async fn take_back(
    change: PastChange,
    options: &Options,
    cluster: &Cluster,
    terminal: &Terminal,
) -> Result<Outcome, Error> {
    let ty = change.past.type_of(cluster).await?;
    let on_conflict = if options.force { OnConflict::Overwrite } else { OnConflict::Keep };
    let plan = change.plan(ty, on_conflict)?;
    match options.output {
        Format::Text => terminal.print(text(&change, &plan, options, cluster, terminal).await?)?,
        format => terminal.print_value(&document(&change, &plan), format)?,
    }
    let is_stopped = !plan.conflicts.is_empty() && !options.keep && !options.force;
    if is_stopped || options.dry_run || plan.edits.is_empty() {
        return Ok(if is_stopped { Outcome::Conflicts } else { Outcome::Done });
    }
    change.carry_out(&plan, cluster).await?;
    if options.output == Format::Text {
        terminal.print(format!("{}: revision {} undone\n", change.past.what(), change.revision))?;
    }
    Ok(Outcome::Done)
}

/// Returns the plan of an undo as a document.
fn document(change: &PastChange, plan: &Plan) -> Value {
    let path = |path: &tenure_fields::Path| Value::from(path.quoted().to_string());
    let side = |value: &Option<Value>| value.clone().unwrap_or(Value::Null);
    let edit = |edit: &tenure_ownership::Difference| {
        Value::object([("path", path(&edit.path)), ("from", side(&edit.before)), ("to", side(&edit.after))])
    };
    let conflict = |one: &tenure_history::undo::Conflict| {
        Value::object([("path", path(&one.path)), ("wanted", side(&one.wanted)), ("found", side(&one.found))])
    };
    Value::object([
        ("object", Value::from(change.past.what())),
        ("revision", Value::from(change.revision.to_string())),
        ("changes", Value::array(plan.edits.iter().map(edit))),
        ("conflicts", Value::array(plan.conflicts.iter().map(conflict))),
    ])
}

/// Returns the plan as text: what changes, and what stands against it.
async fn text(
    change: &PastChange,
    plan: &Plan,
    options: &Options,
    cluster: &Cluster,
    terminal: &Terminal,
) -> Result<String, Error> {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{}: undo revision {}", change.past.what(), change.revision);
    for edit in &plan.edits {
        let path = edit.path.quoted().to_string();
        change_text::change(&path, edit.before.as_ref(), edit.after.as_ref(), terminal, &mut out);
    }
    for conflict in &plan.conflicts {
        let path = conflict.path.quoted().to_string();
        let since = change.past.log(cluster, Some(&path), None, 1).await?;
        let who = since.items.first().map_or_else(
            || "an unknown manager".to_owned(),
            |item| {
                let known =
                    [text_of(item, "user").to_owned(), format!("revision {}", text_of(item, "revision"))];
                let known: Vec<String> = known.into_iter().filter(|word| !word.is_empty()).collect();
                format!("{} ({})", or_dash(text_of(item, "manager")), known.join(", "))
            },
        );
        let shown =
            |value: &Option<Value>| value.as_ref().map_or_else(|| "removed".to_owned(), Value::to_string);
        let line = format!(
            "! {path}: changed again since by {who}: it was {}, the change made it {}, it is {} now",
            shown(&conflict.wanted),
            shown(&conflict.left),
            shown(&conflict.found)
        );
        for (number, line) in wrapped(&line, terminal.width.saturating_sub(6)).into_iter().enumerate() {
            let indent = if number == 0 { "    " } else { "      " };
            let _ = writeln!(out, "{indent}{}", terminal.paint.ink(Ink::Problem, line));
        }
    }
    if plan.edits.is_empty() && plan.conflicts.is_empty() {
        let _ = writeln!(out, "    nothing to do: the values are those from before the change");
    }
    if !plan.conflicts.is_empty() && !options.keep && !options.force {
        let _ = writeln!(
            out,
            "Nothing is written. Use --keep to leave these fields as they are, or --force to take them back, too."
        );
    }
    Ok(out)
}
