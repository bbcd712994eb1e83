//! `tenure restore`: brings back a deleted object, with the owners of its fields.

use crate::{
    Error, Outcome,
    connection::Connection,
    history_source::HistorySource,
    moment::moment,
    past::Past,
    terminal::{Format, Terminal},
};
use clap::Args;
use tenure_client::Restored;

/// Bring back a deleted object with its owners.
#[derive(Args)]
#[command(after_help = "\
The object is created as it was when it was deleted, or at --at, and every manager owns again what it owned. Its status is left
to the controllers, and references to owners that no longer exist are left out. A Secret can only be restored if its values
were kept (`tenure serve --history-secret-values`, `tenure record --secret-values`).

Examples:
  tenure restore deployment/web
  tenure restore deployment/web --at 2026-01-02T03:04:05Z
  tenure restore configmap/settings --dry-run")]
pub struct Options {
    /// The object, as KIND/NAME.
    #[arg(value_name = "KIND/NAME")]
    object: String,
    /// The version to restore, by a revision or a time [default: the last one].
    #[arg(long, value_name = "REVISION|TIME")]
    at: Option<String>,
    /// Only show what would be created.
    #[arg(long)]
    dry_run: bool,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    history: HistorySource,
    #[command(flatten)]
    connection: Connection,
}

/// Restores an object.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let at = options.at.as_deref().map(|at| moment(at, terminal.now)).transpose()?;
    options.history.run(&options.connection, async |cluster| {
        let past = Past::of(&cluster, &options.object).await?;
        let what = past.what();
        let restored = Restored::find(past, at.as_deref(), &cluster).await?;
        restored.notes.iter().for_each(|note| terminal.note(note));
        if options.dry_run {
            terminal.print_value(&restored.object, options.output)?;
            return Ok(Outcome::Done);
        }
        let revision = restored.carry_out(&cluster).await?;
        match options.output {
            Format::Text => terminal.print(format!("{what} restored as it was at revision {revision}\n"))?,
            format => terminal.print_value(&restored.object, format)?,
        }
        Ok(Outcome::Done)
    })
}
