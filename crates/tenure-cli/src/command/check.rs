//! `tenure check`: what the next apply of some manifests will meet, by cause; `--fix` settles what others left behind.

use super::plan::DEFAULT_MANAGER;
use crate::{
    Error, Outcome,
    check::{self, CheckFlags, Subject},
    connection::Connection,
    document::Files,
    plan_text::count,
    terminal::Terminal,
};
use clap::Args;

/// Say what stands against the next apply, by cause, and settle it without changing a value.
#[derive(Args)]
#[command(after_help = "\
For every conflict that the next apply of the manifests would have: whose field it is and why. With --fix, the fields that client-side
apply, the same tool under another name, a person or a client without a name left behind move to the manager that applies. Values do not
change; fields that the manifests leave out stay where they are. The change is shown first (--dry-run only shows it), and `tenure undo`
reverts it.

What an autoscaler, a webhook or a controller sets does not belong into the manifest: it is reported, not moved. --also CAUSE moves the
fields of a further cause: OtherApplication, Autoscaler, Injected, DefaultValue, Controller, OtherApplier or OtherWriter.

Exit codes: 0 the next apply passes, 1 error, 2 it passes but there is something to know, 3 conflicts.

Examples:
  tenure check -f manifests/ -R --manager argocd-controller
  kustomize build | tenure check -f - --manager kustomize-controller
  tenure check -f manifests/ --manager kustomize-controller --fix")]
pub struct Options {
    #[command(flatten)]
    files: Files,
    /// The field manager that applies.
    #[arg(long, visible_alias = "field-manager", value_name = "NAME", env = "TENURE_MANAGER", default_value = DEFAULT_MANAGER)]
    manager: String,
    #[command(flatten)]
    check: CheckFlags,
    #[command(flatten)]
    connection: Connection,
}

/// Checks manifests.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let documents = options.files.read()?;
    if documents.is_empty() {
        return Err(Error::usage(
            "nothing to check; name a file or directory with -f FILE, or - for standard input",
        ));
    }
    options.connection.run(async |cluster| {
        let mut drafts = Vec::with_capacity(documents.len());
        for document in documents {
            drafts.push((document.draft(&cluster).await?, document.place));
        }
        let title = format!("next apply as {}: {}", options.manager, count(drafts.len(), "object"));
        let subject = Subject { drafts, manager: options.manager.clone(), findings: Vec::new(), title };
        check::run(subject, &options.check, &cluster, terminal).await
    })
}
