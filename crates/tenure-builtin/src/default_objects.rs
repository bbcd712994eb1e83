//! The default objects of namespaces: in `default` the service `kubernetes` with its endpoints, in every namespace the service account
//! and the config map that clients inside a cluster expect. The server decides when they are created.

use std::net::{IpAddr, SocketAddr};
use tenure_value::Value;

/// The namespace of the service `kubernetes`.
pub const HOME: &str = "default";

/// The inputs of default objects.
#[derive(Clone, Copy, Debug)]
pub struct ServerFacts<'f> {
    /// The address of the server.
    pub address: Option<SocketAddr>,
    /// The cluster IP of the service `kubernetes`.
    pub service_address: IpAddr,
    /// The certificates that clients trust; empty if there are none, `None` if namespaces get no objects.
    pub authority: Option<&'f str>,
}

/// A default object.
pub struct DefaultObject {
    /// The group of its resource.
    pub group: &'static str,
    /// The plural name of its resource.
    pub resource: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Returns the object without apiVersion, kind and name; `None` if it is not wanted.
    pub content: fn(&ServerFacts<'_>) -> Option<Value>,
}

/// The service `kubernetes`, which points to the server.
const SERVER: DefaultObject =
    DefaultObject { group: "", resource: "services", name: "kubernetes", content: |facts| facts.service() };
/// The endpoints of that service, in the old form and in the new.
const ENDPOINTS: DefaultObject = DefaultObject {
    group: "",
    resource: "endpoints",
    name: "kubernetes",
    content: |facts| facts.endpoints(),
};
const ENDPOINT_SLICE: DefaultObject = DefaultObject {
    group: "discovery.k8s.io",
    resource: "endpointslices",
    name: "kubernetes",
    content: |facts| facts.endpoint_slice(),
};
/// The service account of pods that do not name one.
const SERVICE_ACCOUNT: DefaultObject = DefaultObject {
    group: "",
    resource: "serviceaccounts",
    name: "default",
    content: |facts| facts.service_account(),
};
/// The certificates that clients inside a cluster trust.
pub const ROOT_CERTIFICATES: DefaultObject = DefaultObject {
    group: "",
    resource: "configmaps",
    name: "kube-root-ca.crt",
    content: |facts| facts.root_certificates(),
};

/// The default objects of the home namespace; other namespaces get those from `EVERYWHERE` on.
const OBJECTS_OF_HOME: [DefaultObject; 5] =
    [SERVER, ENDPOINTS, ENDPOINT_SLICE, SERVICE_ACCOUNT, ROOT_CERTIFICATES];
const EVERYWHERE: usize = 3;

/// Returns the default objects of a namespace.
pub fn default_objects(namespace: &str) -> &'static [DefaultObject] {
    if namespace == HOME { &OBJECTS_OF_HOME } else { &OBJECTS_OF_HOME[EVERYWHERE..] }
}

impl ServerFacts<'_> {
    /// Returns the address at which other machines reach the server; `None` if it listens on loopback alone.
    fn reached(&self) -> Option<SocketAddr> {
        self.address.filter(|at| !at.ip().is_loopback() && !at.ip().is_unspecified())
    }

    fn endpoints(&self) -> Option<Value> {
        let at = self.reached()?;
        let text = format!(
            r#"{{"metadata":{{"labels":{{"endpointslice.kubernetes.io/skip-mirror":"true"}}}},"subsets":[{{
            "addresses":[{{"ip":"{}"}}],"ports":[{{"name":"https","port":{},"protocol":"TCP"}}]}}]}}"#,
            at.ip(),
            at.port()
        );
        text.parse().ok()
    }

    fn endpoint_slice(&self) -> Option<Value> {
        let at = self.reached()?;
        let family = if at.is_ipv4() { "IPv4" } else { "IPv6" };
        let text = format!(
            r#"{{"metadata":{{"labels":{{"kubernetes.io/service-name":"kubernetes"}}}},"addressType":"{family}",
            "endpoints":[{{"addresses":["{}"],"conditions":{{"ready":true}}}}],
            "ports":[{{"name":"https","port":{},"protocol":"TCP"}}]}}"#,
            at.ip(),
            at.port()
        );
        text.parse().ok()
    }

    fn service(&self) -> Option<Value> {
        let (port, address) = (self.address?.port(), self.service_address);
        let text = format!(
            r#"{{"metadata":{{"labels":{{"component":"apiserver","provider":"kubernetes"}}}},"spec":{{"type":"ClusterIP",
            "clusterIP":"{address}","ports":[{{"name":"https","protocol":"TCP","port":443,"targetPort":{port}}}]}}}}"#
        );
        text.parse().ok()
    }

    fn service_account(&self) -> Option<Value> {
        self.authority.map(|_| Value::object::<&str>([]))
    }

    fn root_certificates(&self) -> Option<Value> {
        let authority = self.authority?;
        Some(Value::object([("data", Value::object([("ca.crt", Value::from(authority))]))]))
    }
}
