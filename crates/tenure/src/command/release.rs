//! `tenure release`: managers let go of single fields, which go with them or stay as they are.

use super::{
    adopt::is_one_of,
    transfer::{demand_holder, holds, paths},
};
use crate::{
    Error, Outcome,
    cluster::{Connection, Targets},
    handover::{Carry, Intent, carry_out},
    live::LiveObject,
    terminal::Terminal,
};
use clap::Args;
use tenure_apply::{Manager, Managers, release};
use tenure_fields::Path;
use tenure_schema::TypeRef;
use tenure_value::Value;

/// Let go of single fields, with or without their values.
#[derive(Args)]
#[command(after_help = "\
A field that nobody else holds goes, as if its manager had left it out of an apply. With --keep-value it stays as it is
and is held by nobody: whoever writes it next, an autoscaler for one, takes it without a conflict, and it is not reset to
its default in between.

The step is shown before it is taken (or only shown, with --dry-run), is refused if the object changes in between, and
leaves a file with which `tenure undo` takes it back.

Examples:
  tenure release deployment/web --path .spec.replicas --keep-value
  tenure release configmap/settings --path .data.debug --manager kubectl")]
pub struct Options {
    #[command(flatten)]
    targets: Targets,
    /// A field to let go of, with all below it; may be repeated.
    #[arg(long = "path", value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// The manager that lets go, where others hold the field too; may be repeated. Everyone does where none is named.
    #[arg(long = "manager", value_name = "MANAGER")]
    managers: Vec<String>,
    /// Leave the values as they are.
    #[arg(long)]
    keep_value: bool,
    #[command(flatten)]
    carry: Carry,
    #[command(flatten)]
    connection: Connection,
}

/// Lets go of fields.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    if options.targets.is_empty() {
        return Err(Error::usage("nothing to release; name an object as KIND/NAME"));
    }
    options.connection.run(async |cluster| {
        let found = cluster.objects(&options.targets).await?;
        carry_out(found, &cluster, &options.carry, terminal, |live, ty| intent(&options, live, ty)).await
    })
}

fn intent(options: &Options, live: &LiveObject, ty: TypeRef<'static>) -> Result<Intent, Error> {
    let paths = paths(&options.paths, live, ty)?;
    let meant = |manager: &Manager| {
        (options.managers.is_empty() || is_one_of(manager, &options.managers)) && holds(manager, &paths)
    };
    demand_holder(live, &options.paths, &meant)?;
    let managers = release(&live.managers, &paths, meant);
    if managers.is_empty() {
        return Err(Error::usage(format!(
            "{} would be held by nobody at all, and the next apply would count all of it as held by before-first-apply; \
             hand it over with `tenure adopt` instead",
            live.name()
        )));
    }
    let removed = match options.keep_value {
        true => Vec::new(),
        false => paths.iter().filter_map(|path| removable(path, live, &managers, ty)).collect(),
    };
    Ok(Intent { managers, removed, notes: Vec::new() })
}

/// Returns the place to remove with a path that nobody holds any more: the path itself, or the parts around it that
/// would be left empty and that nobody holds either.
fn removable(path: &Path, live: &LiveObject, managers: &Managers, ty: TypeRef<'_>) -> Option<Path> {
    let held = |path: &[tenure_fields::PathElement]| {
        managers.iter().any(|manager| manager.fields.node_at(path).is_some())
    };
    path.resolve(&live.object, ty)?;
    if held(path) {
        return None;
    }
    let mut removable = path.clone();
    while removable.len() > 1 {
        let around = Path::from(removable.get(..removable.len() - 1).unwrap_or_default());
        let alone = match around.resolve(&live.object, ty) {
            Some(Value::Object(object)) => object.len() == 1,
            Some(Value::Array(items)) => items.len() == 1,
            _ => false,
        };
        if !alone || held(&around) {
            break;
        }
        removable = around;
    }
    Some(removable)
}
