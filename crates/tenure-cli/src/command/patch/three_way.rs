//! `tenure patch three-way`: the patch that `kubectl apply` sends, made from the manifest of the last apply, the
//! manifest of this one and the live object. Conflicts are shown with both sides.

use super::{Keys, PatchType, read, typed::Typed};
use crate::{
    Error, Outcome,
    compatibility::AnswerFor,
    document::{self, Document},
    terminal::{Format, Ink, Terminal},
};
use clap::Args;
use std::{fmt::Write, path::PathBuf};
use tenure_apply::LAST_APPLIED;
use tenure_patch::{
    Conflict, merge,
    strategic::{self, DiffOptions, LiveChanges},
};
use tenure_value::{Limits, Object, Value, json};

/// Calculate the patch that brings a live object to a manifest.
#[derive(Args)]
#[command(after_help = "\
What the manifest sets is set, what the manifest of the last apply had and this one lacks is removed, what others
have set is left alone. The manifest of the last apply is read from the annotation of the live object that `kubectl
apply` keeps, unless it is given.

Where manifest and live object both changed since the last apply there is a conflict: all of them are shown, the exit
code is 3 and there is no patch. With --overwrite the manifest wins.

Examples:
  tenure patch three-way manifest.yaml live.yaml
  tenure patch three-way manifest.yaml live.yaml --overwrite --output json
  tenure patch three-way new.yaml live.yaml --last-applied old.yaml --keys recommended")]
pub struct Options {
    /// The manifest.
    manifest: PathBuf,
    /// The live object.
    live: PathBuf,
    /// The manifest of the last apply; by default the live object's annotation has it.
    #[arg(long, value_name = "FILE")]
    last_applied: Option<PathBuf>,
    /// Let the manifest win where the live object was changed since.
    #[arg(long)]
    overwrite: bool,
    /// The type of the patch: strategic or merge.
    #[arg(long = "type", value_enum, value_name = "TYPE", default_value_t)]
    written_in: PatchType,
    /// The keys that match the entries of lists in a strategic merge patch.
    #[arg(long, value_enum, value_name = "KEYS", default_value_t)]
    keys: Keys,
    /// The output format of the patch or the conflicts.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    answer_for: AnswerFor,
    #[command(flatten)]
    typed: Typed,
}

/// Prints the patch, or the conflicts.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let [manifest, live] = read([&options.manifest, &options.live])?;
    let last_applied = match &options.last_applied {
        Some(file) => document::read_one(file)?.value,
        None => annotated(&live, terminal)?,
    };
    let manifest = Document { value: completed(&manifest.value, &last_applied, &live.value), ..manifest };
    let patch = match options.written_in {
        PatchType::Json => {
            return Err(Error::usage(
                "a three-way patch is strategic or merge; JSON patches know no third document",
            ));
        }
        PatchType::Merge if !options.overwrite => {
            return Err(Error::usage(
                "a three-way merge patch always lets the manifest win; say so with --overwrite, or use --type strategic",
            ));
        }
        PatchType::Merge => merge::three_way(&last_applied, &manifest.value, &live.value),
        PatchType::Strategic => {
            let profile = options.typed.profile(options.answer_for)?;
            let types = options.typed.types(profile)?;
            let ty = options.typed.of(&types, &live)?;
            options.keys.check(profile, &options.typed)?;
            let how = DiffOptions::default().profile(profile).keys(options.keys.into());
            let changes = if options.overwrite { LiveChanges::Overwrite } else { LiveChanges::Keep };
            let patch =
                match strategic::three_way(&last_applied, &manifest.value, &live.value, ty, changes, &how) {
                    Err(error) if !error.conflicts().is_empty() => {
                        return tell(error.conflicts(), options.output, terminal);
                    }
                    patch => patch.map_err(|error| Error::document(&manifest.place, error))?,
                };
            options.keys.warn(&patch, profile, terminal);
            patch
        }
    };
    terminal.print_value(&patch, options.output)?;
    Ok(Outcome::Done)
}

/// Reads the manifest of the last apply from the live object.
fn annotated(live: &Document, terminal: &Terminal) -> Result<Value, Error> {
    let annotation = live.value.at(["metadata", "annotations", LAST_APPLIED]).and_then(Value::as_str);
    let Some(text) = annotation.filter(|text| !text.is_empty()) else {
        terminal.note(format_args!(
            "{}: there is no last applied configuration, so nothing is removed; give it with --last-applied FILE",
            live.place
        ));
        return Ok(Object::default().into());
    };
    json::parse(text.as_bytes(), &Limits::default()).map_err(|error| {
        Error::document(&live.place, format!("metadata.annotations[{LAST_APPLIED:?}]: {error}"))
    })
}

/// Returns a manifest with what the client adds to every manifest before it is compared, and so also to the last applied one: the
/// namespace, and annotations even if there are none.
fn completed(manifest: &Value, last_applied: &Value, live: &Value) -> Value {
    let (Some(object), Some(metadata)) =
        (manifest.as_object(), manifest.get("metadata").and_then(Value::as_object))
    else {
        return manifest.clone();
    };
    let mut metadata = metadata.clone();
    let namespace = live.at(["metadata", "namespace"]).filter(|_| metadata.get("namespace").is_none());
    if let Some(namespace) = namespace {
        metadata = metadata.with("namespace", namespace.clone());
    }
    let is_empty = |value: &&Value| value.as_object().is_some_and(Object::is_empty);
    let annotations = last_applied.at(["metadata", "annotations"]).filter(is_empty);
    if let Some(annotations) = annotations.filter(|_| metadata.get("annotations").is_none()) {
        metadata = metadata.with("annotations", annotations.clone());
    }
    Value::Object(object.with("metadata", metadata))
}

fn tell(conflicts: &[Conflict], format: Format, terminal: &Terminal) -> Result<Outcome, Error> {
    match format {
        // Text goes where no patch would: who reads the output must not take it for one.
        Format::Text => terminal.note(render(conflicts, terminal).trim_end()),
        format => terminal.print_value(&to_value(conflicts), format)?,
    }
    Ok(Outcome::Conflicts)
}

fn render(conflicts: &[Conflict], terminal: &Terminal) -> String {
    let paint = terminal.paint;
    let mut out = String::new();
    let count = match conflicts.len() {
        1 => "1 conflict".to_owned(),
        more => format!("{more} conflicts"),
    };
    let side = |value: &Value| if value.is_null() { "removed".to_owned() } else { value.to_string() };
    let _ = writeln!(
        out,
        "{}: manifest and live object both changed since the last apply",
        paint.ink(Ink::Problem, count)
    );
    for conflict in conflicts {
        let _ = writeln!(out, "  {}", paint.ink(Ink::Strong, &conflict.path));
        let _ = writeln!(out, "    manifest  {}", paint.ink(Ink::Added, side(&conflict.patch)));
        let _ = writeln!(out, "    live      {}", paint.ink(Ink::Removed, side(&conflict.live)));
    }
    out.push_str("Take the live values into the manifest, or let the manifest win with --overwrite.\n");
    out
}

fn to_value(conflicts: &[Conflict]) -> Value {
    let conflict = |conflict: &Conflict| {
        Value::object([
            ("path", Value::from(conflict.path.to_string())),
            ("manifest", conflict.patch.clone()),
            ("live", conflict.live.clone()),
        ])
    };
    Value::object([("conflicts", Value::array(conflicts.iter().map(conflict)))])
}
