//! Server-side apply on a server: what it would do, from a dry run, and doing it.

use crate::{APPLY_PATCH, ClientError, Cluster, Resource, Response};
use tenure_ownership::{
    ApplyingManager, ForcedFields, LiveObject, Manifest, Plan,
    plan::{self, DryRun},
};
use tenure_transport::escaped;
use tenure_value::Value;

/// A manifest for a server.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The manifest.
    pub manifest: Manifest<'static>,
    /// The kind as the server has it; `None` if it does not (yet).
    pub resource: Option<Resource>,
}

/// Whether a request is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The server computes the result and stores nothing.
    DryRun,
    /// The server stores the result.
    Write,
}

impl Draft {
    /// Prepares a configuration, which must have an apiVersion, a kind and a name, for a server.
    pub async fn new(config: Value, source: String, cluster: &Cluster) -> Result<Draft, ClientError> {
        let text = |name| config.get(name).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let resource = cluster.kind_of(api_version, kind).await?;
        let ty = cluster.type_of(api_version, kind).await?;
        let mut manifest = Manifest::new(config, source, ty);
        if let Some(resource) = &resource {
            manifest.target.word = resource.word();
            let namespace = match (resource.is_namespaced(), manifest.target.namespace.as_str()) {
                (false, _) => String::new(),
                (true, "") => cluster.namespace.clone(),
                (true, namespace) => namespace.to_owned(),
            };
            manifest = manifest.in_namespace(&namespace);
        }
        Ok(Draft { manifest, resource })
    }

    /// Returns the path of the object; `None` if the server does not have its kind.
    pub fn path(&self) -> Option<String> {
        let target = &self.manifest.target;
        self.resource.as_ref().map(|resource| resource.path(&target.namespace, &target.name))
    }

    /// Whether this is the definition of another draft's kind.
    fn defines(&self, other: &Draft) -> bool {
        let config = &self.manifest.config;
        let text = |path: &[&str]| config.at(path.iter().copied()).and_then(Value::as_str);
        let target = &other.manifest.target;
        let group = target.api_version.split_once('/').map(|(group, _)| group);
        self.manifest.target.kind == "CustomResourceDefinition"
            && text(&["spec", "names", "kind"]) == Some(&target.kind)
            && text(&["spec", "group"]) == group
    }

    /// Whether this is the namespace of another draft.
    fn is_namespace_of(&self, other: &Draft) -> bool {
        let target = &self.manifest.target;
        target.word == "namespace" && target.name == other.manifest.target.namespace
    }
}

/// Sends an apply. A server that does not know `force-path` ignores it; if only the given paths conflict, everything is
/// forced, but only on the object as it was read.
pub async fn apply(
    draft: &Draft,
    path: &str,
    before: Option<&LiveObject>,
    applier: &ApplyingManager,
    mode: Mode,
    cluster: &Cluster,
) -> Result<Response, ClientError> {
    let manifest = &draft.manifest;
    let response = send(&manifest.config, path, &applier.force, applier, mode, cluster).await?;
    let (ForcedFields::Paths(paths), Some(before)) = (&applier.force, before) else { return Ok(response) };
    let refusal = response.refusal();
    if !refusal.is_conflict() || !plan::conflicts_within(&refusal, paths, manifest, before) {
        return Ok(response);
    }
    send(&manifest.guarded(&before.object), path, &ForcedFields::All, applier, mode, cluster).await
}

async fn send(
    config: &Value,
    path: &str,
    force: &ForcedFields,
    applier: &ApplyingManager,
    mode: Mode,
    cluster: &Cluster,
) -> Result<Response, ClientError> {
    let query = query(&applier.manager, force, mode);
    let response = cluster.patch(&format!("{path}{query}"), APPLY_PATCH, config).await?;
    match response.code {
        415 => Err(ClientError::NoServerSideApply { server: cluster.server().to_owned() }),
        _ => Ok(response),
    }
}

