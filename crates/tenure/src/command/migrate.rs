//! `tenure migrate`: from client-side to server-side apply. What `kubectl apply` wrote from the client becomes the work
//! of one manager that applies, so that a field it leaves out later goes; the annotation that remembered it goes too.

use super::{adopt, plan::MANAGER};
use crate::{
    Error, Outcome,
    cluster::{Connection, Found, Targets},
    document::Files,
    handover::{Carry, Intent, carry_out},
    live::LiveObject,
    plan::{CLIENT_SIDE, Draft},
    terminal::Terminal,
};
use clap::Args;
use tenure_apply::{LAST_APPLIED, Manager, release};
use tenure_fields::{Path, PathElement};
use tenure_value::Value;

/// Move objects from client-side to server-side apply.
#[derive(Args)]
#[command(after_help = "\
After `kubectl apply` from the client, a field that a later server-side apply leaves out never goes: the old manager
still holds it. This hands all that was applied from the client to the manager that applies from now on, and removes
the annotation last-applied-configuration, in one step.

The step is shown before it is taken (or only shown, with --dry-run), is refused if the object changes in between, and
leaves a file with which `tenure undo` takes it back.

Examples:
  tenure migrate deployment/web
  tenure migrate -f manifests/ --yes
  tenure migrate deployments --all --to flux --from helm")]
pub struct Options {
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    files: Files,
    /// The manager that applies from now on.
    #[arg(long, value_name = "MANAGER", env = "TENURE_MANAGER", default_value = MANAGER)]
    to: String,
    /// A further manager to take from, beside those of `kubectl apply` and `kubectl create`; may be repeated.
    #[arg(long, value_name = "MANAGER")]
    from: Vec<String>,
    #[command(flatten)]
    carry: Carry,
    #[command(flatten)]
    connection: Connection,
}

/// Migrates objects.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    if options.targets.is_empty() && options.files.files.is_empty() {
        return Err(Error::usage("nothing to migrate; name an object as KIND/NAME, or the manifests with -f FILE"));
    }
    let documents = options.files.read()?;
    options.connection.run(async |cluster| {
        let mut found = cluster.objects(&options.targets).await?;
        for document in documents {
            let draft = Draft::of(document, &cluster).await?;
            let (Some(path), Some(resource)) = (draft.path(), draft.resource.clone()) else { continue };
            match cluster.find(&path).await? {
                Some(shown) => found.push(Found { resource, shown }),
                None => terminal.note(format_args!("{}: it does not exist, so there is nothing to migrate", draft.target)),
            }
        }
        carry_out(found, &cluster, &options.carry, terminal, |live, _| Ok(intent(&options, live, terminal))).await
    })
}

fn intent(options: &Options, live: &LiveObject, terminal: &Terminal) -> Intent {
    let meant = |manager: &Manager| {
        let known = CLIENT_SIDE.contains(&manager.name.as_str()) || adopt::is_one_of(manager, &options.from);
        known && manager.subresource.is_empty()
    };
    let mut intent = adopt::intent(live, &options.to, terminal, meant);
    let annotation: Path =
        ["metadata", "annotations", LAST_APPLIED].map(PathElement::field).into_iter().collect();
    if live.object.at(["metadata", "annotations", LAST_APPLIED]).is_some() {
        intent.managers = release(&intent.managers, std::slice::from_ref(&annotation), |_| true);
        let annotations = live.object.at(["metadata", "annotations"]).and_then(Value::as_object);
        let alone = annotations.is_some_and(|annotations| annotations.len() == 1);
        let around = Path::from(annotation.get(..2).unwrap_or_default());
        intent.removed.push(if alone { around.clone() } else { annotation });
        if alone {
            intent.managers = release(&intent.managers, std::slice::from_ref(&around), |_| true);
        }
    }
    intent
}
