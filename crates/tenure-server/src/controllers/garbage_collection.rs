//! Garbage collection: an object whose owners are all gone is deleted; one that is deleted in the foreground waits for its
//! dependents; one whose dependents are orphaned releases them first.

use super::{
    ControllerContext, Outcome,
    removal::{replace, request},
};
use crate::write::{DeleteOptions, FOREGROUND, ORPHAN, Propagation, Writer};
use tenure_catalog::{
    Catalog, Objects, Target,
    object::{Stored, key, meta_text, metadata, with_metadata},
    owner_graph::{OwnerReference, owner_references},
};
use tenure_meta::{ApiError, Scope};
use tenure_value::{Text, Value};

/// Deletes an object whose owners are all gone or wait for it; if some owners remain, drops the references to the others.
pub(super) async fn collect(context: &ControllerContext, key: &str) -> Result<Outcome, ApiError> {
    let (writer, objects) = (&*context.writer, &*context.writer.objects);
    let Some(target) = Target::of_key(&objects.catalog, key) else { return Ok(Outcome::Done) };
    let Some(live) = objects.read(&target).await? else { return Ok(Outcome::Done) };
    if live.object.at(["metadata", "deletionTimestamp"]).is_some() {
        return Ok(Outcome::Done);
    }
    let (mut gone, mut going, mut there) = (Vec::new(), Vec::new(), 0);
    for owner in owner_references(&live.object) {
        match state_of(objects, &target, &owner).await? {
            State::Gone => gone.push(Text::new(owner.uid)),
            State::WaitsForDependents => going.push(Text::new(owner.uid)),
            State::Exists => there += 1,
        }
    }
    if gone.is_empty() && going.is_empty() {
        return Ok(Outcome::Done);
    }
    if there > 0 {
        return disown(writer, &target, &live, |uid| gone.iter().chain(&going).any(|owner| owner == uid))
            .await;
    }
    let own = context.owners().of(meta_text(&live.object, "uid"));
    // An owner that waits for this object wants its dependents deleted too; otherwise the object itself says how.
    let propagation = if !going.is_empty() && !own.is_empty() {
        // In a cycle one object must stop blocking the others.
        if waits_for(objects, &own).await?
            && let Some(object) = unblocking(&live.object)
        {
            return replace(writer, &target, &live, object).await.map(|_| Outcome::Later);
        }
        Propagation::Foreground
    } else {
        own_propagation(&live.object)
    };
    let options = DeleteOptions::with_propagation(propagation)
        .only(meta_text(&live.object, "uid"), &live.revision.to_string());
    match writer.delete_object(&target, &request(), &options, &mut Vec::new()).await {
        Ok(_) => Ok(Outcome::Done),
        Err(failure) if matches!(failure.code(), 404) => Ok(Outcome::Done),
        Err(failure) if matches!(failure.code(), 409) => Ok(Outcome::Later),
        Err(failure) => Err(failure),
    }
}

/// Returns the propagation policy that the finalizers of an object ask for.
fn own_propagation(object: &Value) -> Propagation {
    match finalizer_for_dependents(object) {
        Some(ORPHAN) => Propagation::Orphan,
        Some(_) => Propagation::Foreground,
        None => Propagation::Background,
    }
}

