//! The end of a namespace: everything in it is deleted, finalizers are waited for, and when nothing is left the
//! namespace goes too.

use super::{Outcome, own_request, replace};
use crate::{
    Failure,
    api::{
        Api,
        delete::{DeleteOptions, Dependents},
        object::{Stored, prefix},
        target::Target,
    },
};
use std::sync::Arc;
use tenure_store::ListRequest;
use tenure_value::{Text, Value};

/// The finalizer of the spec that stands for the content.
const CONTENT: &str = "kubernetes";

/// Removes what is in a namespace that is being deleted, and the namespace when it is empty.
pub(super) async fn remove(api: &Arc<Api>, name: &str) -> Result<Outcome, Failure> {
    let Some(target) = api.target_of_key(&format!("objects/core/namespaces/{name}")) else {
        return Ok(Outcome::Done);
    };
    let Some(namespace) = api.read(&target).await? else { return Ok(Outcome::Done) };
    if namespace.object.at(["metadata", "deletionTimestamp"]).is_none() {
        return Ok(Outcome::Done);
    }
    let mut left = false;
    for served in api.namespaced_resources() {
        let listing = api.store.list(ListRequest::prefix(prefix(&served.resource, name))).await?;
        for entry in &listing.entries {
            let Some(of) = api.target_of_key(&super::key_text(&entry.key)) else { continue };
            let options = DeleteOptions::following(Dependents::Background);
            match api.delete_object(&of, &own_request(), &options).await {
                Err(failure) if failure.code() == 404 => {}
                other => {
                    other?;
                }
            }
            left |= api.store.get(&entry.key).await?.is_some();
        }
    }
    if left {
        return Ok(Outcome::Later);
    }
    finish(api, &target, &namespace).await
}

/// Takes the finalizer of the content away; a namespace without others goes with it.
async fn finish(api: &Arc<Api>, target: &Target, namespace: &Stored) -> Result<Outcome, Failure> {
    let fields = namespace.object.as_object().cloned().unwrap_or_default();
    let spec = fields.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    let finalizers = spec.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    let others: Vec<Value> =
        finalizers.iter().filter(|name| name.as_str() != Some(CONTENT)).cloned().collect();
    let spec = if others.is_empty() {
        spec.without("finalizers")
    } else {
        spec.with("finalizers", Value::array(others))
    };
    let object = Value::Object(fields.with("spec", spec));
    replace(api, target, namespace, object).await
}

impl Api {
    /// Returns every resource whose objects live in namespaces, as it is stored.
    fn namespaced_resources(&self) -> Vec<crate::api::served::Served> {
        let mut seen: Vec<(Text, Text)> = Vec::new();
        let mut found = Vec::new();
        for served in self.catalog().stored() {
            let place = (served.resource.storage.0.clone(), served.resource.name.clone());
            if served.resource.scope == crate::kinds::Scope::Namespaced && !seen.contains(&place) {
                seen.push(place);
                found.push(served);
            }
        }
        found
    }
}
