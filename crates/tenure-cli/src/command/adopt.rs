//! `tenure adopt`: moves all fields of some managers to one manager.

use super::plan::DEFAULT_MANAGER;
use crate::{
    Error, Outcome,
    connection::Connection,
    handover::{HandoverFlags, carry_out},
    targets::Targets,
    terminal::Terminal,
};
use clap::Args;
use tenure_ownership::handover;

/// Move all fields of some managers to another manager.
#[derive(Args)]
#[command(after_help = "\
Values do not change. The new manager owns the fields as if it had applied them: a field that it leaves out of a later
apply is removed.

The change is shown first (--dry-run only shows it), is refused if the object changes in between, and `tenure undo` reverts
it.

Examples:
  tenure adopt deployment/web --from helm --from kubectl-edit --to kubectl
  tenure adopt deployments -l app=web --from old-ci --to ci --dry-run")]
pub struct Options {
    #[command(flatten)]
    targets: Targets,
    /// A manager to take fields from; may be repeated.
    #[arg(long, value_name = "MANAGER", required = true)]
    from: Vec<String>,
    /// The new owner.
    #[arg(long, value_name = "MANAGER", default_value = DEFAULT_MANAGER)]
    to: String,
    #[command(flatten)]
    flags: HandoverFlags,
    #[command(flatten)]
    connection: Connection,
}

/// Moves ownership.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    if options.targets.is_empty() {
        return Err(Error::usage("nothing to adopt; name an object as KIND/NAME"));
    }
    let title = format!("adopt the fields of {} as {}", options.from.join(", "), options.to);
    options.connection.run(async |cluster| {
        let found = options.targets.read(&cluster).await?;
        carry_out(found, &cluster, &options.flags, terminal, (&title, &options.from), |live, _| {
            Ok(handover::adopt(live, &options.from, &options.to, terminal.now))
        })
        .await
    })
}
