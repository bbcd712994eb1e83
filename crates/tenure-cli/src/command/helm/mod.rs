//! `tenure helm`: Helm releases and field ownership. Each subcommand is a file; `release.rs` reads what Helm stores, `rendered.rs` prepares
//! rendered objects as Helm sends them.

mod chart;
mod check;
mod post_render;
mod release;
mod rendered;

use crate::{Error, Outcome, terminal::Terminal};
use clap::{Args, Subcommand};

/// Check what the next `helm upgrade` will meet, and settle it without --force-conflicts.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tenure helm check web -n shop
  tenure helm check web -n shop --chart ./chart --fix
  helm template web ./chart | tenure helm check web -n shop -f -")]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one, on the stack of main")]
enum Command {
    Check(check::Options),
    PostRender(post_render::Options),
}

/// The field manager of Helm.
const MANAGER: &str = "helm";

/// Runs a subcommand.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    match options.command {
        Command::Check(options) => check::run(options, terminal),
        Command::PostRender(options) => post_render::run(options, terminal),
    }
}
