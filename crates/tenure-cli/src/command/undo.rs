//! `tenure undo`: undoes a past change of an object, or reverts a change of ownership from the file that it wrote.

use crate::{
    Error, Outcome, change_text,
    connection::Connection,
    document,
    past::{Past, text},
    terminal::{Ink, Terminal},
};
use clap::Args;
use std::{fmt::Write, path::Path};
use tenure_apply::{Managers, State};
use tenure_client::{Cluster, JSON_PATCH, Rebase};
use tenure_history::{
    secret::is_withheld,
    undo::{self, OnConflict, Plan},
};
use tenure_ownership::{
    LiveObject,
    handover::{managers_patch, read_undo_file},
};
use tenure_value::{Value, json};

/// The manager that carries out an undo; it owns nothing afterwards.
const WRITER: &str = "tenure-undo";

/// Undo a past change, or revert an adopt, transfer, release or migrate.
#[derive(Args)]
#[command(after_help = "\
With --revision, the fields that this change of the object set, changed or removed get back the values and the owners from
before it. Where a field was changed again since, nothing is written: the conflicts are shown, with who made them, and the exit
code is 3. --keep undoes the rest and leaves these fields as they are; --force undoes everything.

With a file, an object that was written since is left alone. With --rebase the step is reverted on the object as it is now:
every manager gets back the fields that the step took from it and gives up those that it gained, removed values return where
nothing has taken their place, and everything else stays.

Examples:
  tenure log deployment/web
  tenure undo deployment/web --revision 4711 --dry-run
  tenure undo deployment/web --revision 4711
  tenure undo tenure-undo-20261115T020000Z.json
  tenure undo tenure-undo-20261115T020000Z.json --rebase")]
pub struct Options {
    /// The object, as KIND/NAME, with --revision; or an undo file.
    #[arg(value_name = "KIND/NAME|FILE")]
    what: String,
    /// The change to undo, by its revision, as `tenure log` shows it.
    #[arg(long, value_name = "REVISION", conflicts_with = "rebase")]
    revision: Option<u64>,
    /// Leave fields that were changed again since as they are, and undo the rest.
    #[arg(long, requires = "revision", conflicts_with = "force")]
    keep: bool,
    /// Undo fields that were changed again since, too.
    #[arg(long, requires = "revision")]
    force: bool,
    /// Only show what would change.
    #[arg(long, requires = "revision")]
    dry_run: bool,
    /// Revert the step of a file even if the object was written since, and keep the later changes.
    #[arg(long)]
    rebase: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Undoes a change, or reverts the steps of a file.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    match options.revision {
        Some(revision) => options.connection.run(async |cluster| {
            let change = Change::find(&options, revision, &cluster).await?;
            change.take_back(&options, &cluster, terminal).await
        }),
        None => revert_file(&options, terminal),
    }
}

/// Reverts the steps of a file, the last first.
fn revert_file(options: &Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let file = Path::new(&options.what);
    if !file.exists() && options.what.contains('/') && !options.what.ends_with(".json") {
        return Err(Error::usage(format!(
            "{}: there is no such file; to undo a change of an object, name it with --revision REVISION",
            options.what
        )));
    }
    let document = document::read_one(file)?;
    let undos = read_undo_file(&document.value).map_err(|error| Error::document(&document.place, error))?;
    let rebase = if options.rebase { Rebase::Yes } else { Rebase::No };
    options.connection.run(async |cluster| {
        for undo in undos.iter().rev() {
            let what = tenure_client::undo(undo, rebase, &cluster).await?;
            terminal.print(format!("{what}: restored\n"))?;
        }
        Ok(Outcome::Done)
    })
}

/// A past change of an object that exists.
struct Change {
    past: Past,
    revision: u64,
    before: LiveObject,
    after: LiveObject,
    live: LiveObject,
    /// The path that the change was made through.
    path: String,
}

impl Change {
    async fn find(options: &Options, revision: u64, cluster: &Cluster) -> Result<Change, Error> {
        let past = Past::of(cluster, &options.what).await?;
        let log = past.log(cluster, None, revision.checked_add(1), 1).await?;
        let item = log.items.first().filter(|item| text(item, "revision") == revision.to_string());
        let Some(item) = item else {
            return Err(Error::usage(format!(
                "{}: no change with revision {revision} is kept; `tenure log {}` lists them",
                past.what(),
                options.what
            )));
        };
        let advice = match text(item, "type") {
            "Created" => Some("it created the object; delete the object instead"),
            "Deleted" => Some("it deleted the object; use `tenure restore` instead"),
            _ => None,
        };
        if let Some(advice) = advice {
            return Err(Error::usage(format!("{}: revision {revision} cannot be undone: {advice}", past.what())));
        }
        let before = past.at(cluster, text(item, "previous")).await?;
        let after = past.at(cluster, &revision.to_string()).await?;
        let live = cluster.find_live(&past.path).await?;
        let live = live.ok_or_else(|| Error::usage(format!("{} was deleted; use `tenure restore`", past.what())))?;
        let path = match text(item, "subresource") {
            "status" => format!("{}/status", past.path),
            _ => past.path.clone(),
        };
        Ok(Change { past, revision, before, after, live, path })
    }

