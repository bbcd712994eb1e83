//! The built-in resources with a special role in the server: CustomResourceDefinitions, admission,
//! namespaces, pods and services.

use tenure_meta::{GroupVersionResource, Resource};
use tenure_value::Value;

/// The role of a resource in the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// CustomResourceDefinitions.
    Definition,
    /// Admission configuration.
    AdmissionConfiguration,
    /// RBAC roles and bindings.
    Rbac,
    /// Namespaces.
    Namespace,
    /// Pods, which terminate gracefully.
    Pod,
    /// Services, which get cluster IPs and node ports.
    Service,
    /// CertificateSigningRequests, whose certificates are counted.
    CertificateSigningRequest,
    /// No special role.
    Ordinary,
}

impl Role {
    /// Returns the role of a resource.
    pub fn of(resource: &Resource) -> Role {
        match (resource.group.as_str(), resource.name.as_str()) {
            ("apiextensions.k8s.io", "customresourcedefinitions") => Role::Definition,
            (group, name) if group == RBAC.0 && RBAC.1.contains(&name) => Role::Rbac,
            ("", "namespaces") => Role::Namespace,
            ("", "pods") => Role::Pod,
            ("", "services") => Role::Service,
            ("certificates.k8s.io", "certificatesigningrequests") => Role::CertificateSigningRequest,
            (ADMISSION_GROUP, name) if ADMISSION_CONFIGURATIONS.contains(&name) => {
                Role::AdmissionConfiguration
            }
            _ => Role::Ordinary,
        }
    }
}

/// The reviews that admission policies do not see, nor admission webhooks since Kubernetes 1.37, by group and resource.
pub const REVIEWS: [(&str, &str); 6] = [
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

/// The group of the resources that configure admission.
pub const ADMISSION_GROUP: &str = "admissionregistration.k8s.io";
/// The resources that configure admission.
pub const ADMISSION_CONFIGURATIONS: [&str; 6] = [
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];

/// Migrations of stored objects, since Kubernetes 1.37.
pub const STORAGE_VERSION_MIGRATIONS: GroupVersionResource =
    GroupVersionResource::new("storagemigration.k8s.io", "v1", "storageversionmigrations");
/// The group and the resources of roles and bindings.
pub const RBAC: (&str, [&str; 4]) =
    ("rbac.authorization.k8s.io", ["clusterrolebindings", "clusterroles", "rolebindings", "roles"]);
/// The resources of roles, without bindings.
pub const ROLES: [&str; 2] = ["clusterroles", "roles"];
/// The group of flow schemas and priority levels, and their resources.
pub const FLOW_CONTROL: (&str, [&str; 2]) =
    ("flowcontrol.apiserver.k8s.io", ["flowschemas", "prioritylevelconfigurations"]);
/// Bindings.
pub const BINDINGS: GroupVersionResource = GroupVersionResource::new("", "v1", "bindings");
/// Events.
pub const EVENTS: GroupVersionResource = GroupVersionResource::new("", "v1", "events");
/// The resources that controllers write all the time, as `resource.group`.
pub const FREQUENTLY_WRITTEN: [&str; 3] = ["events", "events.events.k8s.io", "leases.coordination.k8s.io"];
/// Namespaces.
pub const NAMESPACES: GroupVersionResource = GroupVersionResource::new("", "v1", "namespaces");
/// Pods.
pub const PODS: GroupVersionResource = GroupVersionResource::new("", "v1", "pods");
/// Disruption budgets.
pub const POD_DISRUPTION_BUDGETS: GroupVersionResource =
    GroupVersionResource::new("policy", "v1", "poddisruptionbudgets");
/// Service accounts.
pub const SERVICE_ACCOUNTS: GroupVersionResource = GroupVersionResource::new("", "v1", "serviceaccounts");
/// Secrets.
pub const SECRETS: GroupVersionResource = GroupVersionResource::new("", "v1", "secrets");
/// Services.
pub const SERVICES: GroupVersionResource = GroupVersionResource::new("", "v1", "services");
/// IP addresses.
pub const IP_ADDRESSES: GroupVersionResource =
    GroupVersionResource::new("networking.k8s.io", "v1", "ipaddresses");
/// Service CIDRs, the networks of which services get addresses.
pub const SERVICE_CIDRS: GroupVersionResource =
    GroupVersionResource::new("networking.k8s.io", "v1", "servicecidrs");
/// The name of the service CIDR that a server creates.
pub const DEFAULT_SERVICE_CIDR: &str = "kubernetes";
/// The finalizer of service CIDRs.
pub const SERVICE_CIDR_FINALIZER: &str = "networking.k8s.io/service-cidr-finalizer";
/// Endpoints.
pub const ENDPOINTS: GroupVersionResource = GroupVersionResource::new("", "v1", "endpoints");
/// Endpoint slices.
pub const ENDPOINT_SLICES: GroupVersionResource =
    GroupVersionResource::new("discovery.k8s.io", "v1", "endpointslices");
/// Quotas.
pub const RESOURCE_QUOTAS: GroupVersionResource = GroupVersionResource::new("", "v1", "resourcequotas");
/// Cluster roles.
pub const CLUSTER_ROLES: GroupVersionResource =
    GroupVersionResource::new("rbac.authorization.k8s.io", "v1", "clusterroles");
/// The core resources whose usage of quotas can change while they exist.
pub const VARIABLE_USAGE: [&str; 3] = ["persistentvolumeclaims", "pods", "services"];
/// Nodes.
pub const NODES: GroupVersionResource = GroupVersionResource::new("", "v1", "nodes");
/// Custom resource definitions.
pub const DEFINITIONS: GroupVersionResource =
    GroupVersionResource::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
/// The namespaces created at start-up.
pub const INITIAL_NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// The namespaces that cannot be deleted.
const PROTECTED_NAMESPACES: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Whether the objects of a resource are secrets, whose values are not shown.
pub fn is_secret(resource: &Resource) -> bool {
    (resource.storage.0.as_str(), resource.name.as_str()) == (SECRETS.group, SECRETS.resource)
}

/// Whether an object of a role must not be deleted.
pub fn is_protected(role: Role, name: &str) -> bool {
    role == Role::Namespace && PROTECTED_NAMESPACES.contains(&name)
}

/// Returns the folder in which Kubernetes stores the objects of a resource, which errors name.
pub fn storage_folder(resource: &Resource, is_custom: bool) -> String {
    match (resource.group.as_str(), resource.name.as_str()) {
        ("", "endpoints") => "services/endpoints".into(),
        ("", "services") => "services/specs".into(),
        ("", "nodes") => "minions".into(),
        ("", "replicationcontrollers") => "controllers".into(),
        ("networking.k8s.io", "ingresses") => "ingress".into(),
        (group @ ("apiextensions.k8s.io" | "apiregistration.k8s.io"), name) => format!("{group}/{name}"),
        (group, name) if is_custom => format!("{group}/{name}"),
        (_, name) => name.into(),
    }
}

/// Whether an object has finalizers in its spec.
pub fn has_content_finalizers(role: Role, object: &Value) -> bool {
    role == Role::Namespace
        && object.at(["spec", "finalizers"]).and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

/// Returns a namespace with the phase `Terminating`.
pub fn terminating_namespace(namespace: &Value) -> Value {
    let status = namespace.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let root = namespace.as_object().cloned().unwrap_or_default();
    root.with("status", status.with("phase", "Terminating")).into()
}
