//! `tenure transfer`: moves single fields to another manager.

use crate::{
    Error, Outcome,
    connection::Connection,
    handover::{HandoverFlags, carry_out},
    targets::Targets,
    terminal::Terminal,
};
use clap::Args;
use tenure_ownership::handover;

/// Move single fields to another manager.
#[derive(Args)]
#[command(after_help = "\
Values do not change. Without --from the fields are taken from all their owners. Paths are written as in conflict
messages; a path includes everything below it.

The change is shown first (--dry-run only shows it), is refused if the object changes in between, and `tenure undo` reverts
it.

Examples:
  tenure transfer deployment/web --path .spec.replicas --to autoscaler
  tenure transfer deployment/web --path '.spec.template.spec.containers[name=\"web\"].image' \\
    --from kubectl --to ci")]
pub struct Options {
    #[command(flatten)]
    targets: Targets,
    /// A field to move, with everything below it; may be repeated.
    #[arg(long = "path", value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// A manager to take the fields from; may be repeated.
    #[arg(long, value_name = "MANAGER")]
    from: Vec<String>,
    /// The new owner.
    #[arg(long, value_name = "MANAGER", required = true)]
    to: String,
    #[command(flatten)]
    flags: HandoverFlags,
    #[command(flatten)]
    connection: Connection,
}

/// Moves ownership of single fields.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    if options.targets.is_empty() {
        return Err(Error::usage("nothing to transfer; name an object as KIND/NAME"));
    }
    let title = format!("transfer {} to {}", options.paths.join(", "), options.to);
    options.connection.run(async |cluster| {
        let found = options.targets.read(&cluster).await?;
        carry_out(found, &cluster, &options.flags, terminal, (&title, &options.from), |live, ty| {
            handover::transfer(live, ty, &options.paths, &options.from, &options.to, terminal.now)
        })
        .await
    })
}
