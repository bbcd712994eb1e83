//! Generates the pack of built-in types.

use std::{env, error::Error, fs, process::ExitCode};
use tenure_value::{Limits, Value, json};

const USAGE: &str = "\
usage: tenure-generate-pack [--schema FILE] [--definitions FILE] [--only NAME | --base FILE] --out FILE

Compiles types into a pack that tenure-schema reads.

  --schema FILE       recorded facts, such as tools/generate-pack/data/kubernetes-1.36.json
  --definitions FILE  _definitions.json of the PyPI package kubernetes-validate; with --schema it adds
                      types, and the facts add defaults and enums
  --only NAME         one type, with all that it refers to; such as for crates/tenure-schema/data/metadata.pack
  --base FILE         recorded facts of the oldest version; the result is what differs from these, a delta, such as
                      crates/tenure-schema/data/kubernetes-1.37.delta
  --out FILE          the pack, such as crates/tenure-schema/data/kubernetes-1.36.pack
";

#[derive(Default)]
struct Arguments {
    facts: Option<String>,
    definitions: Option<String>,
    only: Option<String>,
    base: Option<String>,
    out: String,
}

fn main() -> ExitCode {
    match arguments(env::args().skip(1)).map_err(Into::into).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("tenure-generate-pack: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn arguments(mut given: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments::default();
    while let Some(name) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{name} needs a value\n\n{USAGE}"));
        match name.as_str() {
            "--schema" => arguments.facts = Some(value()?),
            "--definitions" => arguments.definitions = Some(value()?),
            "--only" => arguments.only = Some(value()?),
            "--base" => arguments.base = Some(value()?),
            "--out" => arguments.out = value()?,
            _ => return Err(format!("unknown option {name:?}\n\n{USAGE}")),
        }
    }
    let has_source = arguments.facts.is_some() || arguments.definitions.is_some();
    match has_source && !arguments.out.is_empty() {
        true => Ok(arguments),
        false => Err(format!("a source and --out are required\n\n{USAGE}")),
    }
}

fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let facts = arguments.facts.as_deref().map(read).transpose()?;
    let definitions = arguments.definitions.as_deref().map(read).transpose()?;
    let schema = tenure_generate_pack::compile(facts.as_ref(), definitions.as_ref())?;
    let schema = match &arguments.only {
        Some(name) => {
            tenure_generate_pack::only(&schema, name).ok_or_else(|| format!("there is no type {name:?}"))?
        }
        None => schema,
    };
    let base = arguments.base.as_deref().map(read).transpose()?;
    let bytes = match &base {
        Some(base) => schema.to_delta(&tenure_generate_pack::compile(Some(base), None)?),
        None => schema.to_pack(),
    };
    fs::write(&arguments.out, &bytes).map_err(|problem| format!("{}: {problem}", arguments.out))?;
    let (names, kinds, types) = (schema.names().count(), schema.kinds().count(), schema.types().len());
    println!(
        "{}: {} bytes, {names} named types, {kinds} kinds, {types} types in all",
        arguments.out,
        bytes.len()
    );
    Ok(())
}

fn read(file: &str) -> Result<Value, String> {
    let text = fs::read(file).map_err(|problem| format!("{file}: {problem}"))?;
    json::parse(&text, &Limits::TRUSTED).map_err(|problem| format!("{file}: {problem}"))
}
