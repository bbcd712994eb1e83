//! `tenure schema show`: how a kind, or a field of it, merges.

use crate::{
    Error, Outcome,
    kinds::{self, Kind},
    terminal::{Format, Ink, Terminal, wrapped},
    types::{SchemaFiles, Types},
};
use clap::Args;
use std::fmt::Write;
use tenure_ownership::effect::{self, Effects};
use tenure_schema::{Located, SchemaError};

/// Show how a kind, or a field of it, merges.
#[derive(Args)]
#[command(after_help = "\
A path goes into the entries of lists: Deployment.spec.template.spec.containers.ports is the list of ports of every
container. Below a map, any name stands for all its values.

Examples:
  tenure schema show Deployment
  tenure schema show Service.spec.ports
  tenure schema show networking.k8s.io/v1/Ingress.spec --depth 3
  tenure schema show Widget.spec --schema widget-crd.yaml --output json")]
pub struct Options {
    /// The kind, optionally with a field: Deployment.spec.strategy, apps/v1/Deployment, deployments.
    #[arg(value_name = "KIND[.PATH]")]
    place: String,
    /// The number of levels of fields to show.
    #[arg(long, value_name = "LEVELS", default_value_t = 1)]
    depth: usize,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    schemas: SchemaFiles,
}

/// Prints the field and the fields below it.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let types = options.schemas.types()?;
    let (kind, place) = locate(&types, &options.place)?;
    match options.output {
        Format::Text => terminal.print(render(&kind, &place, options.depth, terminal))?,
        format => terminal.print_value(&effect::to_value(&kind.api_version, &kind.name, &place), format)?,
    }
    Ok(Outcome::Done)
}

/// Finds the kind and the field. A dot may belong to the kind, as in `deployments.apps`, so every dot is tried.
fn locate(types: &Types, asked: &str) -> Result<(Kind, Located<'static>), Error> {
    let start = asked.rfind('/').map_or(0, |slash| slash + 1);
    let mut unknown_field: Option<(Kind, SchemaError)> = None;
    for end in asked[start..].match_indices('.').map(|(at, _)| start + at).chain([asked.len()]) {
        let Ok(kind) = kinds::find(types, &asked[..end]) else { continue };
        match kind.ty.locate(&asked[end..]) {
            Ok(place) => return Ok((kind, place)),
            Err(error) => unknown_field = unknown_field.or(Some((kind, error))),
        }
    }
    match unknown_field {
        Some((kind, error)) => Err(Error::usage(format!("{} {}: {error}", kind.api_version, kind.name))),
        None => {
            let kind = asked[start..].split('.').next().unwrap_or_default();
            kinds::find(types, &format!("{}{kind}", &asked[..start]))
                .and_then(|kind| Err(Error::usage(format!("{}: unknown field", kind.name))))
        }
    }
}

fn render(kind: &Kind, place: &Located<'_>, depth: usize, terminal: &Terminal) -> String {
    let paint = terminal.paint;
    let mut out = String::new();
    let title = format!("{} {}{}", kind.api_version, kind.name, place.path);
    let _ = writeln!(out, "{}", paint.ink(Ink::Strong, title));
    let outline = place.ty.outline(depth).to_string();
    let (what, fields) = outline.split_once('\n').unwrap_or((&outline, ""));
    let effects = Effects::of(place);
    let presence = effect::presence(place.field);
    let rows = [
        ("type", what),
        ("presence", presence.as_str()),
        ("server-side apply", &effects.apply),
        ("strategic merge patch", &effects.strategic),
        ("JSON merge patch", effects.merge),
    ];
    let label = rows.iter().map(|(label, _)| label.len()).max().unwrap_or_default();
    for (name, text) in rows.iter().filter(|(_, text)| !text.is_empty()) {
        let lines = wrapped(text, terminal.width.saturating_sub(label + 4).max(20));
        for (at, line) in lines.iter().enumerate() {
            let name = if at == 0 { *name } else { "" };
            let _ = writeln!(out, "  {}  {line}", paint.ink(Ink::Faint, format_args!("{name:label$}")));
        }
    }
    if !fields.is_empty() {
        let _ = write!(out, "\n{fields}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_belongs_to_the_kind_or_starts_the_path() {
        let types = Types::default();
        for (asked, found) in [
            ("Deployment.spec.replicas", "Deployment.spec.replicas"),
            ("deployments.apps", "Deployment"),
            ("deployments.apps.spec", "Deployment.spec"),
            ("networking.k8s.io/v1/Ingress.spec.rules", "Ingress.spec.rules"),
            ("po.metadata.labels.x", "Pod.metadata.labels.*"),
        ] {
            let (kind, place) = locate(&types, asked).unwrap_or_else(|error| panic!("{asked}: {error}"));
            assert_eq!(format!("{}{}", kind.name, place.path), found);
        }
        let error = |asked: &str| locate(&types, asked).map(|_| ()).unwrap_err().to_string();
        assert!(
            error("Pod.spec.container").contains("did you mean \"containers\"?"),
            "{}",
            error("Pod.spec.container")
        );
        assert!(error("Gadget.spec").contains("unknown kind \"Gadget\""), "{}", error("Gadget.spec"));
    }
}
