//! NodeRestriction: a kubelet, a user of the group `system:nodes` named `system:node:NAME`, writes its own node and what belongs to it:
//! its pods and their status, its lease, its CSINode and ResourceSlices, tokens of its pods and its own certificates.

mod pod_certificate;

use super::{certificate_subject::common_names, fields, items, meta_text, text};
use crate::{
    AdmissionAttributes, AdmissionConfig, AdmissionContext, AdmissionPlugin, Operation, ResourceAction,
};
use async_trait::async_trait;
use std::collections::BTreeSet;
use tenure_crd::rules::AccessAttributes;
use tenure_meta::{ApiError, Reason};
use tenure_value::{Text, Value};

const NODES_GROUP: &str = "system:nodes";
const NODE_USER: &str = "system:node:";
/// The annotation of mirror pods: pods that a node runs on its own.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// A kind of objects that tokens of drivers depend on.
struct ReferencedKind {
    api_version: &'static str,
    kind: &'static str,
    /// How a message names it.
    resource: &'static str,
}

const CSI_DRIVER: ReferencedKind = ReferencedKind {
    api_version: "storage.k8s.io/v1",
    kind: "CSIDriver",
    resource: "csidriver.storage.k8s.io",
};
const CLAIM: ReferencedKind =
    ReferencedKind { api_version: "v1", kind: "PersistentVolumeClaim", resource: "persistentvolumeclaim" };
const VOLUME: ReferencedKind =
    ReferencedKind { api_version: "v1", kind: "PersistentVolume", resource: "persistentvolume" };

/// The drivers that have taken over volumes which Kubernetes once handled itself.
const MIGRATED: [(&str, &str); 7] = [
    ("awsElasticBlockStore", "ebs.csi.aws.com"),
    ("azureDisk", "disk.csi.azure.com"),
    ("azureFile", "file.csi.azure.com"),
    ("cinder", "cinder.csi.openstack.org"),
    ("gcePersistentDisk", "pd.csi.storage.gke.io"),
    ("portworxVolume", "pxd.portworx.com"),
    ("vsphereVolume", "csi.vsphere.vmware.com"),
];
const LEASE_NAMESPACE: &str = "kube-node-lease";
/// The prefix of labels that only others may set on a node.
const RESTRICTED_LABELS: &str = "node-restriction.kubernetes.io";
/// The labels of Kubernetes that a kubelet sets on its node.
const KUBELET_LABELS: [&str; 11] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];
/// The prefixes of labels, and of their subdomains, that a kubelet may set.
const KUBELET_LABEL_PREFIXES: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
/// The signers of certificates of kubelets.
const KUBELET_SIGNERS: [&str; 2] =
    ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];
/// The resources that the plugin has rules for.
const RESOURCES: [(&str, &str); 9] = [
    ("", "nodes"),
    ("", "persistentvolumeclaims"),
    ("", "pods"),
    ("", "serviceaccounts"),
    ("certificates.k8s.io", "certificatesigningrequests"),
    ("certificates.k8s.io", "podcertificaterequests"),
    ("coordination.k8s.io", "leases"),
    ("resource.k8s.io", "resourceslices"),
    ("storage.k8s.io", "csinodes"),
];
/// Volumes that lead to API objects, and what a node must not refer to by them.
const REFERRING_VOLUMES: [(&str, &str); 7] = [
    ("azureFile", "secrets (via azureFile volumes)"),
    ("configMap", "configmaps (via configmap volumes)"),
    ("csi", "csidrivers (via CSI volumes)"),
    ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
    ("glusterfs", "endpoints (via glusterFS volumes)"),
    ("persistentVolumeClaim", "persistentvolumeclaims"),
    ("secret", "secrets (via secret volumes)"),
];
/// The same of the sources of projected volumes.
const REFERRING_SOURCES: [(&str, &str); 5] = [
    ("clusterTrustBundle", "clustertrustbundles"),
    ("configMap", "configmaps (via projected volumes)"),
    ("podCertificate", "podcertificates"),
    ("secret", "secrets (via projected volumes)"),
    ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
];

/// Limits kubelets to what belongs to their nodes.
pub(crate) struct NodeRestriction;

#[async_trait]
impl AdmissionPlugin for NodeRestriction {
    fn handles(&self, action: &ResourceAction<'_>, _: &AdmissionConfig) -> bool {
        RESOURCES.contains(&(action.group, action.resource))
    }

