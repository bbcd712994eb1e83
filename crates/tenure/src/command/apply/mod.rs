//! `tenure apply`: server-side apply of many objects, in the order in which they need each other, each with its plan
//! shown. What conflicts is not applied; the rest is.

mod applyset;
mod interactive;
mod order;
mod report;

use super::plan::MANAGER;
use crate::{
    Error, Outcome,
    cluster::{Cluster, Connection, REQUESTS_AT_ONCE},
    document::{Document, Files},
    plan::{
        Action, Draft, Plan, Verdict,
        live::{Applier, Force, Mode},
        render,
    },
    terminal::{Format, Progress, Terminal},
};
use applyset::ApplySet;
use clap::Args;
use futures::{StreamExt, TryStreamExt, stream};
use report::{Deed, Done};
use std::time::Duration;
use tenure_value::Value;

/// How often an object that others keep changing is looked at again.
const ATTEMPTS: usize = 8;

/// How long a definition may take until its kind is served, and how often that is looked at.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Apply objects on the server, with the plan shown.
#[derive(Args)]
#[command(after_help = "\
Objects are applied in the order in which they need each other (namespaces and definitions first), several at once.
An object with conflicts is not applied, the others are; --force-path takes single fields from their holders,
--interactive asks what to do about each.

With --prune, objects that an earlier apply of the same set made and that are not among the files any more are deleted.
The set is remembered by a Secret (or another object, as KIND/NAME) as `kubectl apply --applyset` does.

Exit codes: 0 done, 1 error, 3 conflicts.

Examples:
  tenure apply -f deployment.yaml
  tenure apply -f manifests/ -R --manager ci
  tenure apply -f deployment.yaml --force-path .spec.replicas
  tenure apply -f deployment.yaml --interactive
  tenure apply -f manifests/ --prune --applyset web -n default")]
pub struct Options {
    #[command(flatten)]
    files: Files,
    /// The manager in whose name to apply.
    #[arg(long, value_name = "NAME", env = "TENURE_MANAGER", default_value = MANAGER)]
    manager: String,
    /// Take this field, and all below it, from its holders; may be repeated.
    #[arg(long, value_name = "PATH")]
    force_path: Vec<String>,
    /// Take all contested fields from their holders.
    #[arg(long, conflicts_with = "force_path")]
    force_conflicts: bool,
    /// Ask what to do about each conflict.
    #[arg(short, long, conflicts_with = "force_conflicts")]
    interactive: bool,
    /// Show what would happen, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Delete what an earlier apply of the set made and is not among the files any more.
    #[arg(long, requires = "applyset")]
    prune: bool,
    /// The object that remembers the set: NAME of a Secret, or KIND/NAME.
    #[arg(long, value_name = "NAME", requires = "prune")]
    applyset: Option<String>,
    /// How to write the result.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    connection: Connection,
}

impl Options {
    fn mode(&self) -> Mode {
        if self.dry_run { Mode::DryRun } else { Mode::ForReal }
    }

    fn force(&self) -> Force {
        match self.force_conflicts {
            true => Force::Everything,
            false if self.force_path.is_empty() => Force::Nothing,
            false => Force::Paths(self.force_path.clone()),
        }
    }
}

/// Applies objects.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let documents = options.files.read()?;
    if documents.is_empty() {
        return Err(Error::usage("nothing to apply; name a file or directory with -f FILE, or - for standard input"));
    }
    if options.interactive && options.files.files.iter().any(|file| file.as_os_str() == "-") {
        return Err(Error::usage("--interactive needs standard input for the answers; name the manifests as files"));
    }
    let applier = Applier { manager: options.manager.clone(), force: options.force(), now: terminal.now };
    options.connection.run(async |cluster| Work { options: &options, applier, cluster, terminal }.run(documents).await)
}

struct Work<'a> {
    options: &'a Options,
    applier: Applier,
    cluster: Cluster,
    terminal: &'a Terminal,
}

