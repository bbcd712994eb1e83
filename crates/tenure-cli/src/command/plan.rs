//! `tenure plan`: what a server-side apply would do to every object of some files. Nothing is written.

use crate::{
    Error, Outcome,
    compatibility::Compatibility,
    connection::Connection,
    document::{self, Document, Files},
    place::Place,
    plan_text::{self, Shown, Typed},
    plan_view::{self, PlacedPlan},
    plugin::program,
    saved_plan,
    terminal::{Format, Paint, Progress, Terminal, quoted},
    types::{SchemaFiles, Types},
};
use clap::{Args, ValueEnum};
use futures::{StreamExt, TryStreamExt, stream};
use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};
use tenure_client::{Cluster, Draft, REQUESTS_AT_ONCE};
use tenure_ownership::{
    Action, ApplyingManager, ForcedFields, LiveObject, Manifest, Pinning, Plan, SavedPlan, kind_word, plan,
};
use tenure_profile::Profile;
use tenure_schema::TypeRef;
use tenure_value::Value;

/// The default field manager: that of `kubectl apply --server-side`, so that both can be used without leaving a second
/// owner behind.
pub const DEFAULT_MANAGER: &str = "kubectl";

/// Who applies, and which conflicts the apply overrides.
#[derive(Args)]
pub struct ApplierOptions {
    /// The field manager.
    #[arg(
        long,
        visible_alias = "field-manager",
        value_name = "NAME",
        env = "TENURE_MANAGER",
        default_value = DEFAULT_MANAGER
    )]
    manager: String,
    /// Take this field, and everything below it, from its owners; may be repeated.
    #[arg(long, value_name = "PATH")]
    force_path: Vec<String>,
    /// Take all conflicting fields from their owners.
    #[arg(long, conflicts_with = "force_path")]
    force_conflicts: bool,
    /// Show unchanged objects, too, where there are more than twenty objects.
    #[arg(long)]
    show_unchanged: bool,
}

impl ApplierOptions {
    /// Returns the applier.
    pub fn applier(&self, terminal: &Terminal) -> ApplyingManager {
        let force = match self.force_path.as_slice() {
            _ if self.force_conflicts => ForcedFields::All,
            [] => ForcedFields::None,
            paths => ForcedFields::Paths(paths.to_vec()),
        };
        ApplyingManager { manager: self.manager.clone(), force, now: terminal.now }
    }

    /// Returns which plans are shown.
    pub fn shown(&self) -> Shown {
        if self.show_unchanged { Shown::All } else { Shown::Relevant }
    }

    /// Returns what was typed, for the commands that settle conflicts.
    pub fn typed(&self, files: &Files, connection: &Connection) -> Typed {
        let named = |flag: &str| match self.manager.as_str() {
            DEFAULT_MANAGER => String::new(),
            manager => format!(" {flag} {}", quoted(manager)),
        };
        let manager = named("--manager");
        let forced: String =
            self.force_path.iter().map(|path| format!(" --force-path {}", quoted(path))).collect();
        let server = connection.typed();
        let namespace =
            connection.namespace().map(|name| format!(" -n {}", quoted(name))).unwrap_or_default();
        Typed {
            apply: format!("{} apply{}{manager}{forced}{namespace}{server}", program(), files.typed()),
            files: format!("{}{forced}{namespace}", files.typed()).trim_start().to_owned(),
            server,
            to: named("--to"),
        }
    }
}

/// The format of plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// Text for people.
    #[default]
    Text,
    /// JSON, one document.
    Json,
    /// YAML, one document.
    Yaml,
    /// A comment on a pull request.
    Markdown,
    /// SARIF 2.1.0: annotations at the lines of the manifests.
    Sarif,
    /// A JUnit report: a test case for every object.
    Junit,
}

/// Show what an apply would do, without doing it.
#[derive(Args)]
#[command(after_help = "\
For every object: which values change, which managers gain and lose which fields, the conflicts with their owners, zero
values that the apply would own unintentionally, and fields that are not in the manifest but stay because another manager
owns them. Nothing is written.

With --out the plan is saved, pinned to the objects as they are now (--pin versions) or to the values and owners that it relies on
(--pin fields). `tenure apply FILE` carries out exactly this plan or refuses it; its digest is what a reviewer approves
(`tenure apply FILE --expect DIGEST`). Values of Secrets are not in it. `tenure plan FILE` shows a saved plan.

With --live the plan is computed from a live object in a file, without a server and so without its defaulting and
validation.

In a pull request, -o markdown is a comment, -o sarif annotations at the lines of the manifests, -o junit a test report, and --baseline
leaves out what the manifests of its base do already.

