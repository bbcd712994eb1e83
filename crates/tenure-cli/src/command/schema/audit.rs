//! `tenure schema audit`: lists whose merge key two valid entries may share.

use crate::{
    Error, Outcome,
    connection::Connection,
    terminal::{Format, Ink, Terminal},
    types::SchemaFiles,
};
use clap::Args;
use std::fmt::Write;
use tenure_ownership::effect;
use tenure_schema::{
    Schema,
    audit::{self, WeakKey, Weakness},
};
use tenure_value::Value;

/// Find lists whose merge key is not unique.
#[derive(Args)]
#[command(after_help = "\
In such a list a patch can lose an entry or change the wrong one. Without files the built-in kinds are checked, with --live
all kinds of a server. The exit code is 0 if nothing is found and 2 otherwise.

Examples:
  tenure schema audit
  tenure schema audit --schema widget-crd.yaml
  tenure schema audit --live --context production
  kubectl get --raw /openapi/v2 | tenure schema audit --schema - --output json")]
pub struct Options {
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    schemas: SchemaFiles,
    /// Check the types that the server publishes.
    #[arg(long, conflicts_with = "schema_files")]
    live: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Prints the findings.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let checked: Vec<&Schema> = match options.schemas.schema_files.is_empty() {
        true if options.live => options.connection.run(async |cluster| Ok(cluster.all_types().await?))?,
        true => vec![Schema::builtin_at(options.schemas.kubernetes_version.unwrap_or_default())],
        false => options.schemas.types()?.given().collect(),
    };
    let mut weak: Vec<WeakKey> = checked.iter().flat_map(|schema| audit::weak_keys(schema)).collect();
    // Types that several groups use are published with each group.
    weak.sort_by(|a, b| (&a.parent, &a.field).cmp(&(&b.parent, &b.field)));
    weak.dedup();
    match options.output {
        Format::Text => terminal.print(render(&weak, terminal))?,
        format => terminal.print_value(&Value::array(weak.iter().map(effect::weak_key_to_value)), format)?,
    }
    Ok(if weak.is_empty() { Outcome::Done } else { Outcome::Changes })
}

fn render(weak: &[WeakKey], terminal: &Terminal) -> String {
    let paint = terminal.paint;
    let mut out = String::new();
    for weak in weak {
        let _ = writeln!(out, "{}", paint.ink(Ink::Strong, format_args!("{}.{}", weak.parent, weak.field)));
        let reasons: Vec<String> = weak.reasons.iter().map(Weakness::to_string).collect();
        let _ = writeln!(out, "  merged by {}: {}", paint.ink(Ink::Warning, weak.keys()), reasons.join("; "));
        let _ = writeln!(out, "  {}", effect::advice(weak));
    }
    let count = match weak.len() {
        0 => "every merged list has a unique key".to_owned(),
        1 => "1 list".to_owned(),
        more => format!("{more} lists"),
    };
    let _ = writeln!(out, "{count}");
    out
}