impl Work<'_> {
    async fn run(&self, documents: Vec<Document>) -> Result<Outcome, Error> {
        let mode = self.options.mode();
        let mut set = match &self.options.applyset {
            Some(name) => Some(ApplySet::open(name, &self.applier.manager, &self.cluster).await?),
            None => None,
        };
        if let Some(set) = &mut set {
            set.extend(&documents, &self.cluster, mode).await?;
        }
        let progress = Progress::new(self.terminal, "applying", documents.len());
        let (mut company, mut done): (Vec<Draft>, Vec<Done>) = (Vec::new(), Vec::new());
        for phase in order::phases(documents) {
            let start = company.len();
            for document in phase {
                let document = match &set {
                    Some(set) => set.member(document),
                    None => document,
                };
                company.push(Draft::of(document, &self.cluster).await?);
            }
            let applied = self.phase(&company, start, &progress).await?;
            if mode == Mode::ForReal {
                self.establish(&applied).await?;
            }
            done.extend(applied);
        }
        progress.finish();
        let mut pruned = Vec::new();
        if let Some(set) = &mut set {
            if done.iter().all(Done::is_well) {
                pruned = set.prune(&done, &self.cluster, mode).await?;
            } else {
                self.terminal.note("nothing is pruned, since not everything could be applied");
            }
        }
        report::finish(&done, &pruned, mode, self.options.output, self.terminal)
    }

    /// Plans and applies objects that do not need each other.
    async fn phase(&self, company: &[Draft], start: usize, progress: &Progress) -> Result<Vec<Done>, Error> {
        let drafts = company.get(start..).unwrap_or_default();
        let plans = stream::iter(drafts).map(|draft| self.applier.plan(draft, company, &self.cluster));
        let plans: Vec<Plan> = plans.buffered(REQUESTS_AT_ONCE).try_collect().await?;
        let mut steps = Vec::with_capacity(plans.len());
        for (plan, draft) in plans.into_iter().zip(drafts) {
            let (mut plan, mut draft, mut applier) = (plan, draft.clone(), self.applier.clone());
            while self.options.interactive && matches!(plan.verdict, Verdict::Contested(..)) {
                progress.finish();
                match interactive::decide(&plan, draft.clone(), applier.clone(), self.terminal)? {
                    Some(decided) => (draft, applier) = decided,
                    None => break,
                }
                plan = applier.plan(&draft, company, &self.cluster).await?;
            }
            if self.options.output == Format::Text {
                progress.finish();
                self.terminal.print(render::text(&plan, self.terminal))?;
            }
            steps.push((plan, draft, applier));
        }
        let done = stream::iter(steps).map(|(plan, draft, applier)| async move {
            let deed = self.carry_out(&plan, &draft, &applier).await?;
            progress.step();
            Ok::<_, Error>(Done { plan, deed })
        });
        done.buffered(REQUESTS_AT_ONCE).try_collect().await
    }

    async fn carry_out(&self, plan: &Plan, draft: &Draft, applier: &Applier) -> Result<Deed, Error> {
        let path = match (plan.action(), draft.path()) {
            (Action::Refused, _) => return Ok(Deed::Refused),
            (Action::Conflict, _) => return Ok(Deed::Contested),
            (Action::Unchanged, _) => return Ok(Deed::Unchanged(uid(plan.before.as_ref().map(|live| &live.object)))),
            (_, Some(path)) if self.options.mode() == Mode::ForReal => path,
            _ => return Ok(Deed::Planned),
        };
        let mut before = plan.before.clone();
        for _ in 0..ATTEMPTS {
            let reply = applier.send(draft, &path, before.as_ref(), Mode::ForReal, &self.cluster).await?;
            if reply.is_success() {
                return Ok(Deed::Applied(uid(Some(&reply.value))));
            }
            let refusal = reply.refusal();
            if refusal.is_contested() {
                return Ok(Deed::Lost(refusal.message));
            }
            if !refusal.is_outdated() {
                return Ok(Deed::Failed(refusal.message));
            }
            before = self.cluster.find_live(&path).await?;
        }
        Ok(Deed::Failed("others keep changing it; try again".into()))
    }

    /// Waits until the kinds of new definitions are served.
    async fn establish(&self, done: &[Done]) -> Result<(), Error> {
        let definitions = done.iter().filter(|done| {
            done.plan.target.kind == "CustomResourceDefinition" && matches!(done.deed, Deed::Applied(_))
        });
        for done in definitions {
            let path = format!("/apis/{}/customresourcedefinitions/{}", done.plan.target.api_version, done.plan.target.name);
            let start = std::time::Instant::now();
            while !is_established(self.cluster.find(&path).await?.as_ref()) && start.elapsed() < ESTABLISHED_WITHIN {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            self.cluster.forget_kinds();
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
