//! Owners and their dependents: an object whose owners are all gone follows them; one that is deleted in the
//! foreground waits for its dependents; one whose dependents are to be orphaned lets them go first.

use super::{Dependents, Outcome, own_request, owner_references, replace};
use crate::{
    Failure,
    api::{
        Api,
        delete::{self, DeleteOptions},
        object::{Stored, key, meta_text, metadata, with_metadata},
        target::Target,
    },
};
use std::sync::Arc;
use tenure_value::{Text, Value};

/// Deletes an object whose owners are all gone; drops the references to some that are.
pub(super) async fn follow(api: &Arc<Api>, key: &str) -> Result<Outcome, Failure> {
    let Some(target) = api.target_of_key(key) else { return Ok(Outcome::Done) };
    let Some(live) = api.read(&target).await? else { return Ok(Outcome::Done) };
    if live.object.at(["metadata", "deletionTimestamp"]).is_some() {
        return Ok(Outcome::Done);
    }
    let (mut gone, mut going, mut there) = (Vec::new(), Vec::new(), 0);
    for owner in owner_references(&live.object) {
        match state_of(api, &target.namespace, &owner).await? {
            State::Gone => gone.push(Text::new(owner.uid)),
            State::WaitsForDependents if owner.blocks => going.push(Text::new(owner.uid)),
            State::WaitsForDependents | State::There => there += 1,
        }
    }
    if gone.is_empty() && going.is_empty() {
        return Ok(Outcome::Done);
    }
    if there > 0 {
        return disown(api, &target, &live, |uid| gone.iter().chain(&going).any(|of| of == uid)).await;
    }
    // The last owner that deletes in the foreground waits for this object, so its own dependents go first too.
    let dependents =
        if going.is_empty() { delete::Dependents::Background } else { delete::Dependents::Foreground };
    let options =
        DeleteOptions::following(dependents).only(meta_text(&live.object, "uid"), &live.revision.to_string());
    match api.delete_object(&target, &own_request(), &options).await {
        Ok(_) => Ok(Outcome::Done),
        Err(failure) if matches!(failure.code(), 404) => Ok(Outcome::Done),
        Err(failure) if matches!(failure.code(), 409) => Ok(Outcome::Later),
        Err(failure) => Err(failure),
    }
}

/// Lets an object that waits for its dependents go on, if it can.
pub(super) async fn release(api: &Arc<Api>, dependents: &Dependents, key: &str) -> Result<Outcome, Failure> {
    let Some(target) = api.target_of_key(key) else { return Ok(Outcome::Done) };
    let Some(live) = api.read(&target).await? else { return Ok(Outcome::Done) };
    let finalizer = match waits_with(&live.object) {
        Some(finalizer) => finalizer,
        None => return Ok(Outcome::Done),
    };
    let uid = meta_text(&live.object, "uid").to_string();
    let mut blocked = false;
    for dependent in dependents.of(&uid) {
        let Some(of) = api.target_of_key(&dependent) else { continue };
        let Some(object) = api.read(&of).await? else { continue };
        if finalizer == delete::ORPHAN {
            disown(api, &of, &object, |owner| owner == uid).await?;
            blocked = true;
        } else {
            let holds = owner_references(&object.object).any(|owner| owner.uid == uid && owner.blocks);
            blocked |= holds;
            follow(api, &dependent).await?;
        }
    }
    if blocked {
        return Ok(Outcome::Later);
    }
    let held =
        metadata(&live.object).get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    let left: Vec<Value> = held.iter().filter(|name| name.as_str() != Some(finalizer)).cloned().collect();
    let fields = match left.is_empty() {
        true => metadata(&live.object).without("finalizers"),
        false => metadata(&live.object).with("finalizers", Value::array(left)),
    };
    replace(api, &target, &live, with_metadata(&live.object, fields)).await
}

/// Returns the finalizer with which an object waits for its dependents.
fn waits_with(object: &Value) -> Option<&'static str> {
    object.at(["metadata", "deletionTimestamp"])?;
    let held = object.at(["metadata", "finalizers"]).and_then(Value::as_array)?;
    [delete::ORPHAN, delete::FOREGROUND]
        .into_iter()
        .find(|name| held.iter().any(|of| of.as_str() == Some(*name)))
}

/// Returns the keys of owners that an object may have held back.
pub(super) fn waiting_owners(api: &Api, object: &Value) -> Vec<String> {
    let namespace = meta_text(object, "namespace");
    owner_references(object)
        .filter_map(|owner| owner_key(api, namespace, owner.api_version, owner.kind, owner.name))
        .collect()
}

/// What has become of an owner.
enum State {
    There,
    WaitsForDependents,
    Gone,
}

async fn state_of(api: &Api, namespace: &str, owner: &super::OwnerReference<'_>) -> Result<State, Failure> {
    let Some(key) = owner_key(api, namespace, owner.api_version, owner.kind, owner.name) else {
        // A kind that is not served now may be served later; nothing is concluded from its absence.
        return Ok(State::There);
    };
    let Some(entry) = api.store.get(key.as_bytes()).await? else { return Ok(State::Gone) };
    let object = Stored::read(&entry)?.object;
    Ok(match meta_text(&object, "uid") == owner.uid {
        false => State::Gone,
        true if waits_with(&object) == Some(delete::FOREGROUND) => State::WaitsForDependents,
        true => State::There,
    })
}

fn owner_key(api: &Api, namespace: &str, api_version: &str, kind: &str, name: &str) -> Option<String> {
    let served = api.served_kind(api_version, kind)?;
    let namespace = if served.resource.scope == crate::kinds::Scope::Namespaced { namespace } else { "" };
    Some(key(&served.resource, namespace, name))
}

/// Takes references to owners away from an object.
async fn disown(
    api: &Api,
    target: &Target,
    live: &Stored,
    is_gone: impl Fn(&str) -> bool,
) -> Result<Outcome, Failure> {
    let fields = metadata(&live.object);
    let references = fields.get("ownerReferences").and_then(Value::as_array).cloned().unwrap_or_default();
    let uid =
        |reference: &Value| reference.get("uid").and_then(Value::as_str).unwrap_or_default().to_string();
    let left: Vec<Value> = references.iter().filter(|reference| !is_gone(&uid(reference))).cloned().collect();
    if left.len() == references.len() {
        return Ok(Outcome::Done);
    }
    let fields = match left.is_empty() {
        true => fields.without("ownerReferences"),
        false => fields.with("ownerReferences", Value::array(left)),
    };
    replace(api, target, live, with_metadata(&live.object, fields)).await
}
