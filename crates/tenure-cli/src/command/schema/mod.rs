//! `tenure schema`: how types merge. Each subcommand is a file.

mod audit;
mod diff;
mod show;

use crate::{Error, Outcome, terminal::Terminal};
use clap::{Args, Subcommand};

/// Show how types merge, find weak merge keys, and compare versions.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tenure schema show Deployment.spec.template.spec.containers
  tenure schema audit
  tenure schema diff widget-v1.yaml widget-v2.yaml")]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Show(show::Options),
    Audit(audit::Options),
    Diff(diff::Options),
}

/// Runs a subcommand.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    match options.command {
        Command::Show(options) => show::run(options, terminal),
        Command::Audit(options) => audit::run(options, terminal),
        Command::Diff(options) => diff::run(options, terminal),
    }
}
