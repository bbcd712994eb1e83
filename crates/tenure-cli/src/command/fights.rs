//! `tenure fights`: managers that keep overwriting each other's fields.

use crate::{
    Error, Outcome,
    connection::Connection,
    history_source::HistorySource,
    past::text,
    terminal::{Format, Ink, Terminal, wrapped},
};
use clap::Args;
use std::fmt::Write;
use tenure_apply::Timestamp;
use tenure_ownership::owner::age;
use tenure_value::Value;

/// Show managers that keep overwriting the same field.
#[derive(Args)]
#[command(after_help = "\
A fight is a field that managers take from each other again and again, while at least one of them puts back its own value. One
manager that changes its own field, such as an autoscaler, does not fight. A fight that pauses for an hour is over. The server
also writes an Event about the object, with the reason FieldFight, and the metric tenure_field_fights.

The exit code is 2 if there are fights and 0 if there are none.

Examples:
  tenure fights
  tenure fights --output json")]
pub struct Options {
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    history: HistorySource,
    #[command(flatten)]
    connection: Connection,
}

/// Shows the fights.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let found = options.history.run(&options.connection, async |cluster| {
        Ok(cluster.history("/history/fights").await?.success("read", "the fights")?)
    })?;
    let items = found.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    match options.output {
        Format::Text if items.is_empty() => terminal.print("No managers fight.\n")?,
        Format::Text => {
            terminal.print(items.iter().map(|fight| shown(fight, terminal)).collect::<Vec<_>>().join("\n"))?
        }
        format => terminal.print_value(&Value::array(items.iter().cloned()), format)?,
    }
    Ok(if items.is_empty() { Outcome::Done } else { Outcome::Changes })
}

fn shown(fight: &Value, terminal: &Terminal) -> String {
    let object = fight.get("object").cloned().unwrap_or_default();
    let place = match text(&object, "namespace") {
        "" => String::new(),
        namespace => format!(" in {namespace}"),
    };
    let title = format!(
        "{}/{}{place} {}",
        text(&object, "kind").to_lowercase(),
        text(&object, "name"),
        text(fight, "path")
    );
    let count = fight.get("overwrites").and_then(Value::as_i64).unwrap_or_default();
    let mut out = format!("{}\n", terminal.paint.ink(Ink::Strong, title));
    for (number, side) in
        fight.get("sides").and_then(Value::as_array).into_iter().flat_map(|sides| sides.iter().enumerate())
    {
        let value = match side.get("value").and_then(Value::as_str) {
            Some(value) => format!("sets {value}"),
            None if side.get("hidden").is_some() => "sets a value that you may not read".to_owned(),
            None => "removes it".to_owned(),
        };
        let times = side.get("overwrites").and_then(Value::as_i64).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "  {} {value}, {times} times",
            terminal.paint.ink(Ink::Manager(number), text(side, "manager"))
        );
    }
    let [since, last] = ["since", "last"].map(|name| Timestamp::parse(text(fight, name)));
    let (lasted, ago) = (age(since, last.unwrap_or(terminal.now)), age(last, terminal.now));
    let _ = writeln!(out, "  {count} overwrites in {lasted}, the last {ago} ago");
    for line in wrapped(&format!("{}.", text(fight, "advice")), terminal.width.saturating_sub(2)) {
        let _ = writeln!(out, "  {line}");
    }
    out
}
