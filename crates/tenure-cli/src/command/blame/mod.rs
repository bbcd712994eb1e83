//! `tenure blame`: an object as YAML, each line with its owners.

mod compact;
mod text;

use crate::{
    Error, Outcome,
    connection::Connection,
    document::{Document, Files},
    handover::check_managers,
    history_source::HistorySource,
    moment::moment,
    past::Past,
    targets::Targets,
    terminal::{Audience, Format, Terminal},
    types::SchemaFiles,
};
use clap::Args;
use std::collections::BTreeSet;
use tenure_ownership::{Blame, LiveObject, Target, kind_word};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// Show an object with the owners of every line.
#[derive(Args)]
#[command(after_help = "\
On a terminal a header lists the managers, and the names of owners stand before the lines, once for lines with the same owners. In a \
pipe, and with --full, every line has its owner in front: manager, operation (with the subresource that it wrote through) and age; \
further owners of a line follow below it, marked with &, and a line without an owner, such as a default, is marked (unowned).

After the object may come fields, in any notation: only they are shown.

Examples:
  tenure blame deployment/web
  tenure blame deployment/web .spec.template --fold
  tenure blame pods -l app=web --all-namespaces
  tenure blame deployment/web --at 10m
  kubectl get deployment web -o yaml --show-managed-fields | tenure blame -f -
  tenure blame -f deployment.yaml --manager kubectl --output json")]
pub struct Options {
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    files: Files,
    /// Show the object as it was at a revision or a time, such as 10m, yesterday or 2026-01-02T03:04:05Z; it may have been deleted since.
    #[arg(long, value_name = "REVISION|TIME", conflicts_with = "files")]
    at: Option<String>,
    /// Show only the fields of this manager; may be repeated.
    #[arg(long = "manager", value_name = "NAME")]
    managers: Vec<String>,
    /// Fold what one manager owns into one line.
    #[arg(long)]
    fold: bool,
    /// Show the owner of every line in full, as in a pipe.
    #[arg(long, conflicts_with = "compact")]
    full: bool,
    /// Show owners once for lines with the same owners, as on a terminal.
    #[arg(long)]
    compact: bool,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    schemas: SchemaFiles,
    #[command(flatten)]
    history: HistorySource,
    #[command(flatten)]
    connection: Connection,
}

/// An object and its type.
struct Subject {
    live: LiveObject,
    target: Target,
    ty: TypeRef<'static>,
}

/// Shows the owners of every line.
pub fn run(mut options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let fields = options.targets.take_fields();
    let subjects = match (options.files.is_empty(), options.targets.is_empty()) {
        (true, true) => {
            return Err(Error::usage("nothing to show; name an object as KIND/NAME, or a file with -f FILE"));
        }
        (false, false) => return Err(Error::usage("name either objects of a server or files, not both")),
        (false, true) => from_files(&options)?,
        (true, false) => from_server(&options, terminal)?,
    };
    let lives = || subjects.iter().map(|subject| &subject.live);
    check_managers(&options.managers, lives())?;
    let all: BTreeSet<&str> =
        lives().flat_map(|live| live.managers.iter().map(|one| one.name.as_str())).collect();
    for name in options.managers.iter().filter(|name| !all.contains(name.as_str())) {
        let all = all.iter().copied().collect::<Vec<_>>().join(", ");
        terminal.note(format_args!("{name:?} owns no field; the managers are {all}"));
    }
    let mut blames = Vec::with_capacity(subjects.len());
    for Subject { live, target, ty } in &subjects {
        let paths = fields.iter().map(|text| live.field(text, *ty)).collect::<Result<Vec<_>, _>>()?;
        let blame = Blame::of(live, *ty).below(&paths, live, *ty).only(&options.managers);
        blames.push((target, if options.fold { blame.folded() } else { blame }));
    }
    match options.output {
        Format::Text => {
            let is_compact = !options.full && (options.compact || terminal.audience == Audience::Person);
            let texts = blames.iter().map(|(target, blame)| match is_compact {
                true => compact::text(target, blame, terminal),
                false => text::text(blame, terminal),
            });
            let texts: Vec<String> = texts.collect();
            terminal.show(&texts.join(if is_compact { "\n" } else { "---\n" }))?;
        }
        format => match blames.as_slice() {
            [(_, one)] => terminal.print_value(&one.to_value(), format)?,
            several => terminal
                .print_value(&Value::array(several.iter().map(|(_, blame)| blame.to_value())), format)?,
        },
    }
    Ok(Outcome::Done)
}

fn from_files(options: &Options) -> Result<Vec<Subject>, Error> {
    let types = options.schemas.types()?;
    let documents = options.files.read()?;
    let subject = |document: &Document| -> Result<Subject, Error> {
        let (api_version, kind) = document.kind()?;
        let ty = types.of(api_version, kind).unwrap_or_else(TypeRef::untyped);
        let live =
            LiveObject::read(&document.value).map_err(|error| Error::document(&document.place, error))?;
        if live.managers.is_empty() {
            return Err(Error::document(
                &document.place,
                "metadata.managedFields is missing; get the object with `kubectl get -o yaml --show-managed-fields`",
            ));
        }
        let target = Target::of(&live, kind_word(api_version, kind));
        Ok(Subject { live, target, ty })
    };
    documents.iter().map(subject).collect()
}

fn from_server(options: &Options, terminal: &Terminal) -> Result<Vec<Subject>, Error> {
    options.history.run(&options.connection, async |cluster| {
        let mut subjects = Vec::new();
        if let Some(at) = &options.at {
            let at = moment(at, terminal.now)?;
            for word in &options.targets.words {
                let past = Past::of(&cluster, word).await?;
                let (live, ty) = (past.at(&cluster, &at).await?, past.type_of(&cluster).await?);
                let target = Target::of(&live, past.resource.word());
                subjects.push(Subject { live, target, ty });
            }
            return Ok(subjects);
        }
        let found = options.targets.read(&cluster).await?;
        if found.is_empty() {
            terminal.note("no object is selected");
        }
        for found in found {
            let live = found.read()?;
            let ty = cluster.type_of(live.api_version(), live.kind()).await?;
            subjects.push(Subject { live, target: found.target(), ty });
        }
        Ok(subjects)
    })
}
