//! `tenure patch diff`: the patch that leads from one document to another.

use super::{Keys, PatchType, read, typed::Typed};
use crate::{
    Error, Outcome,
    compatibility::AnswerFor,
    terminal::{Format, Terminal},
};
use clap::Args;
use std::path::PathBuf;
use tenure_patch::{json, merge, strategic};
use tenure_profile::Improvement;

/// Calculate the patch that leads from one document to another.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tenure patch diff old.yaml new.yaml
  tenure patch diff old.yaml new.yaml --type json --output json
  tenure patch diff service.yaml changed.yaml --keys recommended")]
pub struct Options {
    /// The old document.
    original: PathBuf,
    /// The new document.
    modified: PathBuf,
    /// The type of the patch.
    #[arg(long = "type", value_enum, value_name = "TYPE", default_value_t)]
    written_in: PatchType,
    /// The keys that match the entries of lists in a strategic merge patch.
    #[arg(long, value_enum, value_name = "KEYS", default_value_t)]
    keys: Keys,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    answer_for: AnswerFor,
    #[command(flatten)]
    typed: Typed,
}

/// Prints the patch.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let [original, modified] = read([&options.original, &options.modified])?;
    let patch = match options.written_in {
        PatchType::Merge => merge::diff(&original.value, &modified.value),
        PatchType::Json => json::diff(&original.value, &modified.value),
        PatchType::Strategic => {
            let profile = options.typed.profile(options.answer_for)?;
            let types = options.typed.types(profile)?;
            let ty = options.typed.of(&types, &original)?;
            options.keys.check(profile, &options.typed)?;
            // Every server understands what clears the other members of a union, and refuses the result without it.
            let calculated = profile.with(Improvement::ExcludeUnionMembers);
            let how = strategic::DiffOptions::default().profile(calculated).keys(options.keys.into());
            let patch = strategic::two_way(&original.value, &modified.value, ty, &how)
                .map_err(|error| Error::document(&modified.place, error))?;
            options.keys.warn(&patch, profile, terminal);
            patch
        }
    };
    terminal.print_value(&patch, options.output)?;
    Ok(Outcome::Done)
}
