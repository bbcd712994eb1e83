//! `tenure schema diff`: lists and maps that merge differently under a new definition, and the objects and managers that this
//! affects.

use crate::{
    Error, Outcome,
    connection::Connection,
    document::{self, Document},
    object_identity::group_of,
    terminal::{Format, Ink, Terminal},
    types::SchemaFiles,
};
use clap::Args;
use std::{fmt::Write, path::PathBuf};
use tenure_apply::Manager;
use tenure_client::Selection;
use tenure_ownership::{LiveObject, effect};
use tenure_schema::{
    Schema,
    merging::{self, MergeChange},
};
use tenure_value::{Text, Value};

/// Show which lists and maps merge differently under a new definition.
#[derive(Args)]
#[command(after_help = "\
The files contain CustomResourceDefinitions or OpenAPI documents. Kinds are compared version by version; with --from and
--to, one version of the old file with one of the new, which may be the same file. With --objects or --live, the managers
that own affected fields are listed. The exit code is 0 if nothing changes and 2 otherwise.

Examples:
  tenure schema diff widget-old.yaml widget-new.yaml
  tenure schema diff widget.yaml widget.yaml --from v1alpha1 --to v1
  tenure schema diff widget-old.yaml widget-new.yaml --live
  kubectl get widgets -A -o yaml --show-managed-fields |
    tenure schema diff old.yaml new.yaml --objects -")]
pub struct Options {
    /// The old definition.
    old: PathBuf,
    /// The new definition.
    new: PathBuf,
    /// The version of the old definition.
    #[arg(long, value_name = "VERSION", requires = "to")]
    from: Option<String>,
    /// The version of the new definition.
    #[arg(long, value_name = "VERSION", requires = "from")]
    to: Option<String>,
    /// Files with live objects, or - for standard input.
    #[arg(long, value_name = "FILE")]
    objects: Vec<PathBuf>,
    /// Check the objects of the server.
    #[arg(long)]
    live: bool,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    connection: Connection,
}

/// A kind whose merging changes.
struct KindChange {
    /// Its apiVersion in the old definition.
    api_version: Text,
    kind: Text,
    /// Its apiVersion in the new definition.
    becomes: Text,
    changes: Vec<(MergeChange, Vec<Affected>)>,
}

/// A manager that owns an affected field.
struct Affected {
    object: String,
    manager: Manager,
}

/// Prints the changes.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let read =
        |file: &PathBuf| SchemaFiles { schema_files: vec![file.clone()], ..SchemaFiles::default() }.types();
    let (old, new) = (read(&options.old)?, read(&options.new)?);
    let mut objects = Vec::new();
    for file in &options.objects {
        objects.extend(document::read(file)?);
    }
    let (mut kinds, mut compared) = (Vec::new(), false);
    for (schema, later) in old.given().flat_map(|schema| new.given().map(move |later| (schema, later))) {
        for (api_version, kind, becomes) in pairs(schema, later, &options) {
            compared = true;
            let (Some(before), Some(after)) = (schema.kind(&api_version, &kind), later.kind(&becomes, &kind))
            else {
                continue;
            };
            let changes = merging::changes(before, after);
            if options.live && !changes.is_empty() {
                objects.extend(live_objects(&options.connection, &api_version, &kind)?);
            }
            let changes = changes.into_iter().map(|change| {
                let affected = affected(&objects, &api_version, &kind, &change)?;
                Ok((change, affected))
            });
            let changes = changes.collect::<Result<Vec<_>, Error>>()?;
            if !changes.is_empty() {
                kinds.push(KindChange { api_version, kind, becomes, changes });
            }
        }
    }
    if !compared {
        return Err(Error::usage(format!(
            "{} and {} have no kind and version in common; name the versions to compare with --from and --to",
            options.old.display(),
            options.new.display()
        )));
    }
    match options.output {
        Format::Text => {
            terminal.print(render(&kinds, options.live || !options.objects.is_empty(), terminal))?
        }
        format => terminal.print_value(&Value::array(kinds.iter().map(to_value)), format)?,
    }
    Ok(if kinds.is_empty() { Outcome::Done } else { Outcome::Changes })
}

