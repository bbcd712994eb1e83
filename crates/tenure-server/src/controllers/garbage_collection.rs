//! Owners and their dependents: an object whose owners are all gone follows them; one that is deleted in the
//! foreground waits for its dependents; one whose dependents are to be orphaned lets them go first.

use super::{Outcome, OwnerReference, World, own_request, owner_references, replace};
use crate::{
    Failure,
    kinds::Scope,
    object::{Stored, key, meta_text, metadata, with_metadata},
    server::Server,
    target::Target,
    write::delete::{self, DeleteOptions},
};
use tenure_value::{Text, Value};

/// Deletes an object whose owners are all gone or wait for it; drops the references to some that are.
pub(super) async fn follow(world: &World, key: &str) -> Result<Outcome, Failure> {
    let api = &world.api;
    let Some(target) = api.target_of_key(key) else { return Ok(Outcome::Done) };
    let Some(live) = api.read(&target).await? else { return Ok(Outcome::Done) };
    if live.object.at(["metadata", "deletionTimestamp"]).is_some() {
        return Ok(Outcome::Done);
    }
    let (mut gone, mut going, mut there) = (Vec::new(), Vec::new(), 0);
    for owner in owner_references(&live.object) {
        match state_of(api, &target, &owner).await? {
            State::Gone => gone.push(Text::new(owner.uid)),
            State::WaitsForDependents => going.push(Text::new(owner.uid)),
            State::There => there += 1,
        }
    }
    if gone.is_empty() && going.is_empty() {
        return Ok(Outcome::Done);
    }
    if there > 0 {
        return disown(api, &target, &live, |uid| gone.iter().chain(&going).any(|of| of == uid)).await;
    }
    let own = world.dependents().of(meta_text(&live.object, "uid"));
    // An owner that waits for this object wants its dependents gone too; otherwise the object itself says how.
    let dependents = if !going.is_empty() && !own.is_empty() {
        // In a circle somebody must stop holding back the others.
        if waits_for(api, &own).await?
            && let Some(object) = unblocking(&live.object)
        {
            return replace(api, &target, &live, object).await.map(|_| Outcome::Later);
        }
        delete::Dependents::Foreground
    } else {
        wish(&live.object)
    };
    let options =
        DeleteOptions::following(dependents).only(meta_text(&live.object, "uid"), &live.revision.to_string());
    match api.delete_object(&target, &own_request(), &options, &mut Vec::new()).await {
        Ok(_) => Ok(Outcome::Done),
        Err(failure) if matches!(failure.code(), 404) => Ok(Outcome::Done),
        Err(failure) if matches!(failure.code(), 409) => Ok(Outcome::Later),
        Err(failure) => Err(failure),
    }
}

/// Returns what an object says of its dependents by its finalizers.
fn wish(object: &Value) -> delete::Dependents {
    match finalizer_for_dependents(object) {
        Some(delete::ORPHAN) => delete::Dependents::Orphan,
        Some(_) => delete::Dependents::Foreground,
        None => delete::Dependents::Background,
    }
}

/// Whether any of these objects waits for its dependents.
async fn waits_for(api: &Server, keys: &[String]) -> Result<bool, Failure> {
    for key in keys {
        if let Some(entry) = api.store.get(key.as_bytes()).await?
            && waits_with(&Stored::read(&entry)?.object) == Some(delete::FOREGROUND)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the object with references that hold no owner back; nothing if none did.
fn unblocking(object: &Value) -> Option<Value> {
    let fields = metadata(object);
    let references = fields.get("ownerReferences").and_then(Value::as_array)?;
    if !owner_references(object).any(|owner| owner.blocks) {
        return None;
    }
    let free = references.iter().map(|reference| {
        let reference = reference.as_object().cloned().unwrap_or_default();
        Value::Object(reference.with("blockOwnerDeletion", Value::Bool(false)))
    });
    Some(with_metadata(object, fields.with("ownerReferences", Value::array(free))))
}

/// Lets an object that waits for its dependents go on, if it can.
pub(super) async fn release(world: &World, key: &str) -> Result<Outcome, Failure> {
    let api = &world.api;
    let Some(target) = api.target_of_key(key) else { return Ok(Outcome::Done) };
    let Some(live) = api.read(&target).await? else { return Ok(Outcome::Done) };
    let finalizer = match waits_with(&live.object) {
        Some(finalizer) => finalizer,
        None => return Ok(Outcome::Done),
    };
    let uid = meta_text(&live.object, "uid").to_string();
    let mut blocked = false;
    let dependents = world.dependents().of(&uid);
    for dependent in dependents {
        let Some(of) = api.target_of_key(&dependent) else { continue };
        if finalizer == delete::ORPHAN {
            let Some(object) = api.read(&of).await? else { continue };
            blocked |= matches!(disown(api, &of, &object, |owner| owner == uid).await?, Outcome::Later);
        } else {
            follow(world, &dependent).await?;
            let object = api.read(&of).await?.map(|stored| stored.object).unwrap_or_default();
            blocked |= owner_references(&object).any(|owner| owner.uid == uid && owner.blocks);
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

/// Returns the finalizer with which an object that is being deleted waits for its dependents.
fn waits_with(object: &Value) -> Option<&'static str> {
    object.at(["metadata", "deletionTimestamp"])?;
    finalizer_for_dependents(object)
}

fn finalizer_for_dependents(object: &Value) -> Option<&'static str> {
    let held = object.at(["metadata", "finalizers"]).and_then(Value::as_array)?;
    [delete::ORPHAN, delete::FOREGROUND]
        .into_iter()
        .find(|name| held.iter().any(|of| of.as_str() == Some(*name)))
}

/// Returns the keys of owners that an object may have held back.
pub(super) fn waiting_owners(api: &Server, object: &Value) -> Vec<String> {
    let namespace = meta_text(object, "namespace");
    owner_references(object)
        .filter_map(|owner| match owner_place(api, namespace, &owner) {
            OwnerPlace::At(key) => Some(key),
            OwnerPlace::Unknown => None,
        })
        .collect()
}

/// What has become of an owner.
enum State {
    There,
    WaitsForDependents,
    Gone,
}

async fn state_of(api: &Server, target: &Target, owner: &OwnerReference<'_>) -> Result<State, Failure> {
    let OwnerPlace::At(key) = owner_place(api, &target.namespace, owner) else { return Ok(State::There) };
    let Some(entry) = api.store.get(key.as_bytes()).await? else { return Ok(State::Gone) };
    let object = Stored::read(&entry)?.object;
    Ok(match meta_text(&object, "uid") == owner.uid {
        false => State::Gone,
        true if waits_with(&object) == Some(delete::FOREGROUND) => State::WaitsForDependents,
        true => State::There,
    })
}

/// Where an owner is in the store.
enum OwnerPlace {
    At(String),
    /// Nothing is concluded from its absence: a kind that is not served now may be served later, and an object
    /// outside of all namespaces cannot say in which one its owner is.
    Unknown,
}

fn owner_place(api: &Server, namespace: &str, owner: &OwnerReference<'_>) -> OwnerPlace {
    let Some(served) = api.served_kind(owner.api_version, owner.kind) else { return OwnerPlace::Unknown };
    match served.resource.scope {
        Scope::Cluster => OwnerPlace::At(key(&served.resource, "", owner.name)),
        Scope::Namespaced if namespace.is_empty() => OwnerPlace::Unknown,
        Scope::Namespaced => OwnerPlace::At(key(&served.resource, namespace, owner.name)),
    }
}

/// Takes references to owners away from an object.
async fn disown(
    api: &Server,
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