    async fn admit(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let Some(node) = node_of(&attributes.user).map(String::from) else { return Ok(()) };
        let request = NodeRequest { node: &node, attributes, context };
        if node.is_empty() {
            let user = text(&attributes.user, "username");
            return Err(request.forbidden(&format!("could not determine node from user {user:?}")));
        }
        request.check().await
    }
}

/// Returns the name of the node that a user is the kubelet of; `None` if the user is not a kubelet, and an empty name if it does not name a node.
fn node_of(user: &Value) -> Option<&str> {
    let name = text(user, "username").strip_prefix(NODE_USER)?;
    items(user.get("groups")).iter().any(|group| group.as_str() == Some(NODES_GROUP)).then_some(name)
}

/// A request of a kubelet.
struct NodeRequest<'r> {
    node: &'r str,
    attributes: &'r AdmissionAttributes,
    context: &'r AdmissionContext<'r>,
}

impl NodeRequest<'_> {
    async fn check(&self) -> Result<(), ApiError> {
        let action = self.attributes.action();
        match (action.resource, action.subresource) {
            ("pods", "") => self.check_pod().await,
            ("pods", "status") => self.check_pod_status(),
            ("pods", "eviction") => {
                let pod = self.pod(&self.attributes.name).await?;
                self.require(is_bound(&pod, self.node), || {
                    format!("node {} can only evict pods with spec.nodeName set to itself", self.node)
                })
            }
            ("pods", other) => Err(self.forbidden(&format!(
                "unexpected pod subresource {other:?}, only 'status' and 'eviction' are allowed"
            ))),
            ("nodes", _) => self.check_node(),
            ("persistentvolumeclaims", "status") => self.check_claim_status(),
            ("persistentvolumeclaims", _) => Err(self.forbidden("may only update PVC status")),
            ("serviceaccounts", "token") if action.operation == Operation::Create => self.check_token().await,
            ("podcertificaterequests", _) => self.check_pod_certificate().await,
            ("leases", _) => self.check_lease(),
            ("csinodes", _) => self.require(self.attributes.name == self.node, || {
                "can only access CSINode with the same name as the requesting node".into()
            }),
            ("resourceslices", _) => self.check_resource_slice(action.operation),
            ("certificatesigningrequests", "") if action.operation == Operation::Create => {
                self.check_signing_request()
            }
            _ => Ok(()),
        }
    }

    async fn check_pod(&self) -> Result<(), ApiError> {
        let node = self.node;
        match self.attributes.operation {
            Operation::Create => self.check_new_pod().await,
            Operation::Delete => {
                let pod = self.pod(&self.attributes.name).await?;
                self.require(is_bound(&pod, node), || {
                    format!("node {node:?} can only delete pods with spec.nodeName set to itself")
                })
            }
            Operation::Update => Err(self.forbidden(&format!(
                "unexpected operation \"UPDATE\", node {node:?} can only create and delete mirror pods"
            ))),
            Operation::Connect => Ok(()),
        }
    }

    async fn check_new_pod(&self) -> Result<(), ApiError> {
        let (node, pod) = (self.node, &self.attributes.object);
        self.require(pod.at(["metadata", "annotations", MIRROR]).is_some(), || {
            format!("pod does not have {MIRROR:?} annotation, node {node:?} can only create mirror pods")
        })?;
        self.require(is_bound(pod, node), || {
            format!("node {node:?} can only create pods with spec.nodeName set to itself")
        })?;
        let [owner] = items(pod.at(["metadata", "ownerReferences"])) else {
            let is_empty = items(pod.at(["metadata", "ownerReferences"])).is_empty();
            let which = if is_empty { "an" } else { "a single" };
            return Err(self.forbidden(&format!(
                "node {node:?} can only create pods with {which} owner reference set to itself"
            )));
        };
        let is_itself =
            (text(owner, "apiVersion"), text(owner, "kind"), text(owner, "name")) == ("v1", "Node", node);
        self.require(is_itself, || {
            format!("node {node:?} can only create pods with an owner reference set to itself")
        })?;
        let flag = |name: &str| owner.get(name).and_then(Value::as_bool).unwrap_or_default();
        self.require(flag("controller"), || {
            format!("node {node:?} can only create pods with a controller owner reference set to itself")
        })?;
        self.require(!flag("blockOwnerDeletion"), || {
            format!("node {node:?} must not set blockOwnerDeletion on an owner reference")
        })?;
        let live = self.context.cluster.get("v1", "Node", "", node).await?;
        let live = live.ok_or_else(|| ApiError::not_found("", "nodes", node))?;
        let (given, uid) = (text(owner, "uid"), meta_text(&live, "uid"));
        self.require(given == uid, || format!("node {node} UID mismatch: expected {given} got {uid}"))?;
        match reference_of(pod) {
            Some(resource) => {
                Err(self.forbidden(&format!("node {node:?} can not create pods that reference {resource}")))
            }
            None => Ok(()),
        }
    }

    fn check_pod_status(&self) -> Result<(), ApiError> {
        let (node, old, new) = (self.node, &self.attributes.old_object, &self.attributes.object);
        self.require(self.attributes.operation == Operation::Update, || {
            format!("unexpected operation {:?}", self.attributes.operation.word())
        })?;
        self.require(is_bound(old, node), || {
            format!("node {node:?} can only update pod status for pods with spec.nodeName set to itself")
        })?;
        let labels = |node: &Value| fields(node.at(["metadata", "labels"]));
        self.require(labels(old) == labels(new), || {
            format!("node {node:?} cannot update labels through pod status")
        })?;
        let claims = |pod: &Value| items(pod.at(["status", "resourceClaimStatuses"])).to_vec();
        self.require(claims(old) == claims(new), || {
            format!("node {node:?} cannot update resource claim statues")
        })?;
        let extended = |pod: &Value| pod.at(["status", "extendedResourceClaimStatus"]).cloned();
        self.require(extended(old) == extended(new), || {
            format!("node {node:?} cannot update extended resource claim status")
        })
    }

    fn check_node(&self) -> Result<(), ApiError> {
        let (node, name) = (self.node, self.attributes.name.as_str());
        self.require(name == node, || format!("node {node:?} is not allowed to modify node {name:?}"))?;
        let (old, new) = (&self.attributes.old_object, &self.attributes.object);
        let source =
            |node: &Value| node.at(["spec", "configSource"]).filter(|source| !source.is_null()).cloned();
        match self.attributes.operation {
            Operation::Create => {
                self.require(source(new).is_none(), || {
                    format!("node {node:?} is not allowed to create pods with a non-nil configSource")
                })?;
                let forbidden = forbidden_labels(new, &Value::Null);
                self.require(forbidden.is_empty(), || {
                    format!("node {node:?} is not allowed to set the following labels: {forbidden}")
                })
            }
            Operation::Update => {
                self.require(source(new).is_none() || source(new) == source(old), || {
                    format!(
                        "node {node:?} is not allowed to update configSource to a new non-nil configSource"
                    )
                })?;
                let list = |object: &Value, at: [&str; 2]| items(object.at(at)).to_vec();
                self.require(list(old, ["spec", "taints"]) == list(new, ["spec", "taints"]), || {
                    format!("node {node:?} is not allowed to modify taints")
                })?;
                let owners = ["metadata", "ownerReferences"];
                self.require(list(old, owners) == list(new, owners), || {
                    format!("node {node:?} is not allowed to modify ownerReferences")
                })?;
                let forbidden = forbidden_labels(new, old);
                self.require(forbidden.is_empty(), || format!("is not allowed to modify labels: {forbidden}"))
            }
            Operation::Delete | Operation::Connect => Ok(()),
        }
    }

    fn check_claim_status(&self) -> Result<(), ApiError> {
        self.require(self.attributes.operation == Operation::Update, || {
            format!("unexpected operation {:?}", self.attributes.operation.word())
        })?;
        let without = |node: &Value| {
            let metadata = fields(node.get("metadata")).without("resourceVersion").without("managedFields");
            let status = fields(node.get("status"))
                .without("capacity")
                .without("conditions")
                .without("allocatedResources")
                .without("allocatedResourceStatuses");
            Value::from(fields(Some(node)).with("metadata", metadata).with("status", status))
        };
        let same = without(&self.attributes.old_object) == without(&self.attributes.object);
        self.require(same, || {
            format!(
                "node {:?} is not allowed to update fields other than status.quantity and status.conditions",
                self.node
            )
        })
    }

    /// A token of a node is for a pod on it, and for an audience that the pod uses.
    async fn check_token(&self) -> Result<(), ApiError> {
        let spec = self.attributes.object.get("spec").cloned().unwrap_or_default();
        let reference = spec.get("boundObjectRef").cloned().unwrap_or_default();
        let name = text(&reference, "name");
        let is_pod = (text(&reference, "apiVersion"), text(&reference, "kind")) == ("v1", "Pod");
        self.require(is_pod && !name.is_empty(), || "node requested token not bound to a pod".into())?;
        let uid = text(&reference, "uid");
        self.require(!uid.is_empty(), || "node requested token with a pod binding without a uid".into())?;
        let pod = self.pod(name).await?;
        self.require(uid == meta_text(&pod, "uid"), || {
            format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
            )
        })?;
        self.require(is_bound(&pod, self.node), || {
            "node requested token bound to a pod scheduled on a different node".into()
        })?;
        let audiences = items(spec.get("audiences"));
        self.require(audiences.len() <= 1, || "node may only request 0 or 1 audiences".into())?;
        let audience = audiences.first().and_then(Value::as_str).unwrap_or_default();
        let mut absent = Vec::new();
        if self.uses_audience(&pod, audience, &mut absent).await? {
            return Ok(());
        }
        self.require(absent.is_empty(), || {
            let list = match absent.as_slice() {
                [one] => one.clone(),
                several => format!("[{}]", several.join(", ")),
            };
            format!("error validating audience {audience:?}: {list}")
        })?;
        let asked = AccessAttributes {
            verb: "request-serviceaccounts-token-audience".into(),
            resource: audience.into(),
            namespace: self.attributes.namespace.clone(),
            name: self.attributes.name.clone(),
            ..AccessAttributes::default()
        };
        let is_allowed = (self.context.decide)(&asked).allowed;
        self.require(is_allowed, || {
            let user = text(&self.attributes.user, "username");
            format!(
                "audience {audience:?} not found in pod spec volume, {user} is not authorized to request tokens for this audience"
            )
        })
    }

    /// Whether a volume of a pod uses a token for an audience, itself or by its CSI driver. What does not exist of those that it
    /// depends on is added to `absent`.
    async fn uses_audience(
        &self,
        pod: &Value,
        audience: &str,
        absent: &mut Vec<String>,
    ) -> Result<bool, ApiError> {
        let namespace = meta_text(pod, "namespace");
        for volume in items(pod.at(["spec", "volumes"])) {
            let mut tokens = items(volume.at(["projected", "sources"]))
                .iter()
                .filter_map(|source| source.get("serviceAccountToken"));
            if tokens.any(|token| text(token, "audience") == audience) {
                return Ok(true);
            }
            let claim = match (volume.get("ephemeral"), volume.get("persistentVolumeClaim")) {
                (Some(_), _) => Some(format!("{}-{}", meta_text(pod, "name"), text(volume, "name"))),
                (None, claim) => claim.map(|claim| text(claim, "claimName").to_string()),
            };
            let used = match claim {
                Some(claim) => self.driver_of(namespace, &claim).await?,
                None => Ok(driver(volume)),
            };
            let used = match used {
                Ok(Some(driver)) => self.cluster_object(&CSI_DRIVER, "", &driver).await?,
                Ok(None) => continue,
                Err(why) => Err(why),
            };
            match used {
                Ok(driver) => {
                    let requests = items(driver.at(["spec", "tokenRequests"]));
                    if requests.iter().any(|request| text(request, "audience") == audience) {
                        return Ok(true);
                    }
                }
                Err(why) if absent.contains(&why) => {}
                Err(why) => absent.push(why),
            }
        }
        Ok(false)
    }

    /// Returns the CSI driver of the volume of a claim, or what does not exist.
    async fn driver_of(
        &self,
        namespace: &str,
        claim: &str,
    ) -> Result<Result<Option<Text>, String>, ApiError> {
        let claim = match self.cluster_object(&CLAIM, namespace, claim).await? {
            Ok(claim) => claim,
            Err(why) => return Ok(Err(why)),
        };
        let volume = claim.at(["spec", "volumeName"]).and_then(Value::as_str).unwrap_or_default();
        let volume = self.cluster_object(&VOLUME, "", volume).await?;
        Ok(volume.map(|volume| volume.get("spec").and_then(driver)))
    }

    /// Returns an object, or the message that it does not exist.
    async fn cluster_object(
        &self,
        referenced: &ReferencedKind,
        namespace: &str,
        name: &str,
    ) -> Result<Result<Value, String>, ApiError> {
        let ReferencedKind { api_version, kind, resource } = referenced;
        let found = self.context.cluster.get(api_version, kind, namespace, name).await?;
        Ok(found.ok_or_else(|| format!("{resource} {name:?} not found")))
    }

    fn check_lease(&self) -> Result<(), ApiError> {
        self.require(self.attributes.namespace == LEASE_NAMESPACE, || {
            format!("can only access leases in the {LEASE_NAMESPACE:?} system namespace")
        })?;
        self.require(self.attributes.name == self.node, || {
            "can only access node lease with the same name as the requesting node".into()
        })
    }

    fn check_resource_slice(&self, operation: Operation) -> Result<(), ApiError> {
        let (object, verb) = match operation {
            Operation::Create => (&self.attributes.object, "create"),
            Operation::Delete => (&self.attributes.old_object, "delete"),
            Operation::Update | Operation::Connect => return Ok(()),
        };
        let name = object.at(["spec", "nodeName"]).and_then(Value::as_str);
        self.require(name == Some(self.node), || {
            format!("can only {verb} ResourceSlice with the same NodeName as the requesting node")
        })
    }

    fn check_signing_request(&self) -> Result<(), ApiError> {
        let spec = self.attributes.object.get("spec").cloned().unwrap_or_default();
        if !KUBELET_SIGNERS.contains(&text(&spec, "signerName")) {
            return Ok(());
        }
        let names = common_names(text(&spec, "request"));
        let names = names.map_err(|why| self.forbidden(&format!("unable to parse csr: {why}")))?;
        let own = format!("{NODE_USER}{}", self.node);
        self.require(names.last() == Some(&own), || format!("can only create a node CSR with CN={own}"))
    }

    async fn pod(&self, name: &str) -> Result<Value, ApiError> {
        let found = self.context.cluster.get("v1", "Pod", &self.attributes.namespace, name).await?;
        found.ok_or_else(|| ApiError::not_found("", "pods", name))
    }

    fn require(&self, is_so: bool, why: impl FnOnce() -> String) -> Result<(), ApiError> {
        if is_so { Ok(()) } else { Err(self.forbidden(&why())) }
    }

    fn forbidden(&self, why: &str) -> ApiError {
        debug_assert_eq!(self.attributes.forbidden(why).reason, Reason::Forbidden);
        self.attributes.forbidden(why)
    }
}

