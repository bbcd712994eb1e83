//! `tenure undo`: takes back what moved ownership, from the file that it left.

use crate::{Error, Outcome, cluster::Connection, document, handover::take_back, terminal::Terminal};
use clap::Args;
use std::path::PathBuf;

/// Take back a step of adopt, transfer, release or migrate.
#[derive(Args)]
#[command(after_help = "\
An object that has changed since is left alone, and said so.

Examples:
  tenure undo tenure-undo-20261115T020000Z.json")]
pub struct Options {
    /// The file that the step left.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    connection: Connection,
}

/// Takes a step back.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let document = document::read_one(&options.file)?;
    options.connection.run(async |cluster| take_back(&document, &cluster, terminal).await)
}
