//! `tenure blame`: an object as YAML, each line with its owners.

mod text;

use crate::{
    Error, Outcome,
    connection::Connection,
    document::{Document, Files},
    past::Past,
    targets::Targets,
    terminal::{Format, Terminal},
    types::SchemaFiles,
};
use clap::Args;
use tenure_ownership::{Blame, LiveObject};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// Show an object with the owners of every line.
#[derive(Args)]
#[command(after_help = "\
Every line has its owner in front: manager, operation (with the subresource that it wrote through) and age. Further owners
of a line follow below it, marked with &. A line without an owner, such as a default, is marked (unowned).

Examples:
  tenure blame deployment/web
  tenure blame pods -l app=web --all-namespaces
  tenure blame deployment/web --at 2026-01-02T03:04:05Z
  tenure blame -f deployment.yaml
  kubectl get deployment web -o yaml --show-managed-fields | tenure blame -f -
  tenure blame -f deployment.yaml --manager kubectl --output json")]
pub struct Options {
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    files: Files,
    /// Show the object as it was at a revision or a time, such as 2026-01-02T03:04:05Z; it may have been deleted since.
    #[arg(long, value_name = "REVISION|TIME", conflicts_with = "files")]
    at: Option<String>,
    /// Show only the fields of this manager; may be repeated.
    #[arg(long = "manager", value_name = "NAME")]
    managers: Vec<String>,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    schemas: SchemaFiles,
    #[command(flatten)]
    connection: Connection,
}

/// Shows the owners of every line.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let blames = match (options.files.files.is_empty(), options.targets.is_empty()) {
        (true, true) => {
            return Err(Error::usage("nothing to show; name an object as KIND/NAME, or a file with -f FILE"));
        }
        (false, false) => return Err(Error::usage("name either objects of a server or files, not both")),
        (false, true) => from_files(&options)?,
        (true, false) => from_server(&options)?,
    };
    let blames: Vec<Blame> = blames.into_iter().map(|blame| blame.only(&options.managers)).collect();
    match options.output {
        Format::Text => {
            for (at, blame) in blames.iter().enumerate() {
                if at > 0 {
                    terminal.print("---\n")?;
                }
                terminal.print(text::text(blame, terminal))?;
            }
        }
        format => match blames.as_slice() {
            [one] => terminal.print_value(&one.to_value(), format)?,
            several => terminal.print_value(&Value::array(several.iter().map(Blame::to_value)), format)?,
        },
    }
    Ok(Outcome::Done)
}

fn from_files(options: &Options) -> Result<Vec<Blame>, Error> {
    let types = options.schemas.types()?;
    let documents = options.files.read()?;
    let blame = |document: &Document| -> Result<Blame, Error> {
        let (api_version, kind) = document.kind()?;
        let ty = types.of(api_version, kind).unwrap_or_else(TypeRef::untyped);
        let live = LiveObject::read(&document.value).map_err(|error| Error::document(&document.place, error))?;
        if live.managers.is_empty() {
            return Err(Error::document(
                &document.place,
                "metadata.managedFields is missing; get the object with `kubectl get -o yaml --show-managed-fields`",
            ));
        }
        Ok(Blame::of(&live, ty))
    };
    documents.iter().map(blame).collect()
}

fn from_server(options: &Options) -> Result<Vec<Blame>, Error> {
    options.connection.run(async |cluster| {
        let mut blames = Vec::new();
        if let Some(at) = &options.at {
            for word in &options.targets.words {
                let past = Past::of(&cluster, word).await?;
                let ty = past.type_of(&cluster).await?;
                blames.push(Blame::of(&past.at(&cluster, at).await?, ty));
            }
            return Ok(blames);
        }
        for found in options.targets.read(&cluster).await? {
            let live = found.read()?;
            let ty = cluster.type_of(live.api_version(), live.kind()).await?;
            blames.push(Blame::of(&live, ty));
        }
        Ok(blames)
    })
}
