//! The application that an object belongs to, read from the marks that deployment tools leave on it: a Helm release, an Argo CD
//! application, a Flux Kustomization or HelmRelease, a controller's owner reference.

use std::fmt;
use tenure_fields::{Path, PathElement};
use tenure_value::Value;

/// What an object belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// The family of the tool that deploys it; see [`Tool`](super::Tool).
    pub family: &'static str,
    /// What the tool calls it, such as `Helm release`.
    pub word: &'static str,
    /// Its namespace; empty if the mark has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A mark: where it is, the key of the name, the key of the namespace, and what it means.
struct Mark(&'static str, &'static str, Option<&'static str>, &'static str, &'static str);

const MARKS: &[Mark] = &[
    Mark(
        "labels",
        "helm.toolkit.fluxcd.io/name",
        Some("helm.toolkit.fluxcd.io/namespace"),
        "FluxHelm",
        "Flux HelmRelease",
    ),
    Mark(
        "labels",
        "kustomize.toolkit.fluxcd.io/name",
        Some("kustomize.toolkit.fluxcd.io/namespace"),
        "FluxKustomize",
        "Flux Kustomization",
    ),
    Mark("annotations", "argocd.argoproj.io/tracking-id", None, "ArgoCd", "Argo CD application"),
    Mark(
        "annotations",
        "meta.helm.sh/release-name",
        Some("meta.helm.sh/release-namespace"),
        "Helm",
        "Helm release",
    ),
    Mark("labels", "crossplane.io/composite", None, "Crossplane", "Crossplane composite"),
    Mark("labels", "kapp.k14s.io/app", None, "", "kapp application"),
    Mark("labels", "olm.owner", Some("olm.owner.namespace"), "", "OLM operator"),
];

/// Returns what an object belongs to, the outermost tool first: a HelmRelease of Flux stands before its Helm release.
pub fn applications(object: &Value) -> Vec<Application> {
    let text = |place: &str, key: &str| {
        object.at(["metadata", place, key]).and_then(Value::as_str).unwrap_or_default()
    };
    let mut found = Vec::new();
    for Mark(place, key, namespace, family, word) in MARKS {
        // Argo CD's tracking id names the application before the first colon.
        let name = text(place, key).split(':').next().unwrap_or_default().to_owned();
        if name.is_empty() {
            continue;
        }
        let namespace = namespace.map_or("", |key| text(place, key)).to_owned();
        found.push(Application { family, word, namespace, name });
    }
    found
}

/// Returns the paths of the marks that an object has.
pub(super) fn marks(object: &Value) -> Vec<Path> {
    let path =
        |place: &str, key: &str| ["metadata", place, key].map(PathElement::field).into_iter().collect();
    let found = MARKS.iter().filter(|Mark(place, key, ..)| object.at(["metadata", place, key]).is_some());
    found.map(|Mark(place, key, ..)| path(place, key)).collect()
}

/// Returns the controller that an object belongs to by its owner references, such as `ReplicaSet web-5d4`.
pub fn controller(object: &Value) -> Option<String> {
    let references = object.at(["metadata", "ownerReferences"]).and_then(Value::as_array)?;
    let controls = |reference: &&Value| reference.get("controller").and_then(Value::as_bool) == Some(true);
    let reference = references.iter().find(controls)?;
    let text = |name: &str| reference.get(name).and_then(Value::as_str);
    Some(format!("{} {}", text("kind")?, text("name")?))
}

impl fmt::Display for Application {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{} {}", self.word, self.name),
            namespace => write!(f, "{} {namespace}/{}", self.word, self.name),
        }
    }
}
