//! `tenure helm check`: what the next upgrade of a release will meet. The objects are those of a chart, of a rendered stream, or of the
//! release itself; each is planned as Helm 4 applies it.

use super::{MANAGER, chart::ChartFlags, release::Release, rendered};
use crate::{
    Error, Outcome,
    check::{self, CheckFlags, Finding, Subject},
    connection::Connection,
    document::{self, Document, Files},
    place::Place,
    plan_text::count,
    terminal::{Format, Terminal},
};
use clap::Args;
use std::collections::HashSet;
use tenure_client::{Cluster, Draft};
use tenure_ownership::LiveObject;

/// Say what the next upgrade of a release will meet, by cause, and settle it without changing a value.
#[derive(Args)]
#[command(after_help = "\
Every object of the chart is planned as Helm 4 applies it: by server-side apply, as the manager \"helm\", without --force-conflicts. The
objects are those of --chart (rendered by the `helm` on the PATH), of -f (the output of `helm template` or `helm get manifest`, or the
Secret of a release), or those that the release has now. Hooks are left out.

With --fix, the fields that Helm 3, client-side apply, a program that uses Helm under its own name, a person or a client without a name
left behind move to \"helm\". No value changes; the change is shown first (--dry-run only shows it), and `tenure undo` reverts it. What an
autoscaler, a webhook or a controller sets stays theirs: leave it out of the chart, or let `tenure helm post-render` leave it out.

Exit codes: 0 the upgrade passes, 1 error, 2 it passes but there is something to know, 3 conflicts.

Examples:
  tenure helm check web -n shop
  tenure helm check web -n shop --chart ./chart --values production.yaml --fix
  helm template web ./chart | tenure helm check web -n shop -f - -o json")]
pub struct Options {
    /// The release.
    #[arg(value_name = "RELEASE")]
    release: String,
    #[command(flatten)]
    chart: ChartFlags,
    #[command(flatten)]
    files: Files,
    /// The field manager of the upgrade; a program that uses Helm as a library may have another one.
    #[arg(long, visible_alias = "field-manager", value_name = "NAME", default_value = MANAGER)]
    manager: String,
    #[command(flatten)]
    check: CheckFlags,
    #[command(flatten)]
    connection: Connection,
}

/// Checks a release.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let given = if options.files.is_empty() { None } else { Some(options.files.read()?) };
    options.connection.run(async |cluster| {
        let release = Release::find(&options.release, &cluster).await?;
        let upgrade = Upgrade { options: &options, cluster: &cluster, release };
        let subject = upgrade.subject(given, terminal).await?;
        check::run(subject, &options.check, &cluster, terminal).await
    })
}

struct Upgrade<'a> {
    options: &'a Options,
    cluster: &'a Cluster,
    release: Option<Release>,
}

impl Upgrade<'_> {
    async fn subject(&self, given: Option<Vec<Document>>, terminal: &Terminal) -> Result<Subject, Error> {
        let (name, namespace) = (self.options.release.as_str(), self.cluster.namespace.as_str());
        let current = match &self.release {
            Some(release) => rendered::objects(self.parsed(release)?, name, namespace)?,
            None => Vec::new(),
        };
        let documents = match (&self.options.chart.chart, given, &self.release) {
            (Some(chart), ..) => {
                let config = self.release.as_ref().map(|release| release.config.clone()).unwrap_or_default();
                self.options.chart.render(chart, name, namespace, &config)?
            }
            (None, Some(given), _) => expanded(given)?,
            (None, None, Some(_)) => current.clone(),
            (None, None, None) => {
                return Err(Error::usage(format!(
                    "there is no release {name} in the namespace {namespace}; choose another with -n, or give rendered objects with -f or --chart"
                )));
            }
        };
        let documents = rendered::objects(documents, name, namespace)?;
        if documents.is_empty() {
            return Err(Error::usage("nothing to check: there is no object but hooks"));
        }
        let mut drafts = Vec::with_capacity(documents.len());
        for document in documents {
            drafts.push((document.draft(self.cluster).await?, document.place));
        }
        let known = self.targets(&current).await?;
        let findings = self.findings(&drafts, &known).await?;
        let applied: HashSet<String> =
            drafts.iter().map(|(draft, _)| draft.manifest.target.to_string()).collect();
        for gone in known.iter().filter(|known| !applied.contains(*known)) {
            terminal.note(format_args!("{gone}: not in the chart any more; the upgrade deletes it"));
        }
        let about = match &self.release {
            Some(release) => format!("{} {}, revision {}", release.status, release.name, release.revision),
            None => format!("new release {name}"),
        };
        let title = format!(
            "{about}, in {namespace}: {}, applied as {}",
            count(drafts.len(), "object"),
            self.options.manager
        );
        if self.options.check.flags.output == Format::Text
            && self.release.as_ref().is_some_and(|release| !release.is_server_side)
        {
            terminal.note("The release was applied on the client so far, and Helm 4 keeps that until an upgrade with --server-side=true. This is what that upgrade meets.");
        }
        Ok(Subject { drafts, manager: self.options.manager.clone(), findings, title })
    }

    fn parsed(&self, release: &Release) -> Result<Vec<Document>, Error> {
        let name = format!("release {}, revision {}", release.name, release.revision);
        document::parse(release.manifest.as_bytes(), name.as_ref())
    }

    /// Returns the objects of the current revision.
    async fn targets(&self, current: &[Document]) -> Result<Vec<String>, Error> {
        let mut targets = Vec::with_capacity(current.len());
        for document in current {
            targets.push(document.draft(self.cluster).await?.manifest.target.to_string());
        }
        Ok(targets)
    }

    /// Returns the objects that exist outside of the release: Helm does not take them.
    async fn findings(&self, drafts: &[(Draft, Place)], known: &[String]) -> Result<Vec<Finding>, Error> {
        let known: HashSet<&String> = known.iter().collect();
        let (name, namespace) = (self.options.release.as_str(), self.cluster.namespace.as_str());
        let mut findings = Vec::new();
        for (draft, _) in drafts {
            let target = &draft.manifest.target;
            let (Some(path), false) = (draft.path(), known.contains(&target.to_string())) else { continue };
            let live: Option<LiveObject> = self.cluster.find_live(&path).await?;
            if let Some(message) = live.and_then(|live| rendered::refused(&live, name, namespace)) {
                findings.push(Finding { target: target.clone(), message, outcome: Outcome::Conflicts });
            }
        }
        Ok(findings)
    }
}

/// Returns documents with the objects of releases in the place of the Secrets that store them.
fn expanded(documents: Vec<Document>) -> Result<Vec<Document>, Error> {
    let mut all = Vec::with_capacity(documents.len());
    for document in documents {
        if !Release::is_stored_in(&document) {
            all.push(document);
            continue;
        }
        let release =
            Release::stored(&document.value).map_err(|problem| Error::document(&document.place, problem))?;
        all.extend(document::parse(release.manifest.as_bytes(), document.place.file())?);
    }
    Ok(all)
}
