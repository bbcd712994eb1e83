//! `tenure apply`: server-side apply of many objects in the order of their dependencies, with the plan of each. Everything is planned
//! first, then questions are asked, then objects are written. Objects with conflicts are not applied, the others are. A saved plan is
//! carried out as it is, or refused.

mod applyset;
mod interactive;
pub(super) mod order;
mod report;
mod stop;

use super::plan::ApplierOptions;
use crate::{
    Error, Outcome,
    connection::Connection,
    document::{Document, Files},
    plan_text, saved_plan,
    terminal::{Format, Progress, Terminal},
};
use applyset::ApplySet;
use clap::Args;
use futures::{StreamExt, TryStreamExt, stream};
use report::{Applied, Status};
use std::path::PathBuf;
use stop::{Stop, Untouched};
use tenure_client::{Cluster, Draft, Mode, REQUESTS_AT_ONCE};
use tenure_ownership::{Action, ApplyingManager, Manifest, Plan, Verdict};
use tenure_value::Value;

/// How often an object that others keep changing is read again.
const ATTEMPTS: usize = 8;

/// Apply objects with server-side apply, and show the plan.
#[derive(Args)]
#[command(after_help = "\
Everything is planned first; then --interactive asks about each conflict; then objects are written in the order of their dependencies
(namespaces and definitions first), several at once. An object with conflicts is not applied, the others are; the commands that
settle a conflict are printed with it. Ctrl-C ends after the objects under way, with a summary.

With --prune, objects that an earlier apply of the same set created and that are no longer in the files are deleted. The
set is stored in a Secret (or another object, given as KIND/NAME), in the format of `kubectl apply --applyset`.

With PLAN, a plan that `tenure plan --out` saved is carried out: exactly that plan, in order, or nothing if what it relies on has
changed; then what changed, and who changed it, is shown. A plan has no values of Secrets; they are read from the manifests given
with -f, which must be those that were planned. `tenure undo PLAN` takes it back.

Exit codes: 0 success, 1 error, 3 conflicts, or a plan that no longer holds.

Examples:
  tenure apply plan.json --expect sha256:5f70bf18…
  tenure apply -f deployment.yaml
  tenure apply -f manifests/ -R --manager ci
  tenure apply -f deployment.yaml --force-path .spec.replicas
  tenure apply -f deployment.yaml --interactive
  tenure apply -f manifests/ --prune --applyset web -n default")]
pub struct Options {
    /// A saved plan to carry out.
    #[arg(value_name = "PLAN", conflicts_with_all = ["interactive", "prune", "force_path", "force_conflicts"])]
    plan: Option<PathBuf>,
    /// Carry out the saved plan only if this is its digest.
    #[arg(long, value_name = "DIGEST", requires = "plan")]
    expect: Option<String>,
    /// The file from which the saved plan can be undone [default: one in $XDG_STATE_HOME/tenure/undo].
    #[arg(long, value_name = "FILE", requires = "plan")]
    undo: Option<PathBuf>,
    /// Write all steps of the saved plan or none, as one transaction; needs a Tenure server.
    #[arg(long, requires = "plan")]
    atomic: bool,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    applier: ApplierOptions,
    /// Ask what to do about each conflict.
    #[arg(short, long, conflicts_with = "force_conflicts")]
    interactive: bool,
    /// Show what would happen, without changing anything.
    #[arg(long)]
    dry_run: bool,
    /// Delete objects that an earlier apply of the set created and that are no longer in the files.
    #[arg(long, requires = "applyset")]
    prune: bool,
    /// The object that stores the set: the NAME of a Secret, or KIND/NAME.
    #[arg(long, value_name = "NAME", requires = "prune")]
    applyset: Option<String>,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    connection: Connection,
}

impl Options {
    fn mode(&self) -> Mode {
        if self.dry_run { Mode::DryRun } else { Mode::Write }
    }
}

