//! `tenure fields encode`: converts managed fields to another encoding.

use super::{form, input::Input};
use crate::{
    Error, Outcome,
    place::Place,
    terminal::{Audience, Terminal},
};
use clap::Args;
use std::path::PathBuf;
use tenure_fields::compact::{Encoding, ManagerRecord, encode_object};
use tenure_value::{Value, json};

/// Convert managed fields to another encoding.
#[derive(Args)]
#[command(after_help = "\
Any form can be read: an object, the list of its managers, one set as FieldsV1, nested lists, nested lists with a string
table, binary, or binary as 0x and hexadecimal digits. The binary form contains all managers of an object; the text forms
contain one set, chosen with --manager. Binary output to a terminal is written as hexadecimal digits.

Examples:
  tenure fields encode deployment.yaml --form binary > managers.bin
  tenure fields encode managers.bin --form fields-v1
  tenure fields encode deployment.yaml --manager kubectl --form string-table")]
pub struct Options {
    /// The file with managed fields, or - for standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// The form to write: fields-v1, nested-lists, string-table or binary.
    #[arg(long, value_parser = form, value_name = "FORM", default_value = "binary")]
    form: Encoding,
    /// The manager whose fields to convert.
    #[arg(long, value_name = "NAME")]
    manager: Option<String>,
    /// Write binary output as hexadecimal digits.
    #[arg(long)]
    hex: bool,
}

/// Prints the fields in the chosen form.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let failed = |problem: String| Error::document(&Place::of(&options.file), problem);
    let input = Input::read(&options.file)?.only(options.manager.as_deref()).map_err(failed)?;
    let bytes = encode(&input, options.form).map_err(failed)?;
    let shown = options.hex || terminal.audience == Audience::Person;
    match (options.form, shown) {
        (Encoding::Binary, true) => terminal.print(format!("0x{}\n", hexadecimal(&bytes)))?,
        (Encoding::Binary, false) => terminal.print(bytes)?,
        _ => {
            terminal.print(bytes)?;
            terminal.print("\n")?;
        }
    }
    Ok(Outcome::Done)
}

fn encode(input: &Input, form: Encoding) -> Result<Vec<u8>, String> {
    let encoded = match (input, form) {
        (Input::Set(set), form) => form.encode(set),
        (Input::Managers(records), Encoding::Binary) => encode_object(records),
        (Input::Managers(records), Encoding::FieldsV1) => {
            let entries = Value::array(records.iter().map(ManagerRecord::to_value));
            Ok(json::to_vec(&entries))
        }
        (Input::Managers(records), form) => match records.as_slice() {
            [one] => form.encode(&one.fields.clone().unwrap_or_default()),
            several => {
                let names: Vec<&str> = several.iter().map(|record| record.manager.as_str()).collect();
                return Err(format!(
                    "{form} contains one set, and there are {} managers; choose one with --manager: {}",
                    several.len(),
                    names.join(", ")
                ));
            }
        },
    };
    encoded.map_err(|error| error.to_string())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
