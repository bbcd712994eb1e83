//! `tenure patch`: the patch library on files. Each subcommand is a file; they share the types of documents ([`typed`])
//! and of patches ([`PatchType`]).

mod apply;
mod diff;
mod explain;
mod lint;
mod three_way;
mod typed;

use crate::{Error, Outcome, document::Document, terminal::Terminal};
use clap::{Args, Subcommand, ValueEnum};
use std::path::Path;
use tenure_patch::strategic::{self, LiveOnly};
use tenure_profile::{Improvement, Profile};
use tenure_value::Value;

/// Apply, calculate, check and explain patches on files.
#[derive(Args)]
#[command(after_help = "\
Documents are JSON or YAML; - stands for standard input. The type of a document, which says how its lists merge, is
that of its apiVersion and kind: built in, or from a file given with --schema. Results are those of a kube-apiserver; with --live, those
of the server; with --compatibility tenure, those of Tenure.

Examples:
  tenure patch apply live.yaml patch.yaml
  tenure patch diff old.yaml new.yaml --type json
  tenure patch three-way manifest.yaml live.yaml --overwrite
  tenure patch lint patch.yaml --kind Deployment
  tenure patch explain live.yaml patch.yaml")]
pub struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Apply(apply::Options),
    Diff(diff::Options),
    ThreeWay(three_way::Options),
    Lint(lint::Options),
    Explain(explain::Options),
}

/// Runs a subcommand.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    match options.command {
        Command::Apply(options) => apply::run(options, terminal),
        Command::Diff(options) => diff::run(options, terminal),
        Command::ThreeWay(options) => three_way::run(options, terminal),
        Command::Lint(options) => lint::run(options, terminal),
        Command::Explain(options) => explain::run(options, terminal),
    }
}

/// The type of a patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PatchType {
    /// Strategic merge patch: looks like the document, lists merge by their keys.
    #[default]
    Strategic,
    /// JSON merge patch (RFC 7396): looks like the document, lists are replaced.
    Merge,
    /// JSON patch (RFC 6902): a list of operations.
    Json,
}

/// Where entries go that only the live list has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// In their positions among the others, as in Kubernetes.
    #[default]
    Kubernetes,
    /// Before the others, as the design document of list orders describes.
    Documented,
}

impl From<Order> for LiveOnly {
    fn from(order: Order) -> LiveOnly {
        match order {
            Order::Kubernetes => LiveOnly::InPlace,
            Order::Documented => LiveOnly::InFront,
        }
    }
}

/// The keys that match the entries of lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Keys {
    /// The merge key, which every server supports.
    #[default]
    Merge,
    /// All keys that the type recommends; each entry names them in $patchMergeKey, which a kube-apiserver does not know.
    Recommended,
}

impl From<Keys> for strategic::Keys {
    fn from(keys: Keys) -> strategic::Keys {
        match keys {
            Keys::Merge => strategic::Keys::Merge,
            Keys::Recommended => strategic::Keys::Recommended,
        }
    }
}

impl Keys {
    /// Refuses recommended keys if the server at hand does not know the directive that names them.
    fn check(self, profile: Profile, typed: &typed::Typed) -> Result<(), Error> {
        if self == Keys::Merge || !typed.asks_server() || profile.has(Improvement::ClientMergeKeys) {
            return Ok(());
        }
        Err(Error::usage(format!(
            "the server does not know {PATCH_MERGE_KEY}, which --keys recommended writes, and would fail; use --keys merge"
        )))
    }

    /// Warns of a patch that not every server understands.
    fn warn(self, patch: &Value, profile: Profile, terminal: &Terminal) {
        if self == Keys::Recommended && !profile.has(Improvement::ClientMergeKeys) && names_keys(patch) {
            terminal.note(format_args!(
                "a kube-apiserver does not know {PATCH_MERGE_KEY} and fails on this patch; send it to Tenure, or use --keys merge"
            ));
        }
    }
}

/// The directive that names the keys of an entry.
const PATCH_MERGE_KEY: &str = "$patchMergeKey";

/// Whether an entry of a patch names its keys.
fn names_keys(patch: &Value) -> bool {
    match patch {
        Value::Object(object) => {
            object.iter().any(|(name, value)| name.as_str() == PATCH_MERGE_KEY || names_keys(value))
        }
        Value::Array(items) => items.iter().any(names_keys),
        _ => false,
    }
}

/// Reads the documents of a command; one of them may be standard input.
fn read<const COUNT: usize>(files: [&Path; COUNT]) -> Result<[Document; COUNT], Error> {
    if files.iter().filter(|file| file.as_os_str() == "-").count() > 1 {
        return Err(Error::usage(
            "only one document can come from standard input; name a file for the others",
        ));
    }
    let mut documents = Vec::with_capacity(COUNT);
    for file in files {
        documents.push(crate::document::read_one(file)?);
    }
    documents.try_into().map_err(|_| Error::usage("a document is missing"))
}
