//! The end of a definition: its objects are deleted, finalizers are waited for, and when none is left the definition
//! goes too and its resource is not served any more.

use super::{Outcome, delete_all, replace};
use crate::{
    Failure,
    catalog::schema_history,
    custom::CLEANUP_FINALIZER,
    object::{metadata, with_metadata},
    server::Server,
};
use std::sync::Arc;
use tenure_value::Value;

/// Where definitions are in the store.
pub(super) const PLACE: &str = "objects/apiextensions.k8s.io/customresourcedefinitions/";

/// Removes the objects of a definition that is being deleted, and the definition when there are none.
pub(super) async fn remove(api: &Arc<Server>, name: &str) -> Result<Outcome, Failure> {
    let key = format!("{PLACE}{name}");
    let Some(target) = api.target_of_key(&key) else { return Ok(Outcome::Done) };
    let Some(live) = api.read(&target).await? else { return Ok(Outcome::Done) };
    let fields = metadata(&live.object);
    if !fields.contains("deletionTimestamp") {
        return Ok(Outcome::Done);
    }
    let text = |path: &[&str]| {
        live.object.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default().to_string()
    };
    let place = format!("objects/{}/{}/", text(&["spec", "group"]), text(&["spec", "names", "plural"]));
    if !delete_all(api, &place).await?.entries.is_empty() {
        return Ok(Outcome::Later);
    }
    schema_history::forget(api, name).await?;
    let held = fields.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    let others: Vec<Value> =
        held.iter().filter(|name| name.as_str() != Some(CLEANUP_FINALIZER)).cloned().collect();
    let fields = if others.is_empty() {
        fields.without("finalizers")
    } else {
        fields.with("finalizers", Value::array(others))
    };
    let outcome = replace(api, &target, &live, with_metadata(&live.object, fields)).await?;
    api.refresh_catalog().await?;
    Ok(outcome)
}