Exit codes: 0 nothing would change, 1 error, 2 changes, 3 conflicts.

Examples:
  tenure plan -f deployment.yaml
  tenure plan -f manifests/ --baseline base/manifests/ -o markdown
  tenure plan -f manifests/ -R --manager ci
  kustomize build | tenure plan -f -
  tenure plan -f manifests/ --delete configmap/old --out plan.json
  tenure plan plan.json
  tenure plan -f deployment.yaml --live live.yaml --output json")]
pub struct Options {
    /// A saved plan to show.
    #[arg(value_name = "PLAN", conflicts_with_all = ["files", "kustomizations", "live", "out", "delete"])]
    saved: Option<PathBuf>,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    applier: ApplierOptions,
    /// Compute the plan from live objects in this file, or - for standard input, without a server.
    #[arg(long, value_name = "FILE")]
    live: Option<PathBuf>,
    /// The server for which the plan of --live is computed: a kube-apiserver, or Tenure with its improvements.
    #[arg(long, value_enum, value_name = "PROFILE", requires = "live", default_value = "kubernetes")]
    compatibility: Compatibility,
    /// Delete this object as a part of the plan; may be repeated.
    #[arg(long, value_name = "KIND/NAME", conflicts_with = "live")]
    delete: Vec<String>,
    /// Save the plan to this file.
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    out: Option<PathBuf>,
    /// What must not have changed when the saved plan is carried out.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t, requires = "out")]
    pin: Pin,
    /// Show only what the manifests add to those in this directory or file, such as the base of a pull request.
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    baseline: Option<PathBuf>,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: PlanFormat,
    /// Also write the plans to a file in another format, such as markdown=plan.md; may be repeated.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = format_and_file)]
    save: Vec<(PlanFormat, PathBuf)>,
    #[command(flatten)]
    schemas: SchemaFiles,
    #[command(flatten)]
    connection: Connection,
}

/// What a saved plan is pinned to.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Pin {
    /// The resourceVersions of the objects.
    #[default]
    Versions,
    /// The values and owners of the fields that the plan relies on.
    Fields,
}

impl From<Pin> for Pinning {
    fn from(pin: Pin) -> Pinning {
        match pin {
            Pin::Versions => Pinning::Versions,
            Pin::Fields => Pinning::Fields,
        }
    }
}

/// Shows the plans.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    if let Some(file) = &options.saved {
        let format = match options.output {
            PlanFormat::Text => Format::Text,
            PlanFormat::Json => Format::Json,
            PlanFormat::Yaml => Format::Yaml,
            _ => return Err(Error::usage("a saved plan is shown as text, json or yaml")),
        };
        return saved_plan::show(file, format, terminal);
    }
    let documents = options.files.read()?;
    if documents.is_empty() && options.delete.is_empty() {
        return Err(Error::usage(
            "nothing to plan; name a file or directory with -f FILE, or - for standard input",
        ));
    }
    let applier = options.applier.applier(terminal);
    let (mut documents, mut base) = (documents, Vec::new());
    if let Some(baseline) = &options.baseline {
        let files =
            Files { files: vec![baseline.clone()], recursive: options.files.recursive, ..Files::default() };
        base = files.read()?;
    }
    let gone = beyond(&mut documents, &mut base)?;
    let mut places: Vec<Place> = documents.iter().map(|document| document.place.clone()).collect();
    let live = match &options.live {
        Some(file) => Some((file, options.schemas.types()?)),
        None => None,
    };
    let planned = |documents| match &live {
        Some((file, types)) => from_file(documents, file, types, &applier, &options),
        None => from_server(documents, &applier, &options, terminal),
    };
    let is_empty = documents.is_empty() && options.delete.is_empty();
    let Planned { mut plans, manifests, saved } =
        if is_empty { Planned::default() } else { planned(documents)? };
    // A deletion has no manifest.
    places.resize(plans.len(), Place::of("--delete".as_ref()));
    if !base.is_empty() {
        let known: HashMap<String, Plan> =
            planned(base)?.plans.into_iter().map(|plan| (plan.target.to_string(), plan)).collect();
        let reduced = |plan: Plan| match known.get(&plan.target.to_string()) {
            Some(known) => plan.beyond(known),
            None => plan,
        };
        plans = plans.into_iter().map(reduced).collect();
    }
    let typed = options.applier.typed(&options.files, &options.connection);
    let review = Review { plans: &plans, manifests: &manifests, places: &places, gone: &gone };
    let outcome = show(&review, &options, &typed, terminal)?;
    if let (Some(file), Some(saved)) = (&options.out, saved) {
        saved_plan::write(&saved, file)?;
        terminal.note(format_args!(
            "saved to {}; approve or carry it out with\n  {} apply {} --expect {}{}",
            file.display(),
            program(),
            quoted(&file.to_string_lossy()),
            saved.digest(),
            options.connection.typed()
        ));
    }
    Ok(outcome)
}