/// Returns the parameters of an apply.
pub(crate) fn query(manager: &str, force: &ForcedFields, mode: Mode) -> String {
    let mut query = format!("?fieldManager={}&fieldValidation=Strict", escaped(manager));
    match force {
        ForcedFields::None => {}
        ForcedFields::Paths(paths) => {
            paths.iter().for_each(|path| query += &format!("&force-path={}", escaped(path)))
        }
        ForcedFields::All => query += "&force=true",
    }
    if mode == Mode::DryRun {
        query += "&dryRun=All";
    }
    query
}

/// How often an object that others keep changing is read and planned, until both are of the same version.
const CONSISTENT_WITHIN: usize = 6;

/// Whether a dry run started from the object that was read. Otherwise the plan would show what others changed in between.
fn is_from(response: &Response, before: Option<&LiveObject>) -> bool {
    if !response.is_success() {
        return true;
    }
    let version = response.value.at(["metadata", "resourceVersion"]);
    match before {
        Some(before) => version.is_none_or(|version| *version == before.resource_version()),
        // An answer about a new object is 201.
        None => response.code != 200,
    }
}

/// Returns what an apply would do. `together` are the drafts that are applied before or with this one: a namespace or a
/// definition among them need not exist yet.
pub async fn plan(
    draft: &Draft,
    together: &[Draft],
    applier: &ApplyingManager,
    cluster: &Cluster,
) -> Result<Plan, ClientError> {
    let manifest = &draft.manifest;
    let defined = || together.iter().any(|other| other.defines(draft));
    let Some(path) = draft.path() else {
        if defined() {
            return Ok(plan::offline(manifest, None, applier, cluster.profile().await?));
        }
        let lacks = cluster.lacks_kind(&manifest.target.api_version, &manifest.target.kind).await?;
        let problem = match lacks.ends_with('?') {
            true => lacks,
            false => format!("{lacks}; check apiVersion and kind, or apply its definition first"),
        };
        return Ok(Plan::refused(manifest, applier, None, problem));
    };
    let mut planned = dry_run(draft, &path, applier, cluster).await?;
    for _ in 1..CONSISTENT_WITHIN {
        if planned.is_consistent {
            break;
        }
        planned = dry_run(draft, &path, applier, cluster).await?;
    }
    let Planned { before, response, forced, is_consistent } = planned;
    let read = |shown: &Value| {
        LiveObject::read(shown).map_err(|error| ClientError::invalid(&manifest.target, error))
    };
    let answer = if response.is_success() {
        DryRun::Applied(read(&response.value)?)
    } else {
        let refusal = response.refusal();
        let comes_later = || defined() || together.iter().any(|other| other.is_namespace_of(draft));
        if before.is_none() && refusal.code == 404 && comes_later() {
            let plan = plan::offline(manifest, None, applier, cluster.profile().await?);
            return Ok(plan.with_warnings(response.warnings));
        }
        DryRun::Refused(refusal, forced.map(|response| read(&response.value)).transpose()?)
    };
    let plan = plan::from_dry_run(manifest, before, answer, applier).with_warnings(response.warnings);
    Ok(if is_consistent { plan } else { plan.without_others(&applier.manager) })
}

/// What a server answers to a dry run.
struct Planned {
    /// The object that was read before.
    before: Option<LiveObject>,
    response: Response,
    /// The answer with force, if there are conflicts and nothing else is wrong.
    forced: Option<Response>,
    /// Whether the answers are about the object that was read.
    is_consistent: bool,
}

async fn dry_run(
    draft: &Draft,
    path: &str,
    applier: &ApplyingManager,
    cluster: &Cluster,
) -> Result<Planned, ClientError> {
    let before = cluster.find_live(path).await?;
    let response = apply(draft, path, before.as_ref(), applier, Mode::DryRun, cluster).await?;
    let mut forced = None;
    if !response.is_success() && response.refusal().is_conflict() {
        let config = &draft.manifest.config;
        let response = send(config, path, &ForcedFields::All, applier, Mode::DryRun, cluster).await?;
        forced = response.is_success().then_some(response);
    }
    let is_consistent = is_from(forced.as_ref().unwrap_or(&response), before.as_ref());
    Ok(Planned { before, response, forced, is_consistent })
}