/// Whether any of these objects waits for its dependents.
async fn waits_for(objects: &Objects, keys: &[String]) -> Result<bool, ApiError> {
    for key in keys {
        if let Some(entry) = objects.store.get(key.as_bytes()).await?
            && waits_with(&Stored::read(&entry)?.object) == Some(FOREGROUND)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the object with references that block no owner; `None` if none did.
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

/// Lets an object that waits for its dependents be removed, if they are gone.
pub(super) async fn release(context: &ControllerContext, key: &str) -> Result<Outcome, ApiError> {
    let (writer, objects) = (&*context.writer, &*context.writer.objects);
    let Some(target) = Target::of_key(&objects.catalog, key) else { return Ok(Outcome::Done) };
    let Some(live) = objects.read(&target).await? else { return Ok(Outcome::Done) };
    let finalizer = match waits_with(&live.object) {
        Some(finalizer) => finalizer,
        None => return Ok(Outcome::Done),
    };
    let uid = meta_text(&live.object, "uid").to_string();
    let mut blocked = false;
    let dependents = context.owners().of(&uid);
    // An object that owns itself does not wait for itself.
    for dependent in dependents.into_iter().filter(|dependent| dependent != key) {
        let Some(target) = Target::of_key(&objects.catalog, &dependent) else { continue };
        if finalizer == ORPHAN {
            let Some(object) = objects.read(&target).await? else { continue };
            blocked |=
                matches!(disown(writer, &target, &object, |owner| owner == uid).await?, Outcome::Later);
        } else {
            collect(context, &dependent).await?;
            let object = objects.read(&target).await?.map(|stored| stored.object).unwrap_or_default();
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
    replace(writer, &target, &live, with_metadata(&live.object, fields)).await
}

/// Returns the finalizer with which an object that is being deleted waits for its dependents.
fn waits_with(object: &Value) -> Option<&'static str> {
    object.at(["metadata", "deletionTimestamp"])?;
    finalizer_for_dependents(object)
}

fn finalizer_for_dependents(object: &Value) -> Option<&'static str> {
    let held = object.at(["metadata", "finalizers"]).and_then(Value::as_array)?;
    [ORPHAN, FOREGROUND]
        .into_iter()
        .find(|name| held.iter().any(|finalizer| finalizer.as_str() == Some(*name)))
}

/// Returns the keys of owners that an object may have blocked.
pub(super) fn waiting_owners(catalog: &Catalog, object: &Value) -> Vec<String> {
    let namespace = meta_text(object, "namespace");
    owner_references(object)
        .filter_map(|owner| match owner_place(catalog, namespace, &owner) {
            OwnerPlace::At(key) => Some(key),
            OwnerPlace::Unknown => None,
        })
        .collect()
}

/// The state of an owner.
enum State {
    Exists,
    WaitsForDependents,
    Gone,
}

async fn state_of(objects: &Objects, target: &Target, owner: &OwnerReference<'_>) -> Result<State, ApiError> {
    let OwnerPlace::At(key) = owner_place(&objects.catalog, &target.namespace, owner) else {
        return Ok(State::Exists);
    };
    let Some(entry) = objects.store.get(key.as_bytes()).await? else { return Ok(State::Gone) };
    let object = Stored::read(&entry)?.object;
    Ok(match meta_text(&object, "uid") == owner.uid {
        false => State::Gone,
        true if waits_with(&object) == Some(FOREGROUND) => State::WaitsForDependents,
        true => State::Exists,
    })
}

/// Where an owner is in the store.
enum OwnerPlace {
    At(String),
    /// Unknown, so that nothing follows from its absence: its kind is not served now, or a cluster-scoped object names an owner in
    /// a namespace.
    Unknown,
}

fn owner_place(catalog: &Catalog, namespace: &str, owner: &OwnerReference<'_>) -> OwnerPlace {
    let Some(handler) = catalog.resource_of_kind(owner.api_version, owner.kind) else {
        return OwnerPlace::Unknown;
    };
    match handler.resource.scope {
        Scope::Cluster => OwnerPlace::At(key(&handler.resource, "", owner.name)),
        Scope::Namespaced if namespace.is_empty() => OwnerPlace::Unknown,
        Scope::Namespaced => OwnerPlace::At(key(&handler.resource, namespace, owner.name)),
    }
}

/// Removes references to owners from an object.
async fn disown(
    writer: &Writer,
    target: &Target,
    live: &Stored,
    is_gone: impl Fn(&str) -> bool,
) -> Result<Outcome, ApiError> {
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
    replace(writer, target, live, with_metadata(&live.object, fields)).await
}
