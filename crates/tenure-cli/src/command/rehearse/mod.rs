//! `tenure rehearse`: applies manifests to a copy of a cluster, in a server inside this process, and reports what happens.

#[cfg(test)]
mod predictions;
mod report;
mod stage;

use super::plan::{ApplierOptions, PlanFormat};
use crate::{
    Error, Outcome,
    clone::{CloneDirectory, secrets::SecretKey, source},
    compatibility::AnswerFor,
    connection::Connection,
    document::{Document, Files},
    place::Place,
    terminal::Terminal,
};
use clap::Args;
use report::Report;
use stage::Stage;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use tenure_client::Cluster;
use tenure_ownership::ApplyingManager;
use tenure_profile::KubernetesVersion;
use tenure_value::Value;

/// Apply manifests to a copy of a cluster and show what happens.
#[derive(Args)]
#[command(after_help = "\
Everything is applied to a copy in memory, in the order of dependencies, with the admission policies of the copy and without its webhooks,
which are named instead. The report says for every object what changes, what each manager gains and loses, the conflicts with both
values and their owners, and what a second apply would do, which must be nothing. The cluster is not changed, and with --on not even
asked.

The copy behaves as the cluster does that is read; with --on as a kube-apiserver of the version that was cloned. --compatibility chooses
otherwise.

Without --on, what the manifests touch is read from the cluster of the kubeconfig: the objects, their namespaces, the definitions of custom
resources, the admission policies, and the limits and quotas of their namespaces.

With --upgrade, the manifests of the old release are applied first, then those of the new one are rehearsed; objects that the new
release no longer has are named. With --client-side, the old release is applied as `kubectl apply` does without --server-side.

In a pull request, -o markdown is a comment, -o sarif annotations at the lines of the manifests, and -o junit a test report, as `tenure plan` has
them; what a second apply would do is part of the comment.

Exit codes: 0 nothing would change, 1 error, 2 changes, 3 conflicts.

Examples:
  tenure rehearse --on copy -f manifests/ --manager ci
  tenure rehearse --context production -f manifests/
  tenure rehearse --on copy -f manifests/ -o markdown
  tenure rehearse --on copy --upgrade v1/ v2/ --client-side")]
pub struct Options {
    #[command(flatten)]
    files: Files,
    /// The copy: a directory of `tenure clone`, or a dump, a support bundle or a backup as `tenure clone --from` takes it.
    #[arg(long, value_name = "PATH")]
    on: Option<PathBuf>,
    /// Rehearse the step from the manifests of one release to those of the next.
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with_all = ["files", "kustomizations"])]
    upgrade: Vec<PathBuf>,
    /// The old release was applied on the client, as `kubectl apply` does.
    #[arg(long, requires = "upgrade")]
    client_side: bool,
    #[command(flatten)]
    applier: ApplierOptions,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: PlanFormat,
    #[command(flatten)]
    answer_for: AnswerFor,
    #[command(flatten)]
    connection: Connection,
}

/// Rehearses an apply.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let (old, new) = match options.upgrade.as_slice() {
        [old, new] => (read_all(old)?, read_all(new)?),
        _ => (Vec::new(), options.files.read()?),
    };
    if new.is_empty() {
        return Err(Error::usage(
            "nothing to rehearse; name a file or directory with -f FILE, or two with --upgrade OLD NEW",
        ));
    }
    let answer_for = options.answer_for;
    let (copy, profile) = match &options.on {
        Some(path) => {
            let copy = Copy::read(path, terminal)?;
            let profile = answer_for.offline(copy.version);
            (copy, profile)
        }
        None => options.connection.run(async |cluster| {
            Ok((Copy::of_touched(&old, &new, &cluster).await?, answer_for.server(&cluster, None).await?))
        })?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(Error::Runtime)?;
    let applier = options.applier.applier(terminal);
    let report = runtime.block_on(async {
        let mut stage = Stage::open(&copy.objects, options.connection.namespace(), profile).await?;
        stage.left_out.extend(copy.left_out);
        let withheld = |documents: Vec<Document>| -> Vec<Document> {
            let withhold = |document: Document| match &copy.key {
                Some(key) => Document { value: key.withhold(&document.value), ..document },
                None => document,
            };
            documents.into_iter().map(withhold).collect()
        };
        let (old, new) = (withheld(old), withheld(new));
        stage.keep_versions(old.iter().chain(&new)).await?;
        let mut report = Report::new(&stage);
        if !old.is_empty() {
            if options.client_side {
                stage.apply_client_side(&old).await?;
            } else {
                report.old = stage.apply(&old, &applier).await?.plans;
            }
            report.gone = stage::gone(&old, &new);
        }
        report.first = stage.apply(&new, &applier).await?;
        report.second = stage.plans(&new, &applier).await?;
        Ok::<_, Error>(report)
    });
    let report = report?;
    // The server ends with its runtime; nothing of it is needed any more.
    runtime.shutdown_background();
    let typed = options.applier.typed(&options.files, &options.connection);
    report.show(options.output, options.applier.shown(), &typed, terminal)
}

