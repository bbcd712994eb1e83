//! `tenure rehearse`: applies manifests to a copy of a cluster, in a server inside this process, and reports what happens.

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
use std::path::{Path, PathBuf};
use tenure_client::Cluster;
use tenure_ownership::Applier;
use tenure_value::Value;

/// Apply manifests to a copy of a cluster and show what happens.
#[derive(Args)]
#[command(after_help = "\
Everything is applied to a copy in memory, in the order of dependencies, with the admission policies of the copy and without its webhooks,
which are named instead. The report says for every object what changes, what each manager gains and loses, the conflicts with both
values and their owners, and what a second apply would do, which must be nothing. The cluster is not changed, and with --on not even
asked.

The copy behaves as the cluster does that is read, and as a kube-apiserver with --on, unless --compatibility chooses.

Without --on, what the manifests touch is read from the cluster of the kubeconfig: the objects, their namespaces, the definitions of custom
resources and the admission policies.

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
        return Err(Error::usage("nothing to rehearse; name a file or directory with -f FILE, or two with --upgrade OLD NEW"));
    }
    let answer_for = options.answer_for;
    let (objects, key, profile) = match &options.on {
        Some(path) => {
            let (objects, key) = on_copy(path, terminal)?;
            (objects, key, answer_for.offline(None))
        }
        None => options.connection.run(async |cluster| {
            Ok((touched(&old, &new, &cluster).await?, None, answer_for.server(&cluster, None).await?))
        })?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(Error::Runtime)?;
    let applier = options.applier.applier(terminal);
    let report = runtime.block_on(async {
        let stage = Stage::open(&objects, options.connection.namespace(), profile).await?;
        let withheld = |documents: Vec<Document>| -> Vec<Document> {
            let withhold = |document: Document| match &key {
                Some(key) => Document { value: key.withhold(&document.value), ..document },
                None => document,
            };
            documents.into_iter().map(withhold).collect()
        };
        let (old, new) = (withheld(old), withheld(new));
        let mut report = Report::new(&stage);
        if !old.is_empty() {
            report.old = stage.establish(&old, &applier, options.client_side).await?;
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
pub async fn on_live(manifests: Vec<Value>, applier: &Applier, cluster: &Cluster) -> Result<Value, Error> {
    let place = |at: usize| Place::of(Path::new("manifests")).item(at);
    let documents: Vec<Document> =
        manifests.into_iter().enumerate().map(|(at, value)| Document { value, place: place(at) }).collect();
    let objects = touched(&[], &documents, cluster).await?;
    let stage = Stage::open(&objects, Some(&cluster.namespace), cluster.profile().await?).await?;
    let mut report = Report::new(&stage);
    report.first = stage.apply(&documents, applier).await?;
    report.second = stage.plans(&documents, applier).await?;
    Ok(report.to_value())
}

fn read_all(path: &Path) -> Result<Vec<Document>, Error> {
    let files = Files { files: vec![path.to_owned()], recursive: true, ..Files::default() };
    files.read()
}

/// Reads the objects of a copy, and the key of its digests of Secrets.
fn on_copy(path: &Path, terminal: &Terminal) -> Result<(Vec<Value>, Option<SecretKey>), Error> {
    let mut key = None;
    if CloneDirectory::is_at(path) {
        let clone = CloneDirectory::read(path)?;
        key = clone.key()?;
        if clone.has_digests() && key.is_none() {
            terminal.note("the key of the clone is not on this machine, so that every value of a Secret seems to change");
        }
    }
    Ok((source::read(path)?.objects, key))
}

/// The kinds that decide about the writes of others, by their paths.
const POLICIES: [&str; 6] = [
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/api/v1/namespaces",
];

/// Reads what manifests touch from a cluster.
async fn touched(old: &[Document], new: &[Document], cluster: &Cluster) -> Result<Vec<Value>, Error> {
    let mut objects = Vec::new();
    for path in POLICIES {
        let response = cluster.send(http::Method::GET, path, "application/json", None).await?;
        let list = match response.code {
            // What may not be read cannot be part of the copy.
            403 | 404 => continue,
            _ => response.success("read", path)?,
        };
        let text = |name: &str| list.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = text("kind").trim_end_matches("List").to_owned();
        for item in list.get("items").and_then(Value::as_array).into_iter().flat_map(|items| items.iter()) {
            let item = item.as_object().cloned().unwrap_or_default();
            objects.push(Value::Object(item.with("apiVersion", text("apiVersion")).with("kind", kind.as_str())));
        }
    }
    for document in old.iter().chain(new) {
        let draft = document.draft(cluster).await?;
        if let Some(path) = draft.path()
            && let Some(found) = cluster.find(&path).await?
        {
            objects.push(found);
        }
    }
    Ok(objects)
}
