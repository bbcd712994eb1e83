//! An APIService as the aggregator uses it.

use tenure_catalog::Priority;
use tenure_meta::{GroupVersionResource, ValueExt};
use tenure_value::{Text, Value};

/// The label of APIServices that the server maintains.
pub(crate) const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";
/// The group of APIServices themselves, which is never proxied: it is the way to undo an APIService.
pub(crate) const GROUP: &str = "apiregistration.k8s.io";
/// The group, version and name of the resource of APIServices.
pub(crate) const API_SERVICES: GroupVersionResource =
    GroupVersionResource::new("apiregistration.k8s.io", "v1", "apiservices");
/// The port of a service that names none.
const PORT: u16 = 443;

/// An APIService.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiService {
    /// Its name: the version, a dot, and the group.
    pub name: Text,
    /// The group.
    pub group: Text,
    /// The version.
    pub version: Text,
    /// The service of the extension API server; `None` if this server serves the group and version.
    pub service: Option<ServiceReference>,
    /// The certificates that the extension server is verified with, as base64 of PEM; empty for those of the system.
    pub ca_bundle: Text,
    /// Whether the certificate of the extension server is not verified.
    pub insecure: bool,
    /// Where the group and version come in discovery.
    pub priority: Priority,
    /// Whether the condition `Available` is true.
    pub is_available: bool,
    /// The label of APIServices that the server maintains.
    pub automanaged: Text,
}

/// A port of a service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServiceReference {
    /// The namespace.
    pub namespace: Text,
    /// The name.
    pub name: Text,
    /// The port of the service.
    pub port: u16,
}

impl ApiService {
    /// Reads an APIService.
    pub fn read(object: &Value) -> ApiService {
        let null = Value::Null;
        let spec = object.get("spec").unwrap_or(&null);
        let number = |name: &str| spec.get(name).and_then(Value::as_i64).unwrap_or_default();
        let service = spec.get("service").filter(|service| !service.is_null()).map(|service| {
            let port = service.get("port").and_then(Value::as_i64).and_then(|port| u16::try_from(port).ok());
            ServiceReference {
                namespace: service.text("namespace"),
                name: service.text("name"),
                port: port.unwrap_or(PORT),
            }
        });
        let labels = object.at(["metadata", "labels"]);
        ApiService {
            name: object.get("metadata").map(|metadata| metadata.text("name")).unwrap_or_default(),
            group: spec.text("group"),
            version: spec.text("version"),
            service,
            ca_bundle: spec.text("caBundle"),
            insecure: spec.flag("insecureSkipTLSVerify"),
            priority: Priority { group: number("groupPriorityMinimum"), version: number("versionPriority") },
            is_available: condition(object).is_some_and(|condition| condition.text("status") == "True"),
            automanaged: labels.map(|labels| labels.text(AUTOMANAGED)).unwrap_or_default(),
        }
    }

    /// Returns the path of the discovery document of the group and version.
    pub fn discovery_path(&self) -> String {
        if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        }
    }

    /// Returns the service of the extension server, if the group and version are proxied.
    pub fn proxied(&self) -> Option<&ServiceReference> {
        self.service.as_ref().filter(|_| self.group != GROUP)
    }

    /// Whether two APIServices lead to the same extension server in the same way.
    pub(crate) fn is_reached_as(&self, other: &ApiService) -> bool {
        (&self.service, &self.ca_bundle, self.insecure) == (&other.service, &other.ca_bundle, other.insecure)
    }
}

/// Returns the condition `Available` of an APIService.
pub(crate) fn condition(object: &Value) -> Option<&Value> {
    let conditions = object.at(["status", "conditions"]).and_then(Value::as_array)?;
    conditions.iter().find(|condition| condition.text("type") == "Available")
}