/// Plans with their manifests; deletions, which have none, come last.
#[derive(Default)]
struct Planned<'t> {
    plans: Vec<Plan>,
    manifests: Vec<Manifest<'t>>,
    saved: Option<SavedPlan>,
}

/// Plans, and what they were made from.
struct Review<'a> {
    plans: &'a [Plan],
    manifests: &'a [Manifest<'a>],
    places: &'a [Place],
    /// The objects that left the manifests.
    gone: &'a [String],
}

/// Leaves out the objects that are the same in a baseline, and those of the baseline that are not compared; returns the objects that only
/// the baseline has.
fn beyond(documents: &mut Vec<Document>, base: &mut Vec<Document>) -> Result<Vec<String>, Error> {
    let name = |document: &Document| -> Result<String, Error> {
        let (api_version, kind) = document.kind()?;
        let namespace = document.namespace().map(|name| format!(" in {name}")).unwrap_or_default();
        Ok(format!("{}/{}{namespace}", kind_word(api_version, kind), document.name()?))
    };
    let mut known = HashMap::new();
    for document in base.iter() {
        known.insert(name(document)?, document.value.clone());
    }
    let mut compared = HashSet::new();
    let mut changed = Vec::with_capacity(documents.len());
    for document in std::mem::take(documents) {
        let name = if known.is_empty() { String::new() } else { name(&document)? };
        if known.get(&name) != Some(&document.value) {
            changed.push(document);
        } else {
            known.remove(&name);
            continue;
        }
        compared.insert(name);
    }
    *documents = changed;
    let mut gone = Vec::new();
    for document in std::mem::take(base) {
        let name = name(&document)?;
        if compared.contains(&name) {
            base.push(document);
        } else if known.contains_key(&name) {
            gone.push(name);
        }
    }
    Ok(gone)
}

/// Plans all objects with the server, several at once, in the order of the files, and saves the plan if it can be carried out.
fn from_server(
    documents: Vec<Document>,
    applier: &ApplyingManager,
    options: &Options,
    terminal: &Terminal,
) -> Result<Planned<'static>, Error> {
    options.connection.run(async |cluster| {
        let mut drafts = Vec::with_capacity(documents.len());
        for document in documents {
            drafts.push(document.draft(&cluster).await?);
        }
        let mut deletions = Vec::with_capacity(options.delete.len());
        for word in &options.delete {
            deletions.push(deletion(word, &cluster).await?);
        }
        let progress = Progress::new(terminal, "planning", drafts.len());
        applier.check(drafts.iter().map(|draft| &draft.manifest))?;
        let (together, server, steps) = (drafts.as_slice(), &cluster, &progress);
        let plans = stream::iter(together).map(|draft| async move {
            let applier = applier.for_manifest(&draft.manifest);
            let plan = tenure_client::plan(draft, together, &applier, server).await;
            steps.step();
            Ok::<(&Draft, ApplyingManager, Plan), Error>((draft, applier, plan?))
        });
        let planned: Result<Vec<_>, Error> = plans.buffered(REQUESTS_AT_ONCE).try_collect().await;
        progress.finish();
        let planned = planned?;
        let is_refused = |plan: &Plan| matches!(plan.action(), Action::Conflict | Action::Refused);
        let saved = match planned.iter().any(|(_, _, plan)| is_refused(plan)) {
            _ if options.out.is_none() => None,
            true => {
                terminal.note("the plan is not saved, because it could not be carried out");
                None
            }
            false => {
                let applies = planned.iter().map(|(draft, applier, plan)| (*draft, applier, plan));
                let pinning = options.pin.into();
                Some(tenure_client::save(applies, &deletions, pinning, terminal.now, &cluster).await?)
            }
        };
        let plans: Vec<Plan> = planned.into_iter().map(|(_, _, plan)| plan).chain(deletions).collect();
        let manifests = drafts.into_iter().map(|draft| draft.manifest).collect();
        Ok(Planned { plans, manifests, saved })
    })
}

