//! `tenure transfer`: single fields change hands, and keep their values.

use super::adopt::{is_one_of, version_of_heir};
use crate::{
    Error, Outcome,
    cluster::{Connection, Targets},
    handover::{Carry, Intent, carry_out},
    live::LiveObject,
    terminal::Terminal,
};
use clap::Args;
use tenure_apply::{Identity, Manager, Operation, transfer};
use tenure_fields::Path;
use tenure_schema::TypeRef;

/// Move single fields from one manager to another, values untouched.
#[derive(Args)]
#[command(after_help = "\
Without --from the fields are taken from everyone who holds them. Paths are written as conflicts name them; a path takes
all below it.

The step is shown before it is taken (or only shown, with --dry-run), is refused if the object changes in between, and
leaves a file with which `tenure undo` takes it back.

Examples:
  tenure transfer deployment/web --path .spec.replicas --to autoscaler
  tenure transfer deployment/web --path '.spec.template.spec.containers[name=\"web\"].image' --from kubectl --to ci")]
pub struct Options {
    #[command(flatten)]
    targets: Targets,
    /// A field to move, with all below it; may be repeated.
    #[arg(long = "path", value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// A manager to take from; may be repeated.
    #[arg(long, value_name = "MANAGER")]
    from: Vec<String>,
    /// The manager that takes over.
    #[arg(long, value_name = "MANAGER", required = true)]
    to: String,
    #[command(flatten)]
    carry: Carry,
    #[command(flatten)]
    connection: Connection,
}

/// Moves ownership of single fields.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    if options.targets.is_empty() {
        return Err(Error::usage("nothing to transfer; name an object as KIND/NAME"));
    }
    options.connection.run(async |cluster| {
        let found = cluster.objects(&options.targets).await?;
        carry_out(found, &cluster, &options.carry, terminal, |live, ty| intent(&options, live, ty, terminal)).await
    })
}

fn intent(
    options: &Options,
    live: &LiveObject,
    ty: TypeRef<'static>,
    terminal: &Terminal,
) -> Result<Intent, Error> {
    let paths = paths(&options.paths, live, ty)?;
    let meant = |manager: &Manager| {
        (options.from.is_empty() || is_one_of(manager, &options.from)) && holds(manager, &paths)
    };
    demand_holder(live, &options.paths, &meant)?;
    let version = version_of_heir(live, &options.to, meant);
    let heir = Identity { name: &options.to, operation: Operation::Apply, api_version: &version, subresource: "" };
    let adoption = transfer(&live.managers, &paths, &heir, terminal.now, meant);
    let notes = adoption.left.iter().map(|manager| {
        format!("{} keeps them: it names its fields at {}, not {version}", manager.name, manager.api_version)
    });
    Ok(Intent { notes: notes.collect(), managers: adoption.managers, removed: Vec::new() })
}

/// Reads paths as they are meant in an object.
pub fn paths(texts: &[String], live: &LiveObject, ty: TypeRef<'_>) -> Result<Vec<Path>, Error> {
    let read = |text: &String| {
        Path::parse_in(text, ty, Some(&live.object)).map_err(|error| Error::usage(format!("--path {text}: {error}")))
    };
    texts.iter().map(read).collect()
}

/// Whether a manager holds anything at or below paths.
pub fn holds(manager: &Manager, paths: &[Path]) -> bool {
    paths.iter().any(|path| !manager.fields.with_prefix(path).is_empty())
}

/// Says so where nobody who is meant holds the paths.
pub fn demand_holder(live: &LiveObject, texts: &[String], meant: &impl Fn(&Manager) -> bool) -> Result<(), Error> {
    if live.managers.iter().any(meant) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "nobody who is meant holds {} of {}; `tenure blame` shows who holds what",
        texts.join(", "),
        live.name()
    )))
}
