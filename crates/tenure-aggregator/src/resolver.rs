//! The addresses of an extension API server: those of the endpoints of its service, or the cluster IP.

use crate::ServiceReference;
use tenure_admission::ServiceEndpoint;
use tenure_builtin::role::{ENDPOINT_SLICES, ENDPOINTS, SERVICES};
use tenure_catalog::{
    object::{Stored, key},
    read_all_objects, service_addresses,
};
use tenure_meta::{GroupVersionResource, Resource, ValueExt};
use tenure_store::Store;
use tenure_value::Value;

/// How the addresses of a service are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Routing {
    /// The endpoints of the service if it has any, else its external name or its cluster IP.
    #[default]
    Automatic,
    /// The endpoint slices of the service alone (`--enable-aggregator-routing=true`).
    Endpoints,
    /// The external name or the cluster IP of the service (`--enable-aggregator-routing=false`).
    ClusterIp,
}

/// Returns where a path of an extension server is.
pub(crate) async fn resolve(
    store: &dyn Store,
    routing: Routing,
    service: &ServiceReference,
    path: &str,
) -> Result<ServiceEndpoint, String> {
    let ServiceReference { namespace, name, port } = service;
    let mut addresses = match routing {
        Routing::Automatic => service_addresses(store, namespace, name, *port).await?,
        Routing::Endpoints => endpoint_addresses(store, service).await?,
        Routing::ClusterIp => cluster_address(store, service).await?,
    };
    // Requests are spread over the endpoints by the connection pool, which is found by all of them.
    addresses.sort();
    ServiceEndpoint::of_service((namespace, name), *port, path, Ok(addresses))
}

async fn cluster_address(
    store: &dyn Store,
    service: &ServiceReference,
) -> Result<Vec<(String, u16)>, String> {
    let spec = spec(store, service).await?;
    match (spec.text("type").as_str(), spec.text("clusterIP").as_str()) {
        ("ExternalName", _) => Ok(vec![(spec.text("externalName").to_string(), service.port)]),
        (_, "" | "None") => Err("cannot route to service with ClusterIP \"None\"".into()),
        (_, address) => {
            port(&spec, service)?;
            Ok(vec![(address.to_string(), service.port)])
        }
    }
}

async fn endpoint_addresses(
    store: &dyn Store,
    service: &ServiceReference,
) -> Result<Vec<(String, u16)>, String> {
    let spec = spec(store, service).await?;
    if spec.text("type") == "ExternalName" {
        return Err("unsupported service type \"ExternalName\"".into());
    }
    port(&spec, service)?;
    let slices = endpoint_slices(store, service).await?;
    if slices.is_empty() {
        return Err(format!("no endpoints available for service {:?}", service.name.as_str()));
    }
    service_addresses(store, &service.namespace, &service.name, service.port).await
}

async fn spec(store: &dyn Store, service: &ServiceReference) -> Result<Value, String> {
    let object = get(store, SERVICES, service).await?;
    let object = object.ok_or_else(|| format!("service {:?} not found", service.name.as_str()))?;
    Ok(object.get("spec").cloned().unwrap_or_default())
}

/// Returns the row of the port of a service.
fn port<'a>(spec: &'a Value, service: &ServiceReference) -> Result<&'a Value, String> {
    find_port(spec, service.port).ok_or_else(|| {
        format!("no service port {} found for service {:?}", service.port, service.name.as_str())
    })
}

/// Finds the row of a port in the spec of a service.
pub(crate) fn find_port(spec: &Value, port: u16) -> Option<&Value> {
    spec.items("ports").iter().find(|row| row.get("port").and_then(Value::as_i64) == Some(port.into()))
}

/// Reads the service of an extension server.
pub(crate) async fn get_service(
    store: &dyn Store,
    service: &ServiceReference,
) -> Result<Option<Value>, String> {
    get(store, SERVICES, service).await
}

/// Reads the endpoints of a service.
pub(crate) async fn get_endpoints(
    store: &dyn Store,
    service: &ServiceReference,
) -> Result<Option<Value>, String> {
    get(store, ENDPOINTS, service).await
}

/// Reads the endpoint slices of a service.
pub(crate) async fn endpoint_slices(
    store: &dyn Store,
    service: &ServiceReference,
) -> Result<Vec<Value>, String> {
    let resource = find(ENDPOINT_SLICES)?;
    let all =
        read_all_objects(store, resource, &service.namespace).await.map_err(|failure| failure.to_string())?;
    let is_of_service = |slice: &Value| {
        let owner = slice.at(["metadata", "labels", "kubernetes.io/service-name"]).and_then(Value::as_str);
        owner == Some(service.name.as_str())
    };
    Ok(all.into_iter().map(|stored| stored.object).filter(is_of_service).collect())
}

fn find(
    GroupVersionResource { group, version, resource }: GroupVersionResource,
) -> Result<&'static Resource, String> {
    let found = tenure_builtin::registry().find(group, version, resource);
    found.map(|resource| &**resource).ok_or_else(|| format!("{resource} are not served"))
}

async fn get(
    store: &dyn Store,
    resource: GroupVersionResource,
    service: &ServiceReference,
) -> Result<Option<Value>, String> {
    let key = key(find(resource)?, &service.namespace, &service.name);
    let entry = store.get(key.as_bytes()).await.map_err(|error| error.to_string())?;
    let object = entry.map(|entry| Stored::read(&entry).map(|stored| stored.object)).transpose();
    object.map_err(|why| why.to_string())
}