/// Returns the CSI driver of a volume, also of one that Kubernetes once handled itself.
fn driver(volume: &Value) -> Option<Text> {
    let own = volume.at(["csi", "driver"]).and_then(Value::as_str);
    let is_of = |source: &str| volume.get(source).is_some_and(|source| !source.is_null());
    let migrated = || MIGRATED.iter().find(|(source, _)| is_of(source)).map(|(_, driver)| *driver);
    own.or_else(migrated).map(Text::new)
}

fn is_bound(pod: &Value, node: &str) -> bool {
    pod.at(["spec", "nodeName"]).and_then(Value::as_str) == Some(node)
}

/// Returns the labels that differ and that a kubelet must not change, separated by commas.
fn forbidden_labels(new: &Value, old: &Value) -> String {
    let labels = |node: &Value| fields(node.at(["metadata", "labels"]));
    let (new, old) = (labels(new), labels(old));
    let names: BTreeSet<&Text> = new.iter().chain(old.iter()).map(|(name, _)| name).collect();
    let changed = names.into_iter().filter(|name| new.get(name.as_str()) != old.get(name.as_str()));
    let forbidden: Vec<&str> = changed.map(Text::as_str).filter(|name| !may_set(name)).collect();
    forbidden.join(", ")
}

/// Whether a kubelet may set a label of its node.
fn may_set(label: &str) -> bool {
    let prefix = label.split_once('/').map_or("", |(prefix, _)| prefix);
    let is_within = |domain: &str| prefix == domain || prefix.ends_with(&format!(".{domain}"));
    if is_within(RESTRICTED_LABELS) {
        return false;
    }
    let is_kubernetes = is_within("kubernetes.io") || is_within("k8s.io");
    !is_kubernetes
        || KUBELET_LABELS.contains(&label)
        || KUBELET_LABEL_PREFIXES.iter().any(|prefix| is_within(prefix))
}

