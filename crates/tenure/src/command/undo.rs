//! `tenure undo`: reverts a change of ownership, from the file that it wrote.

use crate::{Error, Outcome, connection::Connection, document, terminal::Terminal};
use clap::Args;
use std::path::PathBuf;
use tenure_client::Rebase;
use tenure_ownership::handover::read_undo_file;

/// Revert an adopt, transfer, release or migrate.
#[derive(Args)]
#[command(after_help = "\
An object that was written since is left alone. With --rebase the step is reverted on the object as it is now: every
manager gets back the fields that the step took from it and gives up those that it gained, removed values return where
nothing has taken their place, and everything else stays.

Examples:
  tenure undo tenure-undo-20261115T020000Z.json
  tenure undo tenure-undo-20261115T020000Z.json --rebase")]
pub struct Options {
    /// The undo file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Revert the step even if the object was written since, and keep the later changes.
    #[arg(long)]
    rebase: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Reverts the steps of a file, the last first.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let document = document::read_one(&options.file)?;
    let undos = read_undo_file(&document.value).map_err(|error| Error::document(&document.place, error))?;
    let rebase = if options.rebase { Rebase::Yes } else { Rebase::No };
    options.connection.run(async |cluster| {
        for undo in undos.iter().rev() {
            let what = tenure_client::undo(undo, rebase, &cluster).await?;
            terminal.print(format!("{what}: restored\n"))?;
        }
        Ok(Outcome::Done)
    })
}
