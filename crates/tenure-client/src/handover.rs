//! Carrying out changes of ownership. An object that was changed in the meantime is read again; if the step is still the one
//! that was shown, it is carried out.

use crate::{ClientError, Cluster, Found, JSON_PATCH, Response};
use tenure_apply::Managers;
use tenure_ownership::{Handover, LiveObject, Undo, handover::WRITER};
use tenure_value::Value;

/// How often an object that others keep changing is read again.
const ATTEMPTS: usize = 8;

/// Carries out a handover that was computed from `found`. `compute` computes it again after a concurrent change. Returns the
/// undo.
pub async fn hand_over<E: From<ClientError>>(
    found: &Found,
    handover: Handover,
    compute: impl Fn(&LiveObject) -> Result<Handover, E>,
    cluster: &Cluster,
) -> Result<Undo, E> {
    let (path, what) = (found.path(), found.target());
    let mut current = handover.clone();
    for _ in 0..ATTEMPTS {
        let response = send(&path, &current.patch(), &current.after.managers, cluster).await?;
        if response.is_success() {
            return Ok(current.undo(&response.value));
        }
        if !response.refusal().is_outdated() {
            return Err(response.error("change the owners of", &what.to_string()).into());
        }
        let shown = cluster.get(&path).await?;
        let live = LiveObject::read(&shown).map_err(|error| ClientError::invalid(&what, error))?;
        current = compute(&live)?;
        if !current.does_the_same(&handover) {
            break;
        }
    }
    Err(ClientError::Changed { what: what.to_string() }.into())
}

/// Undoes a handover and returns the name of the object. An object that was changed since is left alone, unless the undo
/// is rebased.
pub async fn undo(undo: &Undo, rebase: Rebase, cluster: &Cluster) -> Result<String, ClientError> {
    let (api_version, kind) = (undo.api_version(), undo.kind());
    let resource = cluster.kind_of(api_version, kind).await?;
    let resource = resource.ok_or_else(|| ClientError::UnknownKind {
        name: format!("{api_version} {kind}"),
        nearest: String::new(),
        server: cluster.server().to_owned(),
    })?;
    let path = resource.path(undo.namespace(), undo.name());
    let what = format!("{}/{}", resource.word(), undo.name());
    let mut response = send(&path, &undo.patch(), undo.managers(), cluster).await?;
    for _ in 0..ATTEMPTS {
        if !response.refusal().is_outdated() {
            break;
        }
        if rebase == Rebase::No {
            return Err(ClientError::ChangedSince { what });
        }
        let shown = cluster.get(&path).await?;
        let live = LiveObject::read(&shown).map_err(|error| ClientError::invalid(&what, error))?;
        let rebased = undo.rebased(&live);
        response = send(&path, &rebased.patch(), rebased.managers(), cluster).await?;
    }
    response.success("restore", &what)?;
    Ok(what)
}

/// What to do about an object that was changed after the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebase {
    /// Leave it alone.
    No,
    /// Undo the step and keep the later changes.
    Yes,
}

/// Sends a patch. A server may count a restored value, or a default, as written by the sender; a second patch then sets the
/// owners again.
async fn send(
    path: &str,
    patch: &Value,
    wanted: &Managers,
    cluster: &Cluster,
) -> Result<Response, ClientError> {
    let path = format!("{path}?fieldManager={WRITER}");
    let response = cluster.patch(&path, JSON_PATCH, patch).await?;
    let managers = response.value.at(["metadata", "managedFields"]).map(Managers::from_value);
    if !response.is_success() || managers.is_some_and(|left| left.is_ok_and(|left| left.same_fields(wanted)))
    {
        return Ok(response);
    }
    let version = response.value.at(["metadata", "resourceVersion"]).cloned().unwrap_or_default();
    cluster.patch(&path, JSON_PATCH, &tenure_ownership::handover::managers_patch(version, wanted)).await
}
