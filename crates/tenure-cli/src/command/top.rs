//! `tenure top writers`: who writes most, whose writes change nothing, which fields change most.

use crate::{
    Error, Outcome,
    connection::Connection,
    history_source::HistorySource,
    past::text,
    terminal::{Format, Terminal, table},
};
use clap::{Args, ValueEnum};
use tenure_value::Value;

/// Show which managers write most, and which fields change most.
#[derive(Args)]
#[command(after_help = "\
The counts are of one server since it started. NOOPS are writes that changed nothing; many of them are load without a
purpose. A recorder does not see them.

Examples:
  tenure top
  tenure top writers --limit 50 --output json")]
pub struct Options {
    /// What to show.
    #[arg(value_enum, value_name = "WHAT", default_value_t)]
    what: What,
    /// How many managers and fields to show.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    history: HistorySource,
    #[command(flatten)]
    connection: Connection,
}

/// What can be shown.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum What {
    /// Managers and fields.
    #[default]
    Writers,
}

/// Shows the counts.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let What::Writers = options.what;
    let path = format!("/history/writers?limit={}", options.limit);
    let found = options.history.run(&options.connection, async |cluster| {
        Ok(cluster.history(&path).await?.success("read", "the writers")?)
    })?;
    if options.output != Format::Text {
        terminal.print_value(&found, options.output)?;
        return Ok(Outcome::Done);
    }
    let list = |name: &str| found.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let number =
        |item: &Value, name: &str| item.get(name).and_then(Value::as_i64).unwrap_or_default().to_string();
    let writers: Vec<[String; 3]> = list("writers")
        .iter()
        .map(|item| {
            let manager = text(item, "manager");
            let manager = if manager.is_empty() { "(the server itself)" } else { manager };
            [number(item, "changes"), number(item, "noops"), manager.to_owned()]
        })
        .collect();
    let fields: Vec<[String; 4]> = list("fields")
        .iter()
        .map(|item| {
            [
                number(item, "changes"),
                text(item, "manager").into(),
                text(item, "resource").into(),
                text(item, "path").into(),
            ]
        })
        .collect();
    // A recorder does not see writes that change nothing.
    let writers = match writers.iter().all(|[_, noops, _]| noops == "0") {
        false => table(["CHANGES", "NOOPS", "MANAGER"], &writers, terminal),
        true => {
            let without: Vec<[String; 2]> =
                writers.into_iter().map(|[changes, _, manager]| [changes, manager]).collect();
            table(["CHANGES", "MANAGER"], &without, terminal)
        }
    };
    let fields = table(["CHANGES", "LAST MANAGER", "RESOURCE", "FIELD"], &fields, terminal);
    terminal.show(&format!("{writers}\n{fields}"))?;
    Ok(Outcome::Done)
}
