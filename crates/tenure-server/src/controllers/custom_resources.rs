//! The deletion of a definition: its objects are deleted, finalizers are waited for, and when no object is left the definition is
//! removed and its resource is no longer served.

use super::{
    Outcome,
    removal::{delete_all, replace},
};
use crate::write::Writer;
use std::sync::Arc;
use tenure_builtin::role::DEFINITIONS;
use tenure_catalog::{
    DEFINITIONS_PREFIX, Target,
    object::{meta_text, metadata, with_metadata},
};
use tenure_crd::CLEANUP_FINALIZER;
use tenure_meta::{ApiError, GroupVersionResource};
use tenure_value::Value;

/// Removes the objects of a definition that is being deleted, and the definition when there are none.
pub(super) async fn remove(writer: &Arc<Writer>, name: &str) -> Result<Outcome, ApiError> {
    let key = format!("{DEFINITIONS_PREFIX}{name}");
    let Some(target) = Target::of_key(&writer.objects.catalog, &key) else { return Ok(Outcome::Done) };
    let Some(live) = writer.objects.read(&target).await? else { return Ok(Outcome::Done) };
    let fields = metadata(&live.object);
    if !fields.contains("deletionTimestamp") {
        return Ok(Outcome::Done);
    }
    let text = |path: &[&str]| {
        live.object.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default().to_string()
    };
    let prefix = format!("objects/{}/{}/", text(&["spec", "group"]), text(&["spec", "names", "plural"]));
    if !delete_all(writer, &prefix).await?.entries.is_empty() {
        return Ok(Outcome::Later);
    }
    writer.objects.catalog.forget_schemas(name).await?;
    let held = fields.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    let others: Vec<Value> =
        held.iter().filter(|name| name.as_str() != Some(CLEANUP_FINALIZER)).cloned().collect();
    let fields = if others.is_empty() {
        fields.without("finalizers")
    } else {
        fields.with("finalizers", Value::array(others))
    };
    let outcome = replace(writer, &target, &live, with_metadata(&live.object, fields)).await?;
    writer.objects.catalog.refresh().await?;
    accept_names_again(writer, &text(&["spec", "group"])).await?;
    Ok(outcome)
}

/// Accepts the names of the definitions of a group that were in use by another definition and are free now.
async fn accept_names_again(writer: &Arc<Writer>, group: &str) -> Result<(), ApiError> {
    let GroupVersionResource { group: definitions_group, version, resource: name } = DEFINITIONS;
    let definitions = writer.objects.catalog.resource(definitions_group, version, name)?;
    for live in writer.objects.read_all(&definitions.resource, "").await? {
        let own_group = live.object.at(["spec", "group"]).and_then(Value::as_str);
        if own_group != Some(group) || !has_conflict(&live.object) {
            continue;
        }
        let name = meta_text(&live.object, "name");
        let in_use = writer.objects.catalog.snapshot().names_in_use(&live.object);
        let accepted = tenure_crd::accept(&live.object, &in_use, writer.objects.clock.now());
        let Some(target) = Target::of_key(&writer.objects.catalog, &format!("{DEFINITIONS_PREFIX}{name}"))
        else {
            continue;
        };
        if accepted != live.object {
            replace(writer, &target, &live, accepted).await?;
            writer.objects.catalog.refresh().await?;
        }
    }
    Ok(())
}

/// Whether a name of a definition was in use when it was last checked.
fn has_conflict(definition: &Value) -> bool {
    let conditions = definition.at(["status", "conditions"]).and_then(Value::as_array);
    conditions.map(|items| items.items()).unwrap_or_default().iter().any(|condition| {
        let says = |field: &str, value: &str| condition.get(field).and_then(Value::as_str) == Some(value);
        says("type", "NamesAccepted") && says("status", "False")
    })
}
