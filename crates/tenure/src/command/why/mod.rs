//! `tenure why`: one field, who holds it, how its type merges, and what each kind of write to it would do.

mod answer;
mod rule;

use crate::{
    Error, Outcome,
    cluster::Connection,
    document::{self, Files},
    live::LiveObject,
    plan::{Target, word},
    terminal::{Format, Terminal},
    types::SchemaFiles,
};
use answer::Answer;
use clap::Args;
use tenure_fields::Path;
use tenure_schema::TypeRef;

/// Explain one field: its holders, its type, and what each kind of write would do.
#[derive(Args)]
#[command(after_help = "\
Paths are written as conflicts name them: .spec.replicas, .metadata.labels.app, or
'.spec.template.spec.containers[name=\"web\"].image' for an entry of a keyed list.

Examples:
  tenure why deployment/web .spec.replicas
  tenure why service web '.spec.ports[port=80,protocol=\"TCP\"].targetPort'
  tenure why -f live.yaml .data.key --output json")]
pub struct Options {
    /// The object as KIND/NAME (not with -f), then the path of the field.
    #[arg(value_name = "KIND/NAME PATH", required = true, num_args = 1..=3)]
    words: Vec<String>,
    #[command(flatten)]
    files: Files,
    /// How to write the result.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    schemas: SchemaFiles,
    #[command(flatten)]
    connection: Connection,
}

/// Explains a field.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let usage = || Error::usage("name an object and a path, such as `tenure why deployment/web .spec.replicas`");
    let (path, object) = options.words.split_last().ok_or_else(usage)?;
    let (live, target, ty) = match options.files.files.as_slice() {
        [] if object.is_empty() => return Err(usage()),
        [] => from_server(object, &options.connection)?,
        [file] if object.is_empty() => from_file(file, &options.schemas)?,
        _ => return Err(Error::usage("name one object of a server or one file, not both")),
    };
    let path = Path::parse_in(path, ty, Some(&live.object)).map_err(|error| Error::usage(format!("{path}: {error}")))?;
    let answer = Answer::of(&live, target, path, ty, terminal.now);
    match options.output {
        Format::Text => terminal.print(answer.text(terminal))?,
        format => terminal.print_value(&answer.value(), format)?,
    }
    Ok(Outcome::Done)
}

type Subject = (LiveObject, Target, TypeRef<'static>);

fn from_server(words: &[String], connection: &Connection) -> Result<Subject, Error> {
    let targets = crate::cluster::Targets { words: words.to_vec(), ..Default::default() };
    connection.run(async |cluster| {
        let found = cluster.objects(&targets).await?;
        let [found] = found.as_slice() else {
            return Err(Error::usage("name one object, as KIND/NAME"));
        };
        let live = found.read()?;
        let ty = cluster.type_of(live.api_version(), live.kind()).await?;
        let target = target(&live, found.resource.word());
        Ok((live, target, ty))
    })
}

fn from_file(file: &std::path::Path, schemas: &SchemaFiles) -> Result<Subject, Error> {
    let document = document::read_one(file)?;
    let (api_version, kind) = document.kind()?;
    let ty = schemas.types()?.of(api_version, kind).unwrap_or_else(TypeRef::untyped);
    let live = LiveObject::read(&document.value).map_err(|error| Error::document(&document.place, error))?;
    let target = target(&live, word(api_version, kind));
    Ok((live, target, ty))
}

fn target(live: &LiveObject, word: String) -> Target {
    Target {
        word,
        api_version: live.api_version().to_owned(),
        kind: live.kind().to_owned(),
        namespace: live.namespace().to_owned(),
        name: live.name().to_owned(),
    }
}
