//! `tenure fields decode`: managed fields as text: each manager, and the paths that it owns.

use super::input::Input;
use crate::{
    Error, Outcome,
    place::Place,
    terminal::{Format, Ink, Terminal},
};
use clap::Args;
use std::{fmt::Write, path::PathBuf};
use tenure_fields::{FieldSet, compact::ManagerRecord, fields_v1};
use tenure_value::Value;

/// Show managed fields, in any encoding, as the paths that each manager owns.
#[derive(Args)]
#[command(after_help = "\
With --output json or yaml the result is managedFields, or one FieldsV1, as in the API.

Examples:
  tenure fields decode deployment.yaml
  tenure fields decode managers.bin --manager kubectl
  echo '[4,\"spec\",[0,\"replicas\"]]' | tenure fields decode --output json")]
pub struct Options {
    /// The file with managed fields, or - for standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// Show only the fields of this manager.
    #[arg(long, value_name = "NAME")]
    manager: Option<String>,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
}

/// Prints the paths.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let failed = |problem: String| Error::document(&Place::of(&options.file), problem);
    let input = Input::read(&options.file)?.only(options.manager.as_deref()).map_err(failed)?;
    match options.output {
        Format::Text => terminal.print(render(&input, terminal))?,
        format => terminal.print_value(&to_value(&input), format)?,
    }
    Ok(Outcome::Done)
}

fn to_value(input: &Input) -> Value {
    match input {
        Input::Set(set) => fields_v1::to_value(set),
        Input::Managers(records) => Value::array(records.iter().map(ManagerRecord::to_value)),
    }
}

fn render(input: &Input, terminal: &Terminal) -> String {
    let mut out = String::new();
    match input {
        Input::Set(set) => paths(set, "", &mut out),
        Input::Managers(records) => {
            for (number, record) in records.iter().enumerate() {
                let name = terminal.paint.ink(Ink::Manager(number), &record.manager);
                let _ = writeln!(out, "{name}{}", details(record));
                match &record.fields {
                    Some(fields) => paths(fields, "  ", &mut out),
                    None => out.push_str("  no fields\n"),
                }
            }
        }
    }
    out
}

/// Describes the operation, version, subresource and time of a manager, as far as they are known.
fn details(record: &ManagerRecord) -> String {
    let through =
        Some(&record.subresource).filter(|name| !name.is_empty()).map(|name| format!("through {name}"));
    let parts = [
        Some(record.operation.to_string()),
        Some(record.api_version.to_string()),
        through,
        Some(record.time.to_string()),
    ];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).map(|part| format!(", {part}")).collect()
}

fn paths(set: &FieldSet, indent: &str, out: &mut String) {
    for path in set {
        let _ = writeln!(out, "{indent}{}", path.quoted());
    }
}