/// Rehearses an apply of objects on what they touch in a cluster, and returns the report as a document.
pub async fn on_live(
    manifests: Vec<Value>,
    applier: &ApplyingManager,
    cluster: &Cluster,
) -> Result<Value, Error> {
    let place = |at: usize| Place::of(Path::new("manifests")).item(at);
    let documents: Vec<Document> =
        manifests.into_iter().enumerate().map(|(at, value)| Document { value, place: place(at) }).collect();
    let copy = Copy::of_touched(&[], &documents, cluster).await?;
    let mut stage = Stage::open(&copy.objects, Some(&cluster.namespace), cluster.profile().await?).await?;
    stage.left_out.extend(copy.left_out);
    stage.keep_versions(&documents).await?;
    let mut report = Report::new(&stage);
    report.first = stage.apply(&documents, applier).await?;
    report.second = stage.plans(&documents, applier).await?;
    Ok(report.to_value())
}

fn read_all(path: &Path) -> Result<Vec<Document>, Error> {
    let files = Files { files: vec![path.to_owned()], recursive: true, ..Files::default() };
    files.read()
}

/// What a rehearsal takes from a copy.
#[derive(Default)]
struct Copy {
    objects: Vec<Value>,
    /// What is not part of it, and why.
    left_out: Vec<String>,
    /// The key of its digests of Secrets.
    key: Option<SecretKey>,
    /// The version of Kubernetes of the cluster, if the copy says it.
    version: Option<KubernetesVersion>,
}

impl Copy {
    fn read(path: &Path, terminal: &Terminal) -> Result<Copy, Error> {
        let (mut key, mut version) = (None, None);
        if CloneDirectory::is_at(path) {
            let clone = CloneDirectory::read(path)?;
            (key, version) = (clone.key()?, clone.kubernetes());
            if clone.has_digests() && key.is_none() {
                terminal.note(
                    "the key of the clone is not on this machine, so that every value of a Secret seems to change",
                );
            }
        }
        let source = source::read(path)?;
        Ok(Copy { objects: source.objects, left_out: source.left_out, key, version })
    }

    /// Reads what manifests touch from a cluster.
    async fn of_touched(old: &[Document], new: &[Document], cluster: &Cluster) -> Result<Copy, Error> {
        let (mut copy, mut namespaces) = (Copy::default(), BTreeSet::new());
        for path in POLICIES {
            copy.add_all(path, cluster).await?;
        }
        for document in old.iter().chain(new) {
            let draft = document.draft(cluster).await?;
            if let Some(path) = draft.path()
                && let Some(found) = cluster.find(&path).await?
            {
                copy.objects.push(found);
            }
            namespaces.insert(draft.manifest.target.namespace);
        }
        for namespace in namespaces.iter().filter(|namespace| !namespace.is_empty()) {
            for resource in LIMITS {
                copy.add_all(&format!("/api/v1/namespaces/{namespace}/{resource}"), cluster).await?;
            }
        }
        Ok(copy)
    }

    /// Adds the objects of a collection. One that may not be read is left out, which the report says.
    async fn add_all(&mut self, path: &str, cluster: &Cluster) -> Result<(), Error> {
        let response = cluster.send(http::Method::GET, path, "application/json", None).await?;
        let list = match response.code {
            // A server may be older than a kind.
            404 => return Ok(()),
            403 => {
                self.left_out.push(format!("{path}: you may not list it"));
                return Ok(());
            }
            _ => response.success("read", path)?,
        };
        let text = |name: &str| list.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = text("kind").trim_end_matches("List");
        let typed = |item: &Value| {
            let item = item.as_object().cloned().unwrap_or_default();
            Value::Object(item.with("apiVersion", text("apiVersion")).with("kind", kind))
        };
        self.objects.extend(list.get("items").and_then(Value::as_array).into_iter().flatten().map(typed));
        Ok(())
    }
}

/// The kinds that decide about the writes of others, by their paths.
const POLICIES: [&str; 12] = [
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/api/v1/namespaces",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/networking.k8s.io/v1/ingressclasses",
    "/apis/node.k8s.io/v1/runtimeclasses",
];
/// Those that decide about the objects of their namespace.
const LIMITS: [&str; 2] = ["limitranges", "resourcequotas"];
