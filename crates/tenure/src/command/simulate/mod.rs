//! `tenure simulate`: one manifest and one live object through four ways of writing, side by side. What each way makes
//! of the object is asked of the API itself, in this process ([`world`], [`ways`]); [`table`] finds what differs and
//! [`render`] shows it.

mod render;
mod table;
mod ways;
mod world;

use crate::{
    Error, Outcome,
    cluster::{Connection, escaped},
    document::{self, Document, Place},
    terminal::{Format, Terminal},
    types::{SchemaFiles, Types},
};
use clap::Args;
use std::path::PathBuf;
use table::Table;
use tenure_value::Value;
use ways::{Ending, Write};
use world::World;

/// Show what four ways of writing make of a manifest and a live object.
#[derive(Args)]
#[command(after_help = "\
The ways are client-side apply (kubectl apply), the manifest sent as a strategic merge patch and as a JSON merge patch
(kubectl patch), and server-side apply (kubectl apply --server-side). Each is carried out by the rules of the API,
defaults and validation included, and nothing is written anywhere. Places in which the ways end differently are marked
with *. The exit code is 0 where all four end the same and 2 where they do not.

Without a live object in a file the server is asked for it. Server-side apply goes by who holds what, so get it with its
managed fields:
  kubectl get deployment web -o yaml --show-managed-fields > live.yaml

Examples:
  tenure simulate manifest.yaml
  tenure simulate manifest.yaml live.yaml
  tenure simulate manifest.yaml live.yaml --manager ci --force
  tenure simulate widget.yaml live.yaml --schema widget-crd.yaml --output json")]
pub struct Options {
    /// The manifest.
    manifest: PathBuf,
    /// The live object; the server of the kubeconfig is asked where nothing is said.
    live: Option<PathBuf>,
    /// The manager that applies from the server's side.
    #[arg(long, value_name = "NAME", default_value = "kubectl")]
    manager: String,
    /// Let server-side apply take what others hold.
    #[arg(long)]
    force: bool,
    /// How to write the result.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    schemas: SchemaFiles,
    #[command(flatten)]
    connection: Connection,
}

/// Prints what differs.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let manifest = document::read_one(&options.manifest)?;
    let mut definitions = Vec::new();
    for file in &options.schemas.schema_files {
        definitions.extend(document::read(file)?);
    }
    let mut types = options.schemas.types()?;
    let live = match &options.live {
        Some(file) => document::read_one(file)?,
        None => {
            let (live, definition) = ask(&options.connection, &manifest, &types)?;
            if let Some(definition) = definition {
                types.add(&definition)?;
                definitions.push(definition);
            }
            live
        }
    };
    check_same(&manifest, &live)?;
    let (api_version, kind) = live.kind()?;
    let ty = types.of(api_version, kind).ok_or_else(|| {
        Error::document(&live.place, format!("{api_version} {kind} is unknown; give its definition with --schema FILE"))
    })?;
    let world = World::with(&definitions)?;
    let settled = world.settle(&live)?;
    if live.value.at(["metadata", "managedFields"]).is_none() {
        terminal.note(format_args!(
            "{}: there are no managed fields, so server-side apply finds one manager for all that lives; get the \
             object with --show-managed-fields",
            live.place
        ));
    }
    let write = Write {
        world: &world,
        manifest: &manifest,
        live: &settled,
        ty,
        manager: &options.manager,
        force: options.force,
    };
    let endings = write.all()?;
    let table = Table::of(&settled.shown, &endings, ty);
    match options.output {
        Format::Text => terminal.print(render::render(&table, &endings, kind, terminal))?,
        format => terminal.print_value(&to_value(&table, &endings), format)?,
    }
    Ok(if table.ways_differ() { Outcome::Changes } else { Outcome::Done })
}

/// Asks the server for the live object and, where its kind is unknown here, for its definition.
fn ask(connection: &Connection, manifest: &Document, types: &Types) -> Result<(Document, Option<Document>), Error> {
    let (api_version, kind) = manifest.kind()?;
    let name = manifest.name()?;
    connection.run(async |cluster| {
        let served = cluster.kind_of(api_version, kind).await?;
        let served = served.ok_or_else(|| {
            Error::document(&manifest.place, format!("the server does not know {api_version} {kind}"))
        })?;
        let path = served.path(manifest.namespace().unwrap_or(&cluster.namespace), name);
        let read = |path: String, value| Document { value, place: Place::of(path.as_ref()) };
        let live = read(path.clone(), cluster.get(&path).await?);
        if types.of(api_version, kind).is_some() {
            return Ok((live, None));
        }
        let definition = format!("{}.{}", served.plural, served.group);
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}", escaped(&definition));
        let definition = read(path.clone(), cluster.get(&path).await?);
        Ok((live, Some(definition)))
    })
}

/// Checks that manifest and live object are the same object.
fn check_same(manifest: &Document, live: &Document) -> Result<(), Error> {
    let (wanted, found) = (manifest.kind()?, live.kind()?);
    if wanted != found {
        return Err(Error::document(
            &live.place,
            format!("it is {} {}, and the manifest is {} {}; give the same kind and version of both", found.0, found.1, wanted.0, wanted.1),
        ));
    }
    if manifest.name()? != live.name()? {
        return Err(Error::document(
            &live.place,
            format!("it is named {:?}, and the manifest {:?}; give the same object", live.name()?, manifest.name()?),
        ));
    }
    Ok(())
}

fn to_value(table: &Table, endings: &[Ending]) -> Value {
    let ending = |ending: &Ending| {
        let told = match &ending.result {
            Ok(object) => ("object", object.clone()),
            Err(refusal) => ("refused", refusal.to_value()),
        };
        Value::object([("way", Value::from(ending.way.name())), told])
    };
    Value::object([
        ("ways", Value::array(endings.iter().map(ending))),
        ("differences", table.to_value()),
        ("same", Value::from(!table.ways_differ())),
    ])
}
