//! The server and its kinds.

use super::access::{self, Listable};
use crate::PageError;
use tenure_client::{Cluster, Resource};
use tenure_value::{Object, Value};

/// Returns the server and the user. Fails if the server does not accept the credentials.
pub(crate) async fn session(cluster: &Cluster) -> Result<Value, PageError> {
    let version = cluster.find("/version").await?.unwrap_or_default();
    let version = version.get("gitVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
    let user = access::user(cluster).await?;
    Ok(Value::Object(
        Object::default()
            .with("server", cluster.server())
            .with("version", version)
            .with("user", user)
            .with("namespace", cluster.namespace.as_str()),
    ))
}

/// Returns the kinds whose objects can be listed, each with whether the user may, and the namespaces.
pub(crate) async fn kinds(cluster: &Cluster, user: &str) -> Result<Value, PageError> {
    cluster.rediscover();
    let kinds = cluster.kinds().await?;
    let home = access::home(cluster, user);
    let listable = Listable::of(cluster, &home).await?;
    let listed = kinds.iter().filter(|kind| kind.verbs.iter().any(|verb| verb == "list"));
    let mut seen = std::collections::HashSet::new();
    let preferred = listed.map(|kind| {
        let preferred = seen.insert((kind.group.clone(), kind.plural.clone()));
        describe(kind, preferred, listable.has(kind))
    });
    let preferred: Vec<Value> = preferred.collect();
    // A user who may not list namespaces can still name one.
    let namespaces = cluster.get("/api/v1/namespaces").await.ok();
    let complete = namespaces.is_some();
    let namespaces = match namespaces {
        Some(list) => {
            let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
            items.filter_map(|item| item.at(["metadata", "name"]).cloned()).collect()
        }
        None => vec![Value::from(home.as_str())],
    };
    Ok(Object::default()
        .with("kinds", Value::array(preferred))
        .with("namespaces", Value::array(namespaces))
        .with("allNamespaces", complete)
        .with("home", home)
        .into())
}

fn describe(kind: &Resource, preferred: bool, listable: bool) -> Value {
    let texts = |texts: &[String]| Value::array(texts.iter().map(|text| Value::from(text.as_str())));
    Value::Object(
        Object::default()
            .with("apiVersion", kind.api_version())
            .with("group", kind.group.as_str())
            .with("kind", kind.kind.as_str())
            .with("resource", kind.plural.as_str())
            .with("shortNames", texts(&kind.short_names))
            .with("namespaced", kind.is_namespaced())
            .with("preferred", preferred)
            .with("listable", listable),
    )
}
