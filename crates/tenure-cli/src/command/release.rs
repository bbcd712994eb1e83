//! `tenure release`: managers give up single fields, which are removed or kept.

use crate::{
    Error, Outcome,
    connection::Connection,
    handover::{HandoverFlags, carry_out},
    targets::Targets,
    terminal::Terminal,
};
use clap::Args;
use tenure_ownership::handover::{self, Values};

/// Give up single fields, with or without their values.
#[derive(Args)]
#[command(after_help = "\
A field without a further owner is removed, as if its manager had left it out of an apply. With --keep-value it keeps its
value and has no owner: the next writer, such as an autoscaler, takes it without a conflict, and it is not reset to its
default in between.

The change is shown first (--dry-run only shows it), is refused if the object changes in between, and `tenure undo` reverts
it.

Examples:
  tenure release deployment/web --path .spec.replicas --keep-value
  tenure release configmap/settings --path .data.debug --manager kubectl")]
pub struct Options {
    #[command(flatten)]
    targets: Targets,
    /// A field to give up, with everything below it; may be repeated.
    #[arg(long = "path", value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// A manager that gives up the fields [default: all owners]; may be repeated.
    #[arg(long = "manager", value_name = "MANAGER")]
    managers: Vec<String>,
    /// Keep the values.
    #[arg(long)]
    keep_value: bool,
    #[command(flatten)]
    flags: HandoverFlags,
    #[command(flatten)]
    connection: Connection,
}

/// Gives up fields.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    if options.targets.is_empty() {
        return Err(Error::usage("nothing to release; name an object as KIND/NAME"));
    }
    let values = if options.keep_value { Values::Keep } else { Values::Remove };
    let title = format!("release {}", options.paths.join(", "));
    options.connection.run(async |cluster| {
        let found = options.targets.read(&cluster).await?;
        carry_out(found, &cluster, &options.flags, terminal, (&title, &options.managers), |live, ty| {
            handover::release(live, ty, &options.paths, &options.managers, values)
        })
        .await
    })
}