/// Applies objects.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let documents = options.files.read()?;
    if let Some(file) = &options.plan {
        let way = saved_plan::Way {
            undo: options.undo.as_deref(),
            mode: options.mode(),
            atomicity: saved_plan::Atomicity::of(options.atomic),
            output: options.output,
        };
        return saved_plan::apply(
            file,
            options.expect.as_deref(),
            documents,
            way,
            &options.connection,
            terminal,
        );
    }
    if documents.is_empty() {
        return Err(Error::usage(
            "nothing to apply; name a file or directory with -f FILE, or - for standard input",
        ));
    }
    if options.interactive && options.files.files.iter().any(|file| file.as_os_str() == "-") {
        return Err(Error::usage(
            "--interactive reads the answers from standard input; give the manifests as files",
        ));
    }
    let applier = options.applier.applier(terminal);
    options
        .connection
        .run(async |cluster| Run { options: &options, applier, cluster, terminal }.all(documents).await)
}

struct Run<'a> {
    options: &'a Options,
    applier: ApplyingManager,
    cluster: Cluster,
    terminal: &'a Terminal,
}

/// An object on its way: what is planned, and in which phase it is written.
struct Step {
    plan: Plan,
    draft: Draft,
    applier: ApplyingManager,
    phase: usize,
}