/// Plans the deletion of an object that is named as KIND/NAME.
async fn deletion(word: &str, cluster: &Cluster) -> Result<Plan, Error> {
    let named = word.split_once('/').filter(|(kind, name)| !kind.is_empty() && !name.is_empty());
    let (kind, name) = named.ok_or_else(|| {
        Error::usage(format!("--delete {word}: name the object as KIND/NAME, such as configmap/old"))
    })?;
    let found = cluster.object(&cluster.kind_named(kind).await?, name).await?;
    Ok(tenure_client::deletion(&found)?)
}

/// Plans all objects with the live objects of a file.
fn from_file<'t>(
    documents: Vec<Document>,
    file: &Path,
    types: &'t Types,
    applier: &ApplyingManager,
    options: &Options,
) -> Result<Planned<'t>, Error> {
    let mut live = Vec::new();
    for document in document::read(file)? {
        let read = LiveObject::read(&document.value);
        live.push(read.map_err(|error| Error::document(&document.place, error))?);
    }
    let mut manifests = Vec::with_capacity(documents.len());
    for document in documents {
        let (api_version, kind) = document.kind()?;
        document.name()?;
        let ty = types.of(api_version, kind).unwrap_or_else(TypeRef::untyped);
        let namespace =
            document.namespace().or(options.connection.namespace()).unwrap_or_default().to_owned();
        let mut manifest = Manifest::new(document.value, document.place.to_string(), ty);
        manifest.target.namespace = namespace;
        manifests.push(manifest);
    }
    applier.check(manifests.iter())?;
    let profile =
        Profile::from(options.compatibility).at(options.schemas.kubernetes_version.unwrap_or_default());
    let mut plans = Vec::with_capacity(manifests.len());
    for manifest in &manifests {
        let target = &manifest.target;
        let found = live.iter().find(|live| {
            live.kind() == target.kind
                && group(live.api_version()) == group(&target.api_version)
                && live.name() == target.name
                && (target.namespace.is_empty() || live.namespace() == target.namespace)
        });
        plans.push(plan::offline(manifest, found, applier, profile));
    }
    Ok(Planned { plans, manifests, saved: None })
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Reads a format and a file.
fn format_and_file(text: &str) -> Result<(PlanFormat, PathBuf), String> {
    let (format, file) = text
        .split_once('=')
        .filter(|(_, file)| !file.is_empty())
        .ok_or("write FORMAT=FILE, such as markdown=plan.md")?;
    Ok((PlanFormat::from_str(format, false)?, file.into()))
}

impl Review<'_> {
    /// Returns the plans in a format.
    fn render(&self, format: PlanFormat, which: Shown, typed: &Typed, terminal: &Terminal) -> String {
        let line = typed.line();
        let placed = || PlacedPlan::all(self.plans, self.manifests, self.places);
        let document = |format: Format| {
            let shown = self.plans.iter().map(|plan| plan.to_value_for(&line));
            format.render(&Value::object([("plans", Value::array(shown))]))
        };
        match format {
            PlanFormat::Text => {
                let shown = plan_text::all(self.plans.iter(), which, typed, terminal);
                let gone = self.gone.iter().map(|name| {
                    format!("{name}: not in the manifests any more; an apply does not delete it\n")
                });
                format!("{shown}{}\n{}", gone.collect::<String>(), plan_text::summary(self.plans))
            }
            PlanFormat::Json => document(Format::Json),
            PlanFormat::Yaml => document(Format::Yaml),
            PlanFormat::Markdown => plan_view::markdown(&placed(), self.gone, &line, terminal.now),
            PlanFormat::Sarif => Format::Json.render(&plan_view::sarif(&placed(), &line, terminal.now)),
            PlanFormat::Junit => plan_view::junit(&placed(), &line),
        }
    }
}

/// Prints and saves the plans, and returns the exit code.
fn show(
    review: &Review<'_>,
    options: &Options,
    typed: &Typed,
    terminal: &Terminal,
) -> Result<Outcome, Error> {
    let (plans, which) = (review.plans, options.applier.shown());
    let shown = review.render(options.output, which, typed, terminal);
    match options.output {
        PlanFormat::Text => terminal.show(&shown)?,
        _ => terminal.print(shown)?,
    }
    let plain = Terminal { paint: Paint::Plain, ..*terminal };
    for (format, file) in &options.save {
        std::fs::write(file, review.render(*format, which, typed, &plain))
            .map_err(|source| Error::Write { path: file.clone(), source })?;
    }
    let refused = plans.iter().filter(|plan| plan.action() == Action::Refused).count();
    if refused > 0 {
        return Err(Error::SomeRefused { number: refused, total: plans.len() });
    }
    Ok(plans.iter().map(|plan| plan_text::outcome(plan.action())).max().unwrap_or_default())
}
