//! `tenure apply`: server-side apply of many objects in the order of their dependencies, with the plan of each. Objects with
//! conflicts are not applied, the others are.

mod applyset;
mod interactive;
mod order;
mod report;

use super::plan::ApplierOptions;
use crate::{
    Error, Outcome,
    connection::Connection,
    document::{Document, Files},
    plan_text,
    terminal::{Format, Progress, Terminal},
};
use applyset::ApplySet;
use clap::Args;
use futures::{StreamExt, TryStreamExt, stream};
use report::{Applied, Status};
use std::time::{Duration, Instant};
use tenure_client::{Cluster, Draft, Mode, REQUESTS_AT_ONCE};
use tenure_ownership::{Action, Applier, Plan, Verdict};
use tenure_value::Value;

/// How often an object that others keep changing is read again.
const ATTEMPTS: usize = 8;

/// How long to wait until the kind of a new definition is served, and how often to check.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// Apply objects with server-side apply, and show the plan.
#[derive(Args)]
#[command(after_help = "\
Objects are applied in the order of their dependencies (namespaces and definitions first), several at once. An object with
conflicts is not applied, the others are; --force-path takes single fields from their owners, --interactive asks about
each conflict.

With --prune, objects that an earlier apply of the same set created and that are no longer in the files are deleted. The
set is stored in a Secret (or another object, given as KIND/NAME), in the format of `kubectl apply --applyset`.

Exit codes: 0 success, 1 error, 3 conflicts.

Examples:
  tenure apply -f deployment.yaml
  tenure apply -f manifests/ -R --manager ci
  tenure apply -f deployment.yaml --force-path .spec.replicas
  tenure apply -f deployment.yaml --interactive
  tenure apply -f manifests/ --prune --applyset web -n default")]
pub struct Options {
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
    if documents.is_empty() {
        return Err(Error::usage("nothing to apply; name a file or directory with -f FILE, or - for standard input"));
    }
    if options.interactive && options.files.files.iter().any(|file| file.as_os_str() == "-") {
        return Err(Error::usage("--interactive reads the answers from standard input; give the manifests as files"));
    }
    let applier = options.applier.applier(terminal);
    options.connection.run(async |cluster| Run { options: &options, applier, cluster, terminal }.all(documents).await)
}

struct Run<'a> {
    options: &'a Options,
    applier: Applier,
    cluster: Cluster,
    terminal: &'a Terminal,
}

impl Run<'_> {
    async fn all(&self, documents: Vec<Document>) -> Result<Outcome, Error> {
        let mode = self.options.mode();
        let mut set = match &self.options.applyset {
            Some(name) => Some(ApplySet::open(name, &self.applier.manager, &self.cluster).await?),
            None => None,
        };
        if let Some(set) = &mut set {
            set.extend(&documents, &self.cluster, mode).await?;
        }
        let progress = Progress::new(self.terminal, "applying", documents.len());
        let (mut drafts, mut done): (Vec<Draft>, Vec<Applied>) = (Vec::new(), Vec::new());
        for phase in order::phases(documents) {
            let start = drafts.len();
            for document in phase {
                let document = match &set {
                    Some(set) => set.member(document),
                    None => document,
                };
                drafts.push(document.draft(&self.cluster).await?);
            }
            let applied = self.phase(&drafts, start, &progress).await?;
            if mode == Mode::Write {
                self.establish(&applied).await?;
            }
            done.extend(applied);
        }
        progress.finish();
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

    /// Plans and applies the drafts from `start` on, which do not depend on each other.
    async fn phase(&self, all: &[Draft], start: usize, progress: &Progress) -> Result<Vec<Applied>, Error> {
        let drafts = all.get(start..).unwrap_or_default();
        let plans = stream::iter(drafts).map(|draft| tenure_client::plan(draft, all, &self.applier, &self.cluster));
        let plans: Vec<Plan> = plans.buffered(REQUESTS_AT_ONCE).try_collect().await?;
        let mut steps = Vec::with_capacity(plans.len());
        for (plan, draft) in plans.into_iter().zip(drafts) {
            let (mut plan, mut draft, mut applier) = (plan, draft.clone(), self.applier.clone());
            while self.options.interactive && matches!(plan.verdict, Verdict::Conflicts(..)) {
                progress.finish();
                match interactive::decide(&plan, draft.clone(), applier.clone(), self.terminal)? {
                    Some(decided) => (draft, applier) = decided,
                    None => break,
                }
                plan = tenure_client::plan(&draft, all, &applier, &self.cluster).await?;
            }
            if self.options.output == Format::Text {
                progress.finish();
                self.terminal.print(plan_text::text(&plan, self.terminal))?;
            }
            steps.push((plan, draft, applier));
        }
        let done = stream::iter(steps).map(|(plan, draft, applier)| async move {
            let status = self.carry_out(&plan, &draft, &applier).await?;
            progress.step();
            Ok::<_, Error>(Applied { plan, status })
        });
        done.buffered(REQUESTS_AT_ONCE).try_collect().await
    }

    async fn carry_out(&self, plan: &Plan, draft: &Draft, applier: &Applier) -> Result<Status, Error> {
        let path = match (plan.action(), draft.path()) {
            (Action::Refused, _) => return Ok(Status::Refused),
            (Action::Conflict, _) => return Ok(Status::Conflict),
            (Action::Unchanged, _) => return Ok(Status::Unchanged(uid(plan.before.as_ref().map(|live| &live.object)))),
            (_, Some(path)) if self.options.mode() == Mode::Write => path,
            _ => return Ok(Status::Planned),
        };
        let mut before = plan.before.clone();
        for _ in 0..ATTEMPTS {
            let response = tenure_client::apply(draft, &path, before.as_ref(), applier, Mode::Write, &self.cluster).await?;
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
        let definitions = done.iter().filter(|done| {
            done.plan.target.kind == "CustomResourceDefinition" && matches!(done.status, Status::Applied(_))
        });
        for done in definitions {
            let path = format!("/apis/{}/customresourcedefinitions/{}", done.plan.target.api_version, done.plan.target.name);
            let start = Instant::now();
            while !is_established(self.cluster.find(&path).await?.as_ref()) && start.elapsed() < ESTABLISHED_WITHIN {
                tokio::time::sleep(CHECK_EVERY).await;
            }
            self.cluster.rediscover();
        }
        Ok(())
    }
}

fn is_established(definition: Option<&Value>) -> bool {
    let conditions = definition.and_then(|definition| definition.at(["status", "conditions"])?.as_array());
    conditions.is_some_and(|conditions| {
        conditions.iter().any(|condition| {
            let text = |name| condition.get(name).and_then(Value::as_str);
            text("type") == Some("Established") && text("status") == Some("True")
        })
    })
}

fn uid(object: Option<&Value>) -> String {
    object.and_then(|object| object.at(["metadata", "uid"])?.as_str()).unwrap_or_default().to_owned()
}