/// Returns what API objects a pod refers to, if it refers to any.
fn reference_of(pod: &Value) -> Option<&'static str> {
    let spec = pod.get("spec")?;
    if !text(spec, "serviceAccountName").is_empty() {
        return Some("serviceaccounts");
    }
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let containers = || lists.iter().flat_map(|list| items(spec.get(*list)));
    let uses = |key: &str, all: &str| {
        containers().any(|container| {
            items(container.get("env")).iter().any(|variable| variable.at(["valueFrom", key]).is_some())
                || items(container.get("envFrom")).iter().any(|source| source.get(all).is_some())
        })
    };
    if uses("secretKeyRef", "secretRef") || !items(spec.get("imagePullSecrets")).is_empty() {
        return Some("secrets");
    }
    if uses("configMapKeyRef", "configMapRef") {
        return Some("configmaps");
    }
    if !items(spec.get("resourceClaims")).is_empty() {
        return Some("resourceclaims");
    }
    let find = |volume: &Value, table: &[(&str, &'static str)]| {
        table.iter().find(|(member, _)| volume.get(*member).is_some()).map(|(_, resource)| *resource)
    };
    items(spec.get("volumes")).iter().find_map(|volume| {
        let sources = items(volume.at(["projected", "sources"]));
        find(volume, &REFERRING_VOLUMES)
            .or_else(|| sources.iter().find_map(|source| find(source, &REFERRING_SOURCES)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    #[test]
    fn kubelets_are_recognized_by_name_and_group() {
        for (user, node) in [
            (r#"{"username":"system:node:a","groups":["system:nodes"]}"#, Some("a")),
            (r#"{"username":"system:node:","groups":["system:nodes"]}"#, Some("")),
            (r#"{"username":"system:node:a","groups":["other"]}"#, None),
            (r#"{"username":"a","groups":["system:nodes"]}"#, None),
        ] {
            assert_eq!(node_of(&value(user)), node, "{user}");
        }
    }

    #[test]
    fn kubelets_set_few_labels_of_kubernetes() {
        for (label, expected) in [
            ("example.com/a", true),
            ("a", true),
            ("kubernetes.io/hostname", true),
            ("kubernetes.io/other", false),
            ("node-role.kubernetes.io/control-plane", false),
            ("x.node.kubernetes.io/a", true),
            ("node-restriction.kubernetes.io/a", false),
            ("a.node-restriction.kubernetes.io/b", false),
            ("k8s.io/a", false),
        ] {
            assert_eq!(may_set(label), expected, "{label}");
        }
        let labels = |text: &str| value(&format!(r#"{{"metadata":{{"labels":{text}}}}}"#));
        let (old, new) =
            (labels(r#"{"k8s.io/a":"1","k8s.io/b":"1"}"#), labels(r#"{"k8s.io/b":"2","k8s.io/c":"1"}"#));
        assert_eq!(forbidden_labels(&new, &old), "k8s.io/a, k8s.io/b, k8s.io/c");
        assert_eq!(forbidden_labels(&old, &old), "");
    }

    #[test]
    fn references_of_pods_are_found() {
        for (spec, expected) in [
            (
                r#"{"containers":[{"name":"c"}],"volumes":[{"name":"a","emptyDir":{}},{"name":"b","projected":{"sources":[{"downwardAPI":{}}]}}]}"#,
                None,
            ),
            (r#"{"serviceAccountName":"x"}"#, Some("serviceaccounts")),
            (
                r#"{"containers":[{"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s"}}}]}]}"#,
                Some("secrets"),
            ),
            (r#"{"initContainers":[{"envFrom":[{"configMapRef":{"name":"s"}}]}]}"#, Some("configmaps")),
            (r#"{"resourceClaims":[{"name":"r"}]}"#, Some("resourceclaims")),
            (r#"{"volumes":[{"name":"a","csi":{}}]}"#, Some("csidrivers (via CSI volumes)")),
            (
                r#"{"volumes":[{"name":"a","projected":{"sources":[{"serviceAccountToken":{}}]}}]}"#,
                Some("serviceaccounts (via projected volumes)"),
            ),
        ] {
            assert_eq!(reference_of(&value(&format!(r#"{{"spec":{spec}}}"#))), expected, "{spec}");
        }
    }
}
