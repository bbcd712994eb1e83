//! The effect of a new definition of a custom resource: which lists and maps merge differently, and which managers this affects.

use super::objects::live_objects;
use crate::PageError;
use tenure_apply::Manager;
use tenure_client::{Cluster, Selection};
use tenure_ownership::effect;
use tenure_schema::{crd, merging};
use tenure_value::{Limits, Value, yaml};

/// Compares a definition with the types that the server has now.
pub(crate) async fn definition(cluster: &Cluster, text: &str) -> Result<Value, PageError> {
    let definition = yaml::parse_any(text.as_bytes(), &Limits::default())
        .map_err(|error| PageError::bad_request(format!("the definition cannot be read: {error}")))?;
    if definition.get("kind").and_then(Value::as_str) != Some("CustomResourceDefinition") {
        return Err(PageError::bad_request("paste a CustomResourceDefinition"));
    }
    let schema = crd::compile(&definition).map_err(PageError::bad_request)?;
    let mut versions = Vec::new();
    for (name, new) in schema.kinds() {
        let Some((api_version, kind)) = name.split_once(' ') else { continue };
        let Some(resource) = cluster.kind_of(api_version, kind).await? else { continue };
        let old = cluster.type_of(api_version, kind).await?;
        let changes = merging::changes(old, new);
        let objects = match changes.is_empty() {
            true => Vec::new(),
            false => cluster.select(&resource, None, &Selection::default()).await?,
        };
        let mut shown = Vec::with_capacity(changes.len());
        for change in &changes {
            let mut affected: Vec<(String, Manager)> = Vec::new();
            for live in live_objects(&objects) {
                let name = match live.namespace() {
                    "" => live.name().to_owned(),
                    namespace => format!("{namespace}/{}", live.name()),
                };
                let managers = effect::affected_managers(&live, api_version, change);
                affected.extend(managers.map(|manager| (name.clone(), manager.clone())));
            }
            let affected = affected.iter().map(|(name, manager)| (name.clone(), manager));
            shown.push(effect::change_to_value(change, affected));
        }
        versions.push(Value::object([
            ("apiVersion", Value::from(api_version)),
            ("kind", Value::from(kind)),
            ("changes", Value::array(shown)),
        ]));
    }
    if versions.is_empty() {
        return Err(PageError::bad_request(
            "the server has no version of this kind yet; there is nothing to compare it with",
        ));
    }
    Ok(Value::object([("versions", Value::array(versions))]))
}
