//! `tenure why`: one field, its owners, how its type merges, and what each kind of write to it would do.

mod text;

use crate::{
    Error, Outcome,
    compatibility::AnswerFor,
    connection::Connection,
    document::{self, Files},
    targets::Targets,
    terminal::{Format, Terminal},
    types::SchemaFiles,
};
use clap::Args;
use std::path::Path;
use tenure_ownership::{Explanation, LiveObject, Profile, Target, kind_word};
use tenure_profile::KubernetesVersion;
use tenure_schema::TypeRef;

/// Explain one field: its owners, its type, and what each kind of write would do.
#[derive(Args)]
#[command(after_help = "\
Paths are written as in conflict messages: .spec.replicas, .metadata.labels.app, or
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

/// Explains a field.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let usage =
        || Error::usage("name an object and a path, such as `tenure why deployment/web .spec.replicas`");
    let (path, object) = options.words.split_last().ok_or_else(usage)?;
    let answer_for = options.answer_for;
    let Subject { live, target, ty, profile } = match options.files.files.as_slice() {
        [] if object.is_empty() => return Err(usage()),
        [] => from_server(object, &options.connection, answer_for, options.schemas.kubernetes_version)?,
        [file] if object.is_empty() => from_file(file, &options.schemas, answer_for)?,
        _ => return Err(Error::usage("name one object of a server or one file, not both")),
    };
    let explanation = Explanation::of(&live, target, path, ty, profile, terminal.now)?;
    match options.output {
        Format::Text => terminal.print(text::text(&explanation, terminal))?,
        format => terminal.print_value(&explanation.to_value(), format)?,
    }
    Ok(Outcome::Done)
}

/// The object of the field, and the server that would write it.
struct Subject {
    live: LiveObject,
    target: Target,
    ty: TypeRef<'static>,
    profile: Profile,
}

fn from_server(
    words: &[String],
    connection: &Connection,
    answer_for: AnswerFor,
    version: Option<KubernetesVersion>,
) -> Result<Subject, Error> {
    let targets = Targets { words: words.to_vec(), ..Targets::default() };
    connection.run(async |cluster| {
        let found = targets.read(&cluster).await?;
        let [found] = found.as_slice() else {
            return Err(Error::usage("name one object, as KIND/NAME"));
        };
        let live = found.read()?;
        let ty = cluster.type_of(live.api_version(), live.kind()).await?;
        let target = Target::of(&live, found.resource.word());
        let profile = answer_for.server(&cluster, version).await?;
        Ok(Subject { live, target, ty, profile })
    })
}

fn from_file(file: &Path, schemas: &SchemaFiles, answer_for: AnswerFor) -> Result<Subject, Error> {
    let document = document::read_one(file)?;
    let (api_version, kind) = document.kind()?;
    let ty = schemas.types()?.of(api_version, kind).unwrap_or_else(TypeRef::untyped);
    let live = LiveObject::read(&document.value).map_err(|error| Error::document(&document.place, error))?;
    let target = Target::of(&live, kind_word(api_version, kind));
    Ok(Subject { live, target, ty, profile: answer_for.offline(schemas.kubernetes_version) })
}
