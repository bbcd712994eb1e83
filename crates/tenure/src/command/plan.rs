//! `tenure plan`: what a server-side apply would do, for every object of some files. Nothing is written.

use crate::{
    Error, Outcome,
    cluster::{Connection, REQUESTS_AT_ONCE},
    document::{self, Document, Files},
    live::LiveObject,
    plan::{
        Action, Draft, Plan, Target,
        live::{Applier, Force},
        offline::{self, Base},
        render, word,
    },
    terminal::{Format, Progress, Terminal},
    types::{SchemaFiles, Types},
};
use clap::Args;
use futures::{StreamExt, TryStreamExt, stream};
use std::path::PathBuf;
use tenure_schema::TypeRef;
use tenure_value::Value;

/// The manager in whose name objects are applied where nothing else is said: that of `kubectl apply --server-side`, so
/// that either may be used without leaving a holder behind.
pub const MANAGER: &str = "kubectl";

/// Show what an apply would do, before it does it.
#[derive(Args)]
#[command(after_help = "\
For every object: which values change, who comes to hold what, which fields others hold and would have to be taken
from them, zeros that would be claimed by accident, and fields that are left out of the manifest but stay because
another manager holds them. Nothing is written.

With --live the plan is worked out from a live object in a file, without a server; defaults that a server would fill
in and its validation are not part of it then.

Exit codes: 0 nothing would change, 1 error, 2 changes, 3 conflicts.

Examples:
  tenure plan -f deployment.yaml
  tenure plan -f manifests/ -R --manager ci
  kustomize build | tenure plan -f -
  tenure plan -f deployment.yaml --live live.yaml --output json")]
pub struct Options {
    #[command(flatten)]
    files: Files,
    /// The manager in whose name to apply.
    #[arg(long, value_name = "NAME", env = "TENURE_MANAGER", default_value = MANAGER)]
    manager: String,
    /// Plan with this field, and all below it, taken from its holders; may be repeated.
    #[arg(long, value_name = "PATH")]
    force_path: Vec<String>,
    /// Plan with all contested fields taken from their holders.
    #[arg(long, conflicts_with = "force_path")]
    force_conflicts: bool,
    /// Work the plan out from live objects in this file, or - for standard input, without a server.
    #[arg(long, value_name = "FILE")]
    live: Option<PathBuf>,
    /// How to write the result.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    schemas: SchemaFiles,
    #[command(flatten)]
    connection: Connection,
}

/// Shows what would happen.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let documents = options.files.read()?;
    if documents.is_empty() {
        return Err(Error::usage("nothing to plan; name a file or directory with -f FILE, or - for standard input"));
    }
    let force = match options.force_conflicts {
        true => Force::Everything,
        false if options.force_path.is_empty() => Force::Nothing,
        false => Force::Paths(options.force_path.clone()),
    };
    let applier = Applier { manager: options.manager.clone(), force, now: terminal.now };
    let plans = match &options.live {
        Some(file) => from_file(documents, file, &options.schemas.types()?, &applier, &options.connection)?,
        None => from_server(documents, &applier, &options.connection, terminal)?,
    };
    show(&plans, options.output, terminal)
}

/// Asks a server about all objects, several at once, in the order of the files.
fn from_server(
    documents: Vec<Document>,
    applier: &Applier,
    connection: &Connection,
    terminal: &Terminal,
) -> Result<Vec<Plan>, Error> {
    connection.run(async |cluster| {
        let mut drafts = Vec::with_capacity(documents.len());
        for document in documents {
            drafts.push(Draft::of(document, &cluster).await?);
        }
        let progress = Progress::new(terminal, "planning", drafts.len());
        let (company, server, steps) = (drafts.as_slice(), &cluster, &progress);
        let plans = stream::iter(company).map(|draft| async move {
            let plan = applier.plan(draft, company, server).await;
            steps.step();
            plan
        });
        let plans = plans.buffered(REQUESTS_AT_ONCE).try_collect().await;
        progress.finish();
        plans
    })
}

/// Works out what would happen to the objects of a file.
fn from_file(
    documents: Vec<Document>,
    file: &std::path::Path,
    types: &Types,
    applier: &Applier,
    connection: &Connection,
) -> Result<Vec<Plan>, Error> {
    let mut live = Vec::new();
    for document in document::read(file)? {
        let read = LiveObject::read(&document.value);
        live.push(read.map_err(|error| Error::document(&document.place, error))?);
    }
    let mut plans = Vec::with_capacity(documents.len());
    for document in documents {
        let (api_version, kind) = document.kind()?;
        let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
        let name = document.name()?.to_owned();
        let namespace = document.namespace().or(connection.namespace()).unwrap_or_default().to_owned();
        let found = live.iter().find(|live| {
            live.kind() == kind
                && group(live.api_version()) == group(&api_version)
                && live.name() == name
                && (namespace.is_empty() || live.namespace() == namespace)
        });
        let target = Target { word: word(&api_version, &kind), api_version, kind, namespace, name };
        let ty = types.of(&target.api_version, &target.kind).unwrap_or_else(TypeRef::untyped);
        let draft = Draft { config: document.value, place: document.place, target, resource: None, ty };
        plans.push(offline::plan(&draft, &Base::new(found.cloned()), applier));
    }
    Ok(plans)
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Writes the plans and says how they end.
fn show(plans: &[Plan], format: Format, terminal: &Terminal) -> Result<Outcome, Error> {
    match format {
        Format::Text => {
            let shown: String = plans.iter().map(|plan| render::text(plan, terminal)).collect();
            terminal.print(format!("{shown}\n{}", render::summary(plans)))?;
        }
        format => {
            let shown = Value::object([("plans", Value::array(plans.iter().map(render::value)))]);
            terminal.print_value(&shown, format)?;
        }
    }
    let refused = plans.iter().filter(|plan| plan.action() == Action::Refused).count();
    if refused > 0 {
        return Err(Error::SomeRefused { number: refused, of: plans.len() });
    }
    Ok(plans.iter().map(|plan| plan.action().outcome()).max().unwrap_or_default())
}