impl Run<'_> {
    /// Plans everything, asks, then writes. Nothing is written before every question is answered.
    async fn all(&self, documents: Vec<Document>) -> Result<Outcome, Error> {
        let mode = self.options.mode();
        let untouched = Untouched::new(*self.terminal);
        let mut set = match &self.options.applyset {
            Some(name) => Some(ApplySet::open(name, &self.applier.manager, &self.cluster).await?),
            None => None,
        };
        let members = documents.clone();
        let (mut drafts, mut phases) = (Vec::new(), Vec::new());
        for (phase, documents) in order::phases(documents).into_iter().enumerate() {
            for document in documents {
                let document = match &set {
                    Some(set) => set.member(document),
                    None => document,
                };
                drafts.push(document.draft(&self.cluster).await?);
                phases.push(phase);
            }
        }
        self.applier.check(drafts.iter().map(|draft| &draft.manifest))?;
        let mut steps = self.plan(&drafts, phases).await?;
        if self.options.interactive && !self.settle(&mut steps, &drafts).await? {
            self.terminal.note("nothing was written");
            return Ok(Outcome::Conflicts);
        }
        if self.options.output == Format::Text {
            let typed = self.options.applier.typed(&self.options.files, &self.options.connection);
            let plans = steps.iter().map(|step| &step.plan);
            self.terminal.print(plan_text::all(
                plans,
                self.options.applier.shown(),
                &typed,
                self.terminal,
            ))?;
        }
        let stop = Stop::new(mode);
        drop(untouched);
        if let Some(set) = &mut set {
            set.extend(&members, &self.cluster, mode).await?;
        }
        let done = self.write(steps, &drafts, &stop).await?;
        let mut pruned = Vec::new();
        if let Some(set) = &mut set {
            if done.iter().all(Applied::is_success) {
                pruned = set.prune(&done, &self.cluster, mode).await?;
            } else {
                self.terminal.note("nothing is pruned because not every object was applied");
            }
        }
        report::finish(&done, &pruned, mode, self.options.output, self.terminal)
    }

    /// Plans the drafts, several at once.
    async fn plan(&self, drafts: &[Draft], phases: Vec<usize>) -> Result<Vec<Step>, Error> {
        let progress = Progress::new(self.terminal, "planning", drafts.len());
        let plans = stream::iter(drafts.iter().zip(phases)).map(async |(draft, phase)| {
            let applier = self.applier.for_manifest(&draft.manifest);
            let plan = tenure_client::plan(draft, drafts, &applier, &self.cluster).await?;
            progress.step();
            Ok::<_, Error>(Step { plan, draft: draft.clone(), applier, phase })
        });
        let plans = plans.buffered(REQUESTS_AT_ONCE).try_collect().await;
        progress.finish();
        plans
    }

    /// Asks about every conflict; returns whether all were answered.
    async fn settle(&self, steps: &mut [Step], drafts: &[Draft]) -> Result<bool, Error> {
        let mut questions = interactive::Questions::default();
        for step in steps {
            while matches!(step.plan.verdict, Verdict::Conflicts(..)) {
                let decided =
                    questions.decide(&step.plan, step.draft.clone(), step.applier.clone(), self.terminal);
                let Some((draft, applier)) = decided.await? else { return Ok(false) };
                step.plan = tenure_client::plan(&draft, drafts, &applier, &self.cluster).await?;
                (step.draft, step.applier) = (draft, applier);
            }
        }
        Ok(true)
    }

    /// Writes phase by phase; the objects of a phase do not depend on each other.
    async fn write(&self, steps: Vec<Step>, drafts: &[Draft], stop: &Stop) -> Result<Vec<Applied>, Error> {
        let progress = Progress::new(self.terminal, "applying", steps.len());
        let mut done: Vec<Applied> = Vec::with_capacity(steps.len());
        let mut steps = steps.into_iter().peekable();
        while let Some(first) = steps.peek() {
            let phase = first.phase;
            let batch = std::iter::from_fn(|| steps.next_if(|step| step.phase == phase));
            let written = stream::iter(batch).map(async |step| {
                let applied = self.step(step, drafts, stop).await;
                progress.step();
                applied
            });
            let written: Vec<Applied> = written.buffered(REQUESTS_AT_ONCE).collect().await;
            if self.options.mode() == Mode::Write && !stop.is_set() {
                self.establish(&written).await?;
            }
            done.extend(written);
        }
        progress.finish();
        Ok(done)
    }

    /// Writes one object, unless the command was stopped.
    async fn step(&self, step: Step, drafts: &[Draft], stop: &Stop) -> Applied {
        let Step { plan, draft, applier, .. } = step;
        if stop.is_set() {
            return Applied { plan, status: Status::NotWritten };
        }
        match self.carry_out_current(&plan, draft, &applier, drafts).await {
            Ok(status) => Applied { plan, status },
            Err(error) => {
                // What comes next would fail in the same way.
                stop.set();
                Applied { plan, status: Status::Failed(error.to_string()) }
            }
        }
    }

    /// Writes one object; a kind that was not served when it was planned is looked up again.
    async fn carry_out_current(
        &self,
        plan: &Plan,
        draft: Draft,
        applier: &ApplyingManager,
        drafts: &[Draft],
    ) -> Result<Status, Error> {
        if draft.resource.is_some() || self.options.mode() == Mode::DryRun {
            return self.carry_out(plan, &draft, applier).await;
        }
        let Manifest { config, source, .. } = draft.manifest;
        let draft = Draft::new(config, source, &self.cluster).await?;
        let plan = tenure_client::plan(&draft, drafts, applier, &self.cluster).await?;
        self.carry_out(&plan, &draft, applier).await
    }

    async fn carry_out(
        &self,
        plan: &Plan,
        draft: &Draft,
        applier: &ApplyingManager,
    ) -> Result<Status, Error> {
        let path = match (plan.action(), draft.path()) {
            (Action::Refused, _) => return Ok(Status::Refused),
            (Action::Conflict, _) => return Ok(Status::Conflict),
            (Action::Unchanged, _) => {
                return Ok(Status::Unchanged(uid(plan.before.as_ref().map(|live| &live.object))));
            }
            (_, Some(path)) if self.options.mode() == Mode::Write => path,
            _ => return Ok(Status::Planned),
        };
        let mut before = plan.before.clone();
        for _ in 0..ATTEMPTS {
            let response =
                tenure_client::apply(draft, &path, before.as_ref(), applier, Mode::Write, &self.cluster)
                    .await?;
            if response.is_success() {
                return Ok(Status::Applied(uid(Some(&response.value))));
            }
            let refusal = response.refusal();
            if refusal.is_conflict() {
                return Ok(Status::LateConflict(refusal.message));
            }
            if !refusal.is_outdated() {
                return Ok(Status::Failed(refusal.message));
            }
            before = self.cluster.find_live(&path).await?;
        }
        Ok(Status::Failed("other clients keep changing it; try again".into()))
    }

    /// Waits until the kinds of new definitions are served.
    async fn establish(&self, done: &[Applied]) -> Result<(), Error> {
        let definitions = done.iter().filter(|done| matches!(done.status, Status::Applied(_)));
        for done in definitions {
            tenure_client::establish(&done.plan.target, &self.cluster).await?;
        }
        Ok(())
    }
}

fn uid(object: Option<&Value>) -> String {
    object.and_then(|object| object.at(["metadata", "uid"])?.as_str()).unwrap_or_default().to_owned()
}
