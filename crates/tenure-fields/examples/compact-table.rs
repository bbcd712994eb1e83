//! Generates a string table for the compact encodings of field sets:
//!
//! ```text
//! cargo run --release -p tenure-fields --example compact-table -- VERSION RELEASE CORPUS... > FILE
//! ```
//!
//! VERSION is the version of the new table, RELEASE the release of Tenure that introduces it, CORPUS a list
//! of files or folders: in `.json` files every list named `managedFields` is one object, in `.jsonl` files
//! every line that is a set. The strings are those of the built-in types and of `frequent-strings.txt`.

use std::{env, fs, io, path::Path, process::ExitCode};
use tenure_fields::{
    FieldSet,
    compact::generate::{Sources, generate},
    fields_v1,
};
use tenure_schema::Schema;
use tenure_value::{Limits, Value, json};

const FREQUENT: &str = include_str!("../src/compact/tables/frequent-strings.txt");

fn main() -> ExitCode {
    match run(&env::args().skip(1).collect::<Vec<_>>()) {
        Ok(file) => {
            print!("{file}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<String, String> {
    let [version, release, corpora @ ..] = arguments else {
        return Err(
            "expected the version of the table, the release that introduces it and a corpus".to_owned()
        );
    };
    let version =
        version.parse().map_err(|_| format!("expected a version from 1 to 126, found {version:?}"))?;
    let mut corpus = Vec::new();
    for path in corpora {
        read(Path::new(path), &mut corpus).map_err(|error| format!("{path}: {error}"))?;
    }
    eprintln!("{} objects, {} sets", corpus.len(), corpus.iter().map(Vec::len).sum::<usize>());
    let mut sources = Sources::of_schema(Schema::builtin());
    sources.add_list(FREQUENT);
    let table = generate(version, release, &sources, &corpus).map_err(|error| error.to_string())?;
    eprintln!(
        "{} strings, {} key patterns, {} phrases, hash {}",
        table.strings().len(),
        table.patterns().len(),
        table.phrases().len(),
        table.hash()
    );
    Ok(table.to_file())
}

/// Adds the objects of a file, or of all files of a folder in the order of their names.
fn read(path: &Path, corpus: &mut Vec<Vec<FieldSet>>) -> io::Result<()> {
    if path.is_dir() {
        let mut entries = fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(fs::DirEntry::path);
        return entries.iter().try_for_each(|entry| read(&entry.path(), corpus));
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => {
            let text = fs::read(path)?;
            match json::parse(&text, &Limits::TRUSTED) {
                Ok(document) => gather(&document, corpus),
                Err(error) => eprintln!("{}: skipped: {error}", path.display()),
            }
        }
        Some("jsonl") => {
            let text = fs::read_to_string(path)?;
            let sets = text.lines().filter_map(|line| fields_v1::parse(line.as_bytes()).ok());
            corpus.extend(sets.filter(|set| !set.is_empty()).map(|set| vec![set]));
        }
        _ => {}
    }
    Ok(())
}

/// Adds every list of managers in a document.
fn gather(value: &Value, corpus: &mut Vec<Vec<FieldSet>>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| gather(item, corpus)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::Array(entries) if name == "managedFields" => {
                        let sets = entries.iter().filter_map(|entry| entry.get("fieldsV1"));
                        corpus.push(sets.filter_map(|set| fields_v1::from_value(set).ok()).collect());
                    }
                    _ => gather(value, corpus),
                }
            }
        }
        _ => {}
    }
}
