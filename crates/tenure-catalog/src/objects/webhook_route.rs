//! The addresses of a webhook. A URL has its own; a service is resolved through its endpoint slices, its endpoints, its external
//! name and finally its cluster IP, which only a network with a service proxy can reach.

use crate::{
    object::{Stored, key},
    objects::read_all_objects,
};
use tenure_admission::ServiceEndpoint;
use tenure_builtin::role::{ENDPOINT_SLICES, ENDPOINTS, SERVICES};
use tenure_crd::WebhookTarget;
use tenure_meta::{GroupVersionResource, Resource, ValueExt};
use tenure_store::Store;
use tenure_value::{Text, Value};

/// Resolves the addresses of a webhook.
pub async fn to(store: &dyn Store, target: &WebhookTarget) -> Result<ServiceEndpoint, String> {
    match target {
        WebhookTarget::Url(url) => ServiceEndpoint::of_url(url),
        WebhookTarget::Service { namespace, name, path, port } => {
            let addresses = addresses(store, namespace, name, *port).await;
            ServiceEndpoint::of_service((namespace, name), *port, path, addresses)
        }
    }
}

/// Resolves the addresses of a port of a service.
pub async fn addresses(
    store: &dyn Store,
    namespace: &str,
    name: &str,
    port: u16,
) -> Result<Vec<(String, u16)>, String> {
    let service = get(store, find(SERVICES)?, namespace, name).await?;
    let service = service.ok_or_else(|| format!("service {name:?} not found"))?;
    let spec = service.get("spec").unwrap_or(&Value::Null);
    if spec.text("type") == "ExternalName" {
        return Ok(vec![(spec.text("externalName").to_string(), port)]);
    }
    let of_service =
        |service_port: &&Value| service_port.get("port").and_then(Value::as_i64) == Some(i64::from(port));
    let Some(row) = spec.items("ports").iter().find(of_service) else {
        return Err(format!("no service port {port} found for service {name:?}"));
    };
    let port_name = row.text("name");
    let mut found = Vec::new();
    for slice in list(store, find(ENDPOINT_SLICES)?, namespace).await? {
        let owner = slice.at(["metadata", "labels", "kubernetes.io/service-name"]).and_then(Value::as_str);
        if owner == Some(name) {
            let is_ready =
                |endpoint: &&Value| endpoint.at(["conditions", "ready"]) != Some(&Value::Bool(false));
            let hosts = slice.items("endpoints").iter().filter(is_ready);
            let hosts: Vec<Text> = hosts.flat_map(|endpoint| endpoint.texts("addresses")).collect();
            add(&mut found, hosts, &port_name, slice.items("ports"));
        }
    }
    if let Some(endpoints) = get(store, find(ENDPOINTS)?, namespace, name).await?.filter(|_| found.is_empty())
    {
        for subset in endpoints.items("subsets") {
            let hosts = subset.items("addresses").iter().map(|address| address.text("ip")).collect();
            add(&mut found, hosts, &port_name, subset.items("ports"));
        }
    }
    match spec.text("clusterIP").as_str() {
        _ if !found.is_empty() => Ok(found),
        address @ ("" | "None") => Err(format!("cannot route to service with ClusterIP {address:?}")),
        address => Ok(vec![(address.into(), port)]),
    }
}

/// Adds every host with the port that has the name of the service's port.
fn add(found: &mut Vec<(String, u16)>, hosts: Vec<Text>, port_name: &str, ports: &[Value]) {
    let port = ports.iter().find(|port| port.text("name") == port_name);
    let number = port.and_then(|port| port.get("port")).and_then(Value::as_i64);
    if let Some(number) = number.and_then(|number| u16::try_from(number).ok()) {
        found.extend(hosts.into_iter().map(|host| (host.to_string(), number)));
    }
}

fn find(
    GroupVersionResource { group, version, resource }: GroupVersionResource,
) -> Result<&'static Resource, String> {
    let found = tenure_builtin::registry().find(group, version, resource);
    found.map(|resource| &**resource).ok_or_else(|| format!("{resource} are not served"))
}

async fn get(
    store: &dyn Store,
    resource: &Resource,
    namespace: &str,
    name: &str,
) -> Result<Option<Value>, String> {
    let entry =
        store.get(key(resource, namespace, name).as_bytes()).await.map_err(|error| error.to_string())?;
    entry
        .map(|entry| Stored::read(&entry).map(|stored| stored.object))
        .transpose()
        .map_err(|why| why.to_string())
}

async fn list(store: &dyn Store, resource: &Resource, namespace: &str) -> Result<Vec<Value>, String> {
    let found = read_all_objects(store, resource, namespace).await.map_err(|failure| failure.to_string())?;
    Ok(found.into_iter().map(|stored| stored.object).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::encode;
    use tenure_apply::Managers;
    use tenure_store::{Expected, MemoryStore, Transaction};

    async fn put(store: &MemoryStore, resource: &Resource, name: &str, object: &str) {
        let value = encode(&object.parse().unwrap(), &Managers::default()).unwrap();
        store
            .commit(Transaction::new().put(key(resource, "n", name), Expected::Absent, value))
            .await
            .unwrap();
    }

    #[tokio::test]
    async fn a_service_is_resolved_by_slices_then_endpoints_then_cluster_ip() {
        let store = MemoryStore::new();
        let target = WebhookTarget::Service {
            namespace: "n".into(),
            name: "s".into(),
            path: "/convert".into(),
            port: 443,
        };
        assert_eq!(to(&store, &target).await.unwrap().unresolved.as_deref(), Some("service \"s\" not found"));
        let service = r#"{"metadata":{"name":"s"},"spec":{"clusterIP":"10.0.0.9","ports":[{"name":"web","port":443}]}}"#;
        put(&store, find(SERVICES).unwrap(), "s", service).await;
        let route = to(&store, &target).await.unwrap();
        assert_eq!(route.url, "https://s.n.svc:443/convert");
        assert_eq!(route.addresses, [("10.0.0.9".to_string(), 443)]);
        let endpoints =
            r#"{"subsets":[{"addresses":[{"ip":"10.1.0.1"}],"ports":[{"name":"web","port":8443}]}]}"#;
        put(&store, find(ENDPOINTS).unwrap(), "s", endpoints).await;
        assert_eq!(to(&store, &target).await.unwrap().addresses, [("10.1.0.1".to_string(), 8443)]);
        let slices = find(ENDPOINT_SLICES).unwrap();
        let slice = r#"{"metadata":{"labels":{"kubernetes.io/service-name":"s"}},"ports":[{"name":"other","port":1},{"name":"web","port":9443}],
            "endpoints":[{"addresses":["10.2.0.1"],"conditions":{"ready":false}},{"addresses":["10.2.0.2"]}]}"#;
        put(&store, slices, "s-1", slice).await;
        put(&store, slices, "t-1", &slice.replace("\"s\"", "\"t\"").replace("10.2.0.2", "10.3.0.1")).await;
        assert_eq!(to(&store, &target).await.unwrap().addresses, [("10.2.0.2".to_string(), 9443)]);
    }
}
