//! `tenure simulate`: four ways of writing one manifest to one live object, side by side. The writes are carried out by an API
//! server in this process ([`sandbox`], [`methods`]); [`table`] compares the results and [`text`] shows them.

mod methods;
mod sandbox;
mod table;
mod text;

use crate::{
    Error, Outcome,
    compatibility::AnswerFor,
    connection::Connection,
    document::{self, Document},
    place::Place,
    terminal::{Format, Terminal},
    types::{SchemaFiles, Types},
};
use clap::Args;
use methods::{Attempt, Write};
use sandbox::Sandbox;
use std::path::PathBuf;
use table::Table;
use tenure_profile::{KubernetesVersion, Profile};
use tenure_transport::escaped;
use tenure_value::Value;

/// Compare four ways of writing a manifest to a live object.
#[derive(Args)]
#[command(after_help = "\
The four are client-side apply (kubectl apply), the manifest as a strategic merge patch and as a JSON merge patch (kubectl
patch), and server-side apply (kubectl apply --server-side). Each follows the rules of the API, with defaulting and
validation, and nothing is written to a server. Fields with different results are marked with *. The exit code is 0 if all
four have the same result and 2 otherwise.

Without a file for the live object it is read from the server, and the writes follow the rules of that server; with one, those of a
kube-apiserver. Server-side apply depends on field owners, so a file must
have the managed fields:
  kubectl get deployment web -o yaml --show-managed-fields > live.yaml

Examples:
  tenure simulate manifest.yaml
  tenure simulate manifest.yaml live.yaml
  tenure simulate manifest.yaml live.yaml --manager ci --force
  tenure simulate widget.yaml live.yaml --schema widget-crd.yaml --output json")]
pub struct Options {
    /// The manifest.
    manifest: PathBuf,
    /// The live object [default: read from the server].
    live: Option<PathBuf>,
    /// The field manager of the server-side apply.
    #[arg(long, value_name = "NAME", default_value = "kubectl")]
    manager: String,
    /// Let the server-side apply take conflicting fields.
    #[arg(long)]
    force: bool,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    schemas: SchemaFiles,
    #[command(flatten)]
    answer_for: AnswerFor,
    #[command(flatten)]
    connection: Connection,
}

/// Prints the comparison.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let manifest = document::read_one(&options.manifest)?;
    let mut definitions = Vec::new();
    for file in &options.schemas.schema_files {
        definitions.extend(document::read(file)?);
    }
    let mut types = options.schemas.types()?;
    let version = options.schemas.kubernetes_version;
    let (live, profile) = match &options.live {
        Some(file) => (document::read_one(file)?, options.answer_for.offline(version)),
        None => {
            let read = read_live(&options.connection, &manifest, &types, options.answer_for, version)?;
            if let Some(definition) = read.definition {
                types.add(&definition)?;
                definitions.push(definition);
            }
            (read.live, read.profile)
        }
    };
    let types = types.at(profile.version());
    check_same(&manifest, &live)?;
    let (api_version, kind) = live.kind()?;
    let ty = types.of(api_version, kind).ok_or_else(|| {
        Error::document(
            &live.place,
            format!("unknown kind {api_version} {kind}; give its definition with --schema FILE"),
        )
    })?;
    let sandbox = Sandbox::with(&definitions, profile)?;
    let stored = sandbox.put(&live)?;
    if live.value.at(["metadata", "managedFields"]).is_none() {
        terminal.note(format_args!(
            "{}: metadata.managedFields is missing, so server-side apply assigns all live fields to before-first-apply; get \
             the object with --show-managed-fields",
            live.place
        ));
    }
    let write = Write {
        sandbox: &sandbox,
        manifest: &manifest,
        live: &stored,
        ty,
        manager: &options.manager,
        force: options.force,
    };
    let attempts = write.all()?;
    let table = Table::of(&stored.shown, &attempts, ty);
    match options.output {
        Format::Text => terminal.print(text::text(&table, &attempts, kind, terminal))?,
        format => terminal.print_value(&to_value(&table, &attempts), format)?,
    }
    Ok(if table.differs() { Outcome::Changes } else { Outcome::Done })
}

/// What a server said.
struct ReadLive {
    live: Document,
    /// The definition of the kind, if it is not built in.
    definition: Option<Document>,
    /// What the server does better than a kube-apiserver.
    profile: Profile,
}

/// Reads the live object and, if its kind is not built in, its definition from the server.
fn read_live(
    connection: &Connection,
    manifest: &Document,
    types: &Types,
    answer_for: AnswerFor,
    version: Option<KubernetesVersion>,
) -> Result<ReadLive, Error> {
    let (api_version, kind) = manifest.kind()?;
    let name = manifest.name()?;
    connection.run(async |cluster| {
        let Some(served) = cluster.kind_of(api_version, kind).await? else {
            return Err(Error::document(&manifest.place, cluster.lacks_kind(api_version, kind).await?));
        };
        let path = served.path(manifest.namespace().unwrap_or(&cluster.namespace), name);
        let read = |path: String, value| Document { value, place: Place::of(path.as_ref()) };
        let live = read(path.clone(), cluster.get(&path).await?);
        let profile = answer_for.server(&cluster, version).await?;
        if types.of(api_version, kind).is_some() {
            return Ok(ReadLive { live, definition: None, profile });
        }
        let definition = format!("{}.{}", served.plural, served.group);
        let path =
            format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}", escaped(&definition));
        let definition = read(path.clone(), cluster.get(&path).await?);
        Ok(ReadLive { live, definition: Some(definition), profile })
    })
}

/// Checks that the manifest and the live object are the same object.
fn check_same(manifest: &Document, live: &Document) -> Result<(), Error> {
    let (wanted, found) = (manifest.kind()?, live.kind()?);
    if wanted != found {
        return Err(Error::document(
            &live.place,
            format!(
                "the live object is {} {}, and the manifest is {} {}; both must have the same kind and version",
                found.0, found.1, wanted.0, wanted.1
            ),
        ));
    }
    if manifest.name()? != live.name()? {
        return Err(Error::document(
            &live.place,
            format!(
                "the live object is named {:?}, and the manifest {:?}; both must be the same object",
                live.name()?,
                manifest.name()?
            ),
        ));
    }
    Ok(())
}

fn to_value(table: &Table, attempts: &[Attempt]) -> Value {
    let attempt = |attempt: &Attempt| {
        let result = match &attempt.result {
            Ok(object) => ("object", object.clone()),
            Err(refusal) => ("refused", refusal.to_value()),
        };
        Value::object([("method", Value::from(attempt.method.name())), result])
    };
    Value::object([
        ("methods", Value::array(attempts.iter().map(attempt))),
        ("differences", table.to_value()),
        ("same", Value::from(!table.differs())),
    ])
}
