//! `tenure patch lint`: what would be refused, ignored or understood otherwise than the author may think.

use super::typed::Typed;
use crate::{
    Error, Outcome,
    compatibility::AnswerFor,
    document::{self, Document},
    terminal::{Format, Ink, Terminal},
};
use clap::Args;
use std::{fmt::Write, path::PathBuf};
use tenure_patch::lint::{self, Finding, Subject};
use tenure_value::Value;

/// Check patches or manifests without applying them.
#[derive(Args)]
#[command(after_help = "\
Each finding says where, what, and what to do. The exit code is 0 where there is none, 2 where there are some and 1
where a file cannot be read.

Examples:
  tenure patch lint patch.yaml --kind Deployment
  tenure patch lint --manifest deployment.yaml service.yaml
  tenure patch lint widget-patch.yaml --kind Widget --schema widget-crd.yaml --output json")]
pub struct Options {
    /// The files to look over, or - for standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Take the documents for whole objects from which patches will be calculated.
    #[arg(long)]
    manifest: bool,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    typed: Typed,
}

/// Prints the findings.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let types = options.typed.types(options.typed.profile(AnswerFor::default())?)?;
    let subject = if options.manifest { Subject::Manifest } else { Subject::Patch };
    let mut found: Vec<(Document, Finding)> = Vec::new();
    for file in &options.files {
        for document in document::read(file)? {
            let ty = options.typed.of(&types, &document)?;
            let findings = lint::lint(&document.value, ty, subject);
            found.extend(findings.into_iter().map(|finding| (document.clone(), finding)));
        }
    }
    match options.output {
        Format::Text => terminal.print(render(&found, terminal))?,
        format => terminal.print_value(&Value::array(found.iter().map(to_value)), format)?,
    }
    Ok(if found.is_empty() { Outcome::Done } else { Outcome::Changes })
}

fn render(found: &[(Document, Finding)], terminal: &Terminal) -> String {
    let paint = terminal.paint;
    let mut out = String::new();
    for (document, finding) in found {
        let path = match finding.path.elements() {
            [] => "the document".to_owned(),
            _ => finding.path.to_string(),
        };
        let _ = writeln!(
            out,
            "{}: {}: {}\n  {}",
            document.place,
            paint.ink(Ink::Strong, path),
            paint.ink(Ink::Warning, &finding.problem),
            finding.problem.fix()
        );
    }
    out
}

fn to_value((document, finding): &(Document, Finding)) -> Value {
    Value::object(
        [
            ("file", document.place.to_string()),
            ("path", finding.path.to_string()),
            ("problem", finding.problem.to_string()),
            ("fix", finding.problem.fix()),
        ]
        .map(|(name, text)| (name, Value::from(text))),
    )
}
