//! `tenure helm post-render`: a filter between `helm` and the server that leaves out what others are to set: the replicas of an autoscaler,
//! the containers of a webhook, the fields of a controller, and zero values in the way of another owner.

use super::MANAGER;
use crate::{
    Error, Outcome,
    autoscalers::Autoscalers,
    connection::Connection,
    document::{self, Document},
    place::STANDARD_INPUT,
    terminal::Terminal,
};
use clap::Args;
use tenure_client::{Cluster, Draft};
use tenure_ownership::{ApplyingManager, Conflict, ForcedFields, Plan, Settlement, settle};
use tenure_value::yaml;

/// Leave out of rendered objects what autoscalers, webhooks and controllers set.
#[derive(Args)]
#[command(after_help = "\
Reads rendered objects from standard input and writes them to standard output, as a post-renderer of Helm does. A field is left out if its
apply would conflict with an autoscaler, an admission webhook or a controller, if it is a zero or default value that another owner
changed, and if it is the replicas of a workload that a HorizontalPodAutoscaler scales. Everything else stays as it is. What is left out
is listed on standard error. The namespace is that of -n, or of $HELM_NAMESPACE.

Examples:
  helm upgrade web ./chart --post-renderer tenure \\
    --post-renderer-args helm --post-renderer-args post-render
  helm template web ./chart | tenure helm post-render -n shop |
    kubectl apply --server-side --field-manager helm -f -
  helm template web ./chart | tenure helm post-render -n shop > web.yaml")]
pub struct Options {
    /// The field manager of the upgrade.
    #[arg(long, visible_alias = "field-manager", value_name = "NAME", default_value = MANAGER)]
    manager: String,
    #[command(flatten)]
    connection: Connection,
}

/// Filters rendered objects.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let documents = document::read(STANDARD_INPUT.as_ref())?;
    let applier =
        ApplyingManager { manager: options.manager.clone(), force: ForcedFields::None, now: terminal.now };
    let namespace = std::env::var("HELM_NAMESPACE").ok().filter(|name| !name.is_empty());
    let rendered = options.connection.or_namespace(namespace).run(async |cluster| {
        let mut drafts = Vec::with_capacity(documents.len());
        for document in &documents {
            drafts.push(document.draft(&cluster).await?);
        }
        let namespaces = drafts.iter().map(|draft| draft.manifest.target.namespace.as_str());
        let autoscalers =
            Autoscalers::read(namespaces.filter(|name| !name.is_empty()).collect(), &cluster).await?;
        let filter = Filter { applier, autoscalers, cluster: &cluster, terminal };
        let mut rendered = String::new();
        for (document, draft) in documents.iter().zip(&drafts) {
            rendered.push_str("---\n");
            rendered.push_str(&filter.object(document, draft, &drafts).await?);
        }
        Ok(rendered)
    })?;
    terminal.print(rendered)?;
    Ok(Outcome::Done)
}

struct Filter<'a> {
    applier: ApplyingManager,
    autoscalers: Autoscalers,
    cluster: &'a Cluster,
    terminal: &'a Terminal,
}

impl Filter<'_> {
    async fn object(&self, document: &Document, draft: &Draft, drafts: &[Draft]) -> Result<String, Error> {
        let plan: Plan = tenure_client::plan(draft, drafts, &self.applier, self.cluster).await?;
        let mut manifest = draft.manifest.clone();
        // The namespace that the draft got is not part of what was rendered.
        manifest.config = document.value.clone();
        let mut applier = self.applier.clone();
        let mut leave_out = |conflict: &Conflict, why: &str| {
            settle(Settlement::LeaveOut, conflict, plan.before.as_ref(), &mut manifest, &mut applier);
            self.terminal.note(format_args!("{}: left out {}: {why}", plan.target, conflict.path.quoted()));
        };
        let replicas = Autoscalers::replicas();
        for cause in plan.causes.iter().filter(|cause| cause.cause.is_someone_elses()) {
            for conflict in plan.conflicts().iter().filter(|conflict| cause.paths.contains(&conflict.path)) {
                leave_out(conflict, &cause.sentence);
            }
        }
        let is_settled =
            plan.causes.iter().any(|cause| cause.cause.is_someone_elses() && cause.paths.contains(&replicas));
        if let Some(name) =
            self.autoscalers.of(&plan.target).filter(|_| plan.declared.has(&replicas) && !is_settled)
        {
            let conflict = Conflict { path: replicas, owners: Vec::new(), live: None, proposed: None };
            leave_out(&conflict, &format!("HorizontalPodAutoscaler {name} sets it"));
        }
        Ok(yaml::to_string(&manifest.config))
    }
}
