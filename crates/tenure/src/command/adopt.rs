//! `tenure adopt`: several managers become one, and the object is not touched.

use super::plan::MANAGER;
use crate::{
    Error, Outcome,
    cluster::{Connection, Targets},
    handover::{Carry, Intent, carry_out},
    live::LiveObject,
    terminal::Terminal,
};
use clap::Args;
use tenure_apply::{Identity, Manager, Operation, adopt};

/// Move all that some managers hold to another, in one step.
#[derive(Args)]
#[command(after_help = "\
The values are not touched. What the old managers hold is afterwards held by the new one, as if it had applied it, so
that a field it leaves out of a later apply goes.

The step is shown before it is taken (or only shown, with --dry-run), is refused if the object changes in between, and
leaves a file with which `tenure undo` takes it back.

Examples:
  tenure adopt deployment/web --from helm --from kubectl-edit --to kubectl
  tenure adopt deployments -l app=web --from old-ci --to ci --dry-run")]
pub struct Options {
    #[command(flatten)]
    targets: Targets,
    /// A manager to take from; may be repeated.
    #[arg(long, value_name = "MANAGER", required = true)]
    from: Vec<String>,
    /// The manager that takes over.
    #[arg(long, value_name = "MANAGER", default_value = MANAGER)]
    to: String,
    #[command(flatten)]
    carry: Carry,
    #[command(flatten)]
    connection: Connection,
}

/// Moves ownership.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    if options.targets.is_empty() {
        return Err(Error::usage("nothing to adopt; name an object as KIND/NAME"));
    }
    options.connection.run(async |cluster| {
        let found = cluster.objects(&options.targets).await?;
        carry_out(found, &cluster, &options.carry, terminal, |live, _| {
            let meant = |manager: &Manager| is_one_of(manager, &options.from) && manager.subresource.is_empty();
            Ok(intent(live, &options.to, terminal, meant))
        })
        .await
    })
}

/// Whether a manager is called by one of these names.
pub fn is_one_of(manager: &Manager, names: &[String]) -> bool {
    names.iter().any(|name| *name == manager.name.as_str())
}

/// Returns the version at which an heir names its fields: its own where it exists, else that of those it follows.
pub fn version_of_heir(live: &LiveObject, heir: &str, meant: impl Fn(&Manager) -> bool) -> String {
    let is_heir = |manager: &&Manager| {
        manager.name == heir && manager.operation == Operation::Apply && manager.subresource.is_empty()
    };
    let existing = live.managers.iter().find(is_heir);
    let followed = || live.managers.iter().find(|manager| meant(manager));
    existing.or_else(followed).map_or_else(|| live.api_version().to_owned(), |manager| manager.api_version.to_string())
}

/// Works out an adoption.
pub fn intent(live: &LiveObject, heir: &str, terminal: &Terminal, meant: impl Fn(&Manager) -> bool) -> Intent {
    let version = version_of_heir(live, heir, &meant);
    let identity = Identity { name: heir, operation: Operation::Apply, api_version: &version, subresource: "" };
    let adoption = adopt(&live.managers, &identity, terminal.now, meant);
    let notes = adoption.left.iter().map(|manager| {
        format!("{} stays: it names its fields at {}, not {version}", manager.name, manager.api_version)
    });
    Intent { notes: notes.collect(), managers: adoption.managers, removed: Vec::new() }
}