    async fn take_back(self, options: &Options, cluster: &Cluster, terminal: &Terminal) -> Result<Outcome, Error> {
        let ty = self.past.type_of(cluster).await?;
        let on_conflict = if options.force { OnConflict::Overwrite } else { OnConflict::Keep };
        let plan = undo::plan(&self.live.object, &self.before.object, &self.after.object, ty, on_conflict);
        let values = plan.edits.iter().map(|edit| &edit.after).chain(plan.conflicts.iter().map(|one| &one.wanted));
        if self.past.resource.kind == "Secret" && values.flatten().any(is_withheld) {
            return Err(Error::usage(
                "the values of this Secret were not kept, so that the change cannot be undone; a server that should keep \
                 them runs with --history-secret-values",
            ));
        }
        terminal.print(self.text(&plan, options, cluster, terminal).await?)?;
        let is_stopped = !plan.conflicts.is_empty() && !options.keep && !options.force;
        if is_stopped || options.dry_run || plan.edits.is_empty() {
            return Ok(match (plan.conflicts.is_empty() || options.keep || options.force, plan.edits.is_empty()) {
                (false, _) => Outcome::Conflicts,
                (true, true) => Outcome::Done,
                (true, false) => Outcome::Changes,
            });
        }
        // The resourceVersion in the object makes this fail if another client writes in between.
        let path = format!("{}?fieldManager={WRITER}", self.path);
        let body = Some(("application/json", json::to_vec(&plan.object)));
        let response = cluster.send(http::Method::PUT, &path, "application/json", body).await?;
        if response.refusal().is_outdated() && !response.is_success() {
            return Err(Error::usage(format!("{} was written in between; try again", self.past.what())));
        }
        let written = response.success("write", &self.past.what())?;
        self.set_owners(&written, &plan, cluster).await?;
        terminal.print(format!("{}: revision {} undone\n", self.past.what(), self.revision))?;
        Ok(Outcome::Done)
    }

    /// Gives the fields back to those who owned them before the change.
    async fn set_owners(&self, written: &Value, plan: &Plan, cluster: &Cluster) -> Result<(), Error> {
        let live = LiveObject::read(written).map_err(|error| Error::usage(error.to_string()))?;
        let before = State { object: self.before.object.clone(), managers: self.before.managers.clone() };
        let wanted: Managers = undo::owners(&live.managers, &before, &plan.edits, WRITER);
        if wanted.same_fields(&live.managers) {
            return Ok(());
        }
        let patch = managers_patch(live.resource_version(), &wanted);
        let path = format!("{}?fieldManager={WRITER}", self.past.path);
        let response = cluster.patch(&path, JSON_PATCH, &patch).await?;
        response.success("restore the owners of", &self.past.what()).map(drop).map_err(Error::from)
    }

    /// Returns the plan as text: what changes, and what stands against it.
    async fn text(
        &self,
        plan: &Plan,
        options: &Options,
        cluster: &Cluster,
        terminal: &Terminal,
    ) -> Result<String, Error> {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}: undo revision {}", self.past.what(), self.revision);
        for edit in &plan.edits {
            let path = edit.path.quoted().to_string();
            change_text::change(&path, edit.before.as_ref(), edit.after.as_ref(), terminal, &mut out);
        }
        for conflict in &plan.conflicts {
            let path = conflict.path.quoted().to_string();
            let since = self.past.log(cluster, Some(&path), None, 1).await?;
            let who = since.items.first().map_or_else(
                || "an unknown manager".to_owned(),
                |item| format!("{} ({}, revision {})", text(item, "manager"), text(item, "user"), text(item, "revision")),
            );
            let shown = |value: &Option<Value>| value.as_ref().map_or_else(|| "removed".to_owned(), Value::to_string);
            let line = format!(
                "! {path}: changed again since by {who}: it was {}, the change made it {}, it is {} now",
                shown(&conflict.wanted),
                shown(&conflict.left),
                shown(&conflict.found)
            );
            let _ = writeln!(out, "    {}", terminal.paint.ink(Ink::Problem, line));
        }
        if plan.edits.is_empty() && plan.conflicts.is_empty() {
            let _ = writeln!(out, "    nothing to do: the values are those from before the change");
        }
        if !plan.conflicts.is_empty() && !options.keep && !options.force {
            let _ = writeln!(out, "Nothing is written. Use --keep to leave these fields as they are, or --force to take them back, too.");
        }
        Ok(out)
    }
}
