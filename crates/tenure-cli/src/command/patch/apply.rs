//! `tenure patch apply`: applies a patch to a document.

use super::{Order, PatchType, read, typed::Typed};
use crate::{
    Error, Outcome,
    compatibility::AnswerFor,
    terminal::{Format, Terminal},
};
use clap::Args;
use std::path::PathBuf;
use tenure_patch::{json, merge, strategic};

/// Apply a patch to a document and print the result.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tenure patch apply live.yaml patch.yaml
  kubectl get deployment web -o json | tenure patch apply - patch.yaml --output json
  tenure patch apply widget.yaml patch.yaml --schema widget-crd.yaml
  tenure patch apply live.yaml operations.json --type json")]
pub struct Options {
    /// The document.
    live: PathBuf,
    /// The patch.
    patch: PathBuf,
    /// The type of the patch.
    #[arg(long = "type", value_enum, value_name = "TYPE", default_value_t)]
    written_in: PatchType,
    /// Where entries go that only the live list has.
    #[arg(long, value_enum, value_name = "ORDER", default_value_t)]
    order: Order,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    answer_for: AnswerFor,
    #[command(flatten)]
    typed: Typed,
}

/// Prints the result.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let [live, patch] = read([&options.live, &options.patch])?;
    let result = match options.written_in {
        PatchType::Merge => Ok(merge::apply_kubernetes(&live.value, &patch.value)),
        PatchType::Json => json::apply(&live.value, &patch.value, &json::Options::default()),
        PatchType::Strategic => {
            let profile = options.typed.profile(options.answer_for)?;
            let types = options.typed.types(profile)?;
            let ty = options.typed.of(&types, &live)?;
            let how = strategic::ApplyOptions::default().profile(profile).live_only(options.order.into());
            strategic::apply(&live.value, &patch.value, ty, &how)
        }
    };
    let result = result.map_err(|error| Error::document(&patch.place, error))?;
    terminal.print_value(&result, options.output)?;
    Ok(Outcome::Done)
}
