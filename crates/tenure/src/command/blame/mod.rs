//! `tenure blame`: an object as YAML, each line with those who hold it. What is shown is [`sheet::Sheet`]; how it
//! looks is [`gutter`]'s business.

mod gutter;
mod sheet;

use crate::{
    Error, Outcome,
    cluster::{Connection, Targets},
    document::{Document, Files},
    live::LiveObject,
    terminal::{Format, Terminal},
    types::SchemaFiles,
};
use clap::Args;
use sheet::Sheet;
use tenure_schema::TypeRef;
use tenure_value::Value;

/// Show an object with the holders of every line.
#[derive(Args)]
#[command(after_help = "\
Each line of the object stands behind those who hold it: manager, operation (with the subresource they wrote
through) and age. Further holders of the same line follow under it, marked with &; a line that nobody holds, such
as one the server filled in, says so.

Examples:
  tenure blame deployment/web
  tenure blame pods -l app=web --all-namespaces
  tenure blame -f deployment.yaml
  kubectl get deployment web -o yaml --show-managed-fields | tenure blame -f -
  tenure blame -f deployment.yaml --manager kubectl --output json")]
pub struct Options {
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    files: Files,
    /// Show only what this manager holds; may be repeated.
    #[arg(long = "manager", value_name = "NAME")]
    managers: Vec<String>,
    /// How to write the result.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    schemas: SchemaFiles,
    #[command(flatten)]
    connection: Connection,
}

/// Shows who holds every line.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let sheets = match (options.files.files.is_empty(), options.targets.is_empty()) {
        (true, true) => return Err(Error::usage("nothing to show; name an object as KIND/NAME, or a file with -f FILE")),
        (false, false) => return Err(Error::usage("name objects of a server or files, not both")),
        (false, true) => from_files(&options)?,
        (true, false) => from_server(&options)?,
    };
    let sheets: Vec<Sheet> = sheets.into_iter().map(|sheet| sheet.only(&options.managers)).collect();
    match options.output {
        Format::Text => {
            for (at, sheet) in sheets.iter().enumerate() {
                if at > 0 {
                    terminal.print("---\n")?;
                }
                terminal.print(gutter::render(sheet, terminal))?;
            }
        }
        format => match sheets.as_slice() {
            [one] => terminal.print_value(&one.to_value(), format)?,
            several => terminal.print_value(&Value::array(several.iter().map(Sheet::to_value)), format)?,
        },
    }
    Ok(Outcome::Done)
}

fn from_files(options: &Options) -> Result<Vec<Sheet>, Error> {
    let types = options.schemas.types()?;
    let documents = options.files.read()?;
    let sheet = |document: &Document| -> Result<Sheet, Error> {
        let (api_version, kind) = document.kind()?;
        let ty = types.of(api_version, kind).unwrap_or_else(TypeRef::untyped);
        let live = LiveObject::read(&document.value).map_err(|error| Error::document(&document.place, error))?;
        if live.managers.is_empty() {
            return Err(Error::document(
                &document.place,
                "there is no metadata.managedFields; get the object with `kubectl get -o yaml --show-managed-fields`",
            ));
        }
        Ok(Sheet::of(&live, ty))
    };
    documents.iter().map(sheet).collect()
}

fn from_server(options: &Options) -> Result<Vec<Sheet>, Error> {
    options.connection.run(async |cluster| {
        let mut sheets = Vec::new();
        for found in cluster.objects(&options.targets).await? {
            let live = found.read()?;
            let ty = cluster.type_of(live.api_version(), live.kind()).await?;
            sheets.push(Sheet::of(&live, ty));
        }
        Ok(sheets)
    })
}
