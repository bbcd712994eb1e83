//! `tenure clone`: copies a cluster into a directory, with the owners of all fields; or turns dumps and backups into such a directory.

use crate::{
    Error, Outcome,
    clone::{CloneDirectory, secrets::SecretKey, source},
    connection::Connection,
    object_identity::group_of,
    terminal::{Progress, Terminal},
};
use clap::Args;
use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
};
use tenure_client::{ClientError, Cluster, Resource, Selection};
use tenure_value::Value;

/// How often a kind is read again from its beginning because its pages expired.
const ATTEMPTS: usize = 5;

/// Copy a cluster with the owners of all fields into a directory.
#[derive(Args)]
#[command(after_help = "\
Every kind that the user may list is read page by page; the objects of a kind are all of one moment. What may not be read is listed and
left out. An interrupted clone continues when the command is run again. Values of Secrets are replaced by digests, whose key is kept in a
private directory of the user and not in the clone, so that manifests can still be compared with it; --secret-values copies them.

With --from, the objects are those of a file or a directory: what `kubectl get -o yaml --show-managed-fields` or `-o json` printed, a
support bundle, a must-gather, a snapshot of the etcd of a cluster (`etcdctl snapshot save`, not encrypted at rest), a backup of another Tenure, or
another clone.

`tenure rehearse --on DIR` and `tenure serve --from DIR` use the clone; it is not changed by that.

Examples:
  tenure clone --context production copy
  tenure clone -n shop --kinds deployments,configmaps copy
  tenure clone --from must-gather.local copy")]
pub struct Options {
    /// The directory to write.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Read this file or directory instead of a cluster.
    #[arg(long, value_name = "PATH", conflicts_with = "kinds")]
    from: Option<PathBuf>,
    /// Copy only these kinds, separated by commas. Namespaces and definitions of custom resources are copied always.
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    kinds: Vec<String>,
    /// Copy the values of Secrets, too.
    #[arg(long)]
    secret_values: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Copies a cluster or files.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let time = terminal.now.to_string();
    let clone = match &options.from {
        Some(path) => {
            let found = source::read(path)?;
            let source = format!("{}", path.display());
            let mut clone = CloneDirectory::start(&options.directory, &source, time, !options.secret_values)?;
            write_files(&mut clone, found, options.secret_values)?;
            clone
        }
        None => options.connection.run(async |cluster| {
            let source = cluster.server().to_owned();
            let mut clone = CloneDirectory::start(&options.directory, &source, time, !options.secret_values)?;
            clone.set_kubernetes(cluster.profile().await?.version());
            copy(&mut clone, &options, &cluster, terminal).await?;
            Ok(clone)
        })?,
    };
    for what in clone.left_out() {
        terminal.note(format_args!("left out: {what}"));
    }
    terminal.print(format!("{}: {} objects\n", options.directory.display(), clone.objects()))?;
    Ok(Outcome::Done)
}

/// Kinds that are copied whatever is asked for, since others depend on them.
const ALWAYS: [(&str, &str); 2] = [("", "namespaces"), ("apiextensions.k8s.io", "customresourcedefinitions")];

/// Returns the name of the file of a kind.
fn name(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}

async fn copy(
    clone: &mut CloneDirectory,
    options: &Options,
    cluster: &Cluster,
    terminal: &Terminal,
) -> Result<(), Error> {
    let key = if options.secret_values { None } else { Some(SecretKey::find_or_make(&clone.id)?) };
    let mut seen = HashSet::new();
    let all = cluster.kinds().await?;
    // A kind with several versions is read once.
    let lists = |kind: &&Resource| {
        kind.verbs.iter().any(|verb| verb == "list") && seen.insert((kind.group.clone(), kind.plural.clone()))
    };
    let mut kinds: Vec<&Resource> = all.iter().filter(lists).collect();
    if !options.kinds.is_empty() {
        for wanted in &options.kinds {
            cluster.kind_named(wanted).await?;
        }
        let is_wanted = |kind: &&Resource| {
            ALWAYS.contains(&(kind.group.as_str(), kind.plural.as_str()))
                || options.kinds.iter().any(|wanted| kind.is_named(wanted))
        };
        kinds.retain(is_wanted);
    }
    let progress = Progress::new(terminal, "copying kinds", kinds.len());
    for kind in kinds {
        let name = name(&kind.plural, &kind.group);
        if !clone.has(&name) {
            copy_kind(clone, kind, &name, options, key.as_ref(), cluster).await?;
        }
        progress.step();
    }
    progress.finish();
    clone.complete()
}

/// Copies the objects of a kind. Pages belong to one moment; if they expire, the kind is read again.
async fn copy_kind(
    clone: &mut CloneDirectory,
    kind: &Resource,
    name: &str,
    options: &Options,
    key: Option<&SecretKey>,
    cluster: &Cluster,
) -> Result<(), Error> {
    let namespace = options.connection.namespace().filter(|_| kind.is_namespaced());
    for attempt in 1..=ATTEMPTS {
        let mut writer = clone.begin(name)?;
        let (mut token, mut version) = (None, String::new());
        let end = loop {
            let page = cluster.page(kind, namespace, &Selection::default(), token.as_deref()).await;
            let page = match page {
                Ok(page) => page,
                Err(error) => break Err(error),
            };
            for found in &page.objects {
                match key {
                    Some(key) => writer.write(&key.withhold(&found.shown))?,
                    None => writer.write(&found.shown)?,
                }
            }
            if version.is_empty() {
                version = page.resource_version;
            }
            match page.next {
                Some(next) => token = Some(next),
                None => break Ok(()),
            }
        };
        match end {
            Ok(()) => return clone.finish(name, writer, &version),
            Err(ClientError::Refused { code: 410, .. }) if attempt < ATTEMPTS => {}
            Err(ClientError::Refused { code: code @ (403..=405), message, .. }) => {
                clone.leave_out(format!("{name}: {message} ({code})"));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn write_files(clone: &mut CloneDirectory, found: source::Objects, secret_values: bool) -> Result<(), Error> {
    let key = if secret_values { None } else { Some(SecretKey::find_or_make(&clone.id)?) };
    let mut by_kind: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for object in &found.objects {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let group = group_of(text("apiVersion"));
        // The plural is not known here; the kind tells the files apart as well.
        let safe = |text: &str| {
            text.chars().filter(|one| one.is_ascii_alphanumeric() || ".-".contains(*one)).collect::<String>()
        };
        by_kind.entry(name(&safe(&text("kind").to_lowercase()), &safe(group))).or_default().push(object);
    }
    for (name, objects) in by_kind {
        if clone.has(&name) {
            continue;
        }
        let mut writer = clone.begin(&name)?;
        for object in objects {
            match &key {
                Some(key) => writer.write(&key.withhold(object))?,
                None => writer.write(object)?,
            }
        }
        clone.finish(&name, writer, "")?;
    }
    for what in found.left_out {
        clone.leave_out(what);
    }
    clone.complete()
}
