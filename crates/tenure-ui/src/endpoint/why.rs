//! Why a field is as it is, and the manifest that a manager would apply.

use super::{LiveRef, ObjectRef, history, now, server_flags};
use crate::PageError;
use tenure_apply::{Operation, extract};
use tenure_client::Cluster;
use tenure_fields::FieldSet;
use tenure_ownership::{Explanation, diagnosis::CommandLine};
use tenure_value::{Value, yaml};

/// Explains a field, as it is now or as it was at a revision.
pub(crate) async fn why(
    cluster: &Cluster,
    wanted: &ObjectRef,
    path: &str,
    at: Option<&str>,
    context: &str,
) -> Result<Value, PageError> {
    let LiveRef { found, live, ty } = match at {
        Some(at) => history::at(cluster, wanted, at).await?,
        None => wanted.read(cluster).await?,
    };
    let profile = cluster.profile().await?;
    let server = server_flags(context);
    let line = CommandLine { server: &server, ..CommandLine::default() };
    Ok(Explanation::of(&live, found.target(), path, ty, profile, now())?.to_value_for(&line))
}

/// Returns the manifest of a manager: the fields that it owns by applying; if no manager is given, those of the first one that
/// applies. An object without such a manager has a manifest with its identity only.
pub(crate) async fn manifest(
    cluster: &Cluster,
    wanted: &ObjectRef,
    manager: Option<&str>,
) -> Result<Value, PageError> {
    let LiveRef { live, ty, .. } = wanted.read(cluster).await?;
    let mut applied = live
        .managers
        .iter()
        .filter(|entry| entry.operation == Operation::Apply && entry.subresource.is_empty());
    let chosen = match manager {
        Some(name) => live.managers.iter().find(|entry| entry.name == name && entry.subresource.is_empty()),
        None => applied.next(),
    };
    let fields = chosen.map(|entry| entry.fields.clone()).unwrap_or_else(FieldSet::default);
    let config = extract(&live.object, &fields, ty);
    let name = chosen.map(|entry| entry.name.to_string()).unwrap_or_default();
    Ok(Value::object([
        ("manifest", Value::from(yaml::to_string(&config))),
        ("manager", Value::from(manager.map_or(name, str::to_owned))),
    ]))
}
