//! `tenure migrate`: from client-side to server-side apply. The fields of client-side apply get one owner that applies, so that a
//! field that it leaves out later is removed; the annotation with the last manifest is removed.

use super::plan::DEFAULT_MANAGER;
use crate::{
    Error, Outcome,
    connection::Connection,
    document::Files,
    handover::{HandoverFlags, carry_out},
    targets::Targets,
    terminal::Terminal,
};
use clap::Args;
use tenure_client::{Draft, Found};
use tenure_ownership::handover;

/// Move objects from client-side to server-side apply.
#[derive(Args)]
#[command(after_help = "\
After client-side `kubectl apply`, a field that a later server-side apply leaves out is never removed: the old manager
still owns it. This moves the fields of kubectl-client-side-apply, kubectl-create, kubectl-last-applied, before-first-apply
and whoever updated the annotation last-applied-configuration to the manager that applies from now on, and removes the
annotation, in one step.

The change is shown first (--dry-run only shows it), is refused if the object changes in between, and `tenure undo` reverts
it.

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
    #[arg(long, value_name = "MANAGER", env = "TENURE_MANAGER", default_value = DEFAULT_MANAGER)]
    to: String,
    /// A further manager to take fields from; may be repeated.
    #[arg(long, value_name = "MANAGER")]
    from: Vec<String>,
    #[command(flatten)]
    flags: HandoverFlags,
    #[command(flatten)]
    connection: Connection,
}

/// Migrates objects.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    if options.targets.is_empty() && options.files.is_empty() {
        return Err(Error::usage(
            "nothing to migrate; name an object as KIND/NAME, or manifests with -f FILE",
        ));
    }
    let documents = options.files.read()?;
    let title = format!("migrate to server-side apply as {}", options.to);
    options.connection.run(async |cluster| {
        let mut found = options.targets.read(&cluster).await?;
        for document in documents {
            let draft = document.draft(&cluster).await?;
            let (Some(path), Draft { resource: Some(resource), manifest }) = (draft.path(), draft) else {
                continue;
            };
            match cluster.find(&path).await? {
                Some(shown) => found.push(Found { resource, shown }),
                None => terminal.note(format_args!("{}: not found, nothing to migrate", manifest.target)),
            }
        }
        carry_out(found, &cluster, &options.flags, terminal, (&title, &options.from), |live, _| {
            Ok(handover::migrate(live, &options.from, &options.to, terminal.now))
        })
        .await
    })
}