/// Returns all objects of a kind on the server; none if it does not have the kind.
fn live_objects(connection: &Connection, api_version: &str, kind: &str) -> Result<Vec<Document>, Error> {
    connection.run(async |cluster| {
        let Some(resource) = cluster.kind_of(api_version, kind).await? else { return Ok(Vec::new()) };
        let found = cluster.select(&resource, None, &Selection::default()).await?;
        Ok(found.iter().map(Document::from).collect())
    })
}

/// Returns the kinds of the old and the new definition that are compared.
fn pairs(old: &Schema, new: &Schema, options: &Options) -> Vec<(Text, Text, Text)> {
    let kinds = |schema: &Schema| -> Vec<(Text, Text)> {
        let kinds = schema.kinds().filter_map(|(name, _)| name.split_once(' '));
        kinds.map(|(api_version, kind)| (api_version.into(), kind.into())).collect()
    };
    let version = |api_version: &str| api_version.rsplit('/').next().unwrap_or_default().to_owned();
    let compared = |before: &str, after: &str| match (&options.from, &options.to) {
        (Some(from), Some(to)) => {
            group_of(before) == group_of(after) && version(before) == *from && version(after) == *to
        }
        _ => before == after,
    };
    let mut pairs = Vec::new();
    for (before, kind) in kinds(old) {
        let others =
            kinds(new).into_iter().filter(|(after, other)| *other == kind && compared(&before, after));
        pairs.extend(others.map(|(after, _)| (before.clone(), kind.clone(), after)));
    }
    pairs
}

/// Returns the managers that own fields affected by a change.
fn affected(
    objects: &[Document],
    api_version: &str,
    kind: &str,
    change: &MergeChange,
) -> Result<Vec<Affected>, Error> {
    let mut affected = Vec::new();
    for document in objects {
        let (version, other) = document.kind()?;
        if other != kind || group_of(version) != group_of(api_version) {
            continue;
        }
        let live =
            LiveObject::read(&document.value).map_err(|error| Error::document(&document.place, error))?;
        let name = match live.namespace() {
            "" => live.name().to_owned(),
            namespace => format!("{namespace}/{}", live.name()),
        };
        let owners = effect::affected_managers(&live, api_version, change);
        affected.extend(owners.map(|manager| Affected { object: name.clone(), manager: manager.clone() }));
    }
    Ok(affected)
}

fn render(kinds: &[KindChange], looked: bool, terminal: &Terminal) -> String {
    let paint = terminal.paint;
    let mut out = String::new();
    for kind in kinds {
        let title = match kind.api_version == kind.becomes {
            true => format!("{} {}", kind.api_version, kind.kind),
            false => format!("{} {} becomes {}", kind.api_version, kind.kind, kind.becomes),
        };
        let _ = writeln!(out, "{}", paint.ink(Ink::Strong, title));
        for (change, affected) in &kind.changes {
            let _ = writeln!(out, "  {}", paint.ink(Ink::Changed, &change.path));
            let _ = writeln!(out, "    was  {}", change.before);
            let _ = writeln!(out, "    is   {}", change.after);
            let _ = writeln!(out, "    so   {}", change.consequence());
            for affected in affected {
                let _ = writeln!(
                    out,
                    "    {} {}, owned by {}",
                    paint.ink(Ink::Warning, "affects"),
                    affected.object,
                    affected.manager.identity()
                );
            }
            if looked && affected.is_empty() {
                let _ = writeln!(out, "    affects none of the objects");
            }
        }
    }
    if kinds.is_empty() {
        out.push_str("all lists and maps merge as before\n");
    }
    out
}

fn to_value(kind: &KindChange) -> Value {
    let change = |(change, affected): &(MergeChange, Vec<Affected>)| {
        let affected = affected.iter().map(|affected| (affected.object.clone(), &affected.manager));
        effect::change_to_value(change, affected)
    };
    Value::object([
        ("from", Value::from(kind.api_version.clone())),
        ("to", Value::from(kind.becomes.clone())),
        ("kind", Value::from(kind.kind.clone())),
        ("changes", Value::array(kind.changes.iter().map(change))),
    ])
}
