//! The rules for kubelets: users `system:node:NAME` of the group `system:nodes`.

use super::Related;
use crate::{
    Decision,
    rbac::{PolicyRule, bootstrap_objects},
};
use tenure_meta::{Attributes, FieldSelector, ResourceAttributes, UserInfo};
use tenure_profile::KubernetesVersion;
use tenure_value::Value;

/// The prefix of the user names of kubelets.
const USER: &str = "system:node:";
/// The group of kubelets.
const GROUP: &str = "system:nodes";
/// The cluster role whose rules are those of kubelets for what is not related to a node.
const ROLE: &str = "system:node";
/// The namespace of the leases of nodes.
const LEASES: &str = "kube-node-lease";
/// The field that names the node of a pod or resource slice in selectors.
const NODE_FIELD: &str = "spec.nodeName";

/// Returns the name of the node that a user is the kubelet of, if it is one.
pub fn node_name(user: &UserInfo) -> Option<&str> {
    user.name.strip_prefix(USER).filter(|_| user.is_in(GROUP))
}

/// Decides about requests of kubelets.
#[derive(Clone, Debug)]
pub struct NodeAuthorizer {
    rules: Vec<PolicyRule>,
    /// Whether kubelets may request certificates for pods.
    requests_certificates: bool,
}

/// A request of a kubelet.
struct Asked<'a, R> {
    node: &'a str,
    attributes: &'a ResourceAttributes,
    relates: R,
}

impl NodeAuthorizer {
    /// Returns the authorizer with the rules of the bootstrap role of nodes in a version of Kubernetes.
    pub fn new(version: KubernetesVersion) -> Result<NodeAuthorizer, String> {
        let is_role = |object: &Value| {
            object.at(["metadata", "name"]).and_then(Value::as_str) == Some(ROLE)
                && object.get("rules").is_some()
        };
        let role = bootstrap_objects(version)?.into_iter().find(is_role);
        let rules = PolicyRule::list(role.as_ref().and_then(|role| role.get("rules")));
        let requests_certificates = version >= KubernetesVersion::V1_37;
        Ok(NodeAuthorizer { rules, requests_certificates })
    }

    /// Decides about a request of the kubelet of a node. `relates` says whether an object, given by namespace and name, is related
    /// to the node.
    pub fn authorize(
        &self,
        node: &str,
        attributes: &Attributes,
        relates: impl Fn(Related, &str, &str) -> bool,
    ) -> Decision {
        if node.is_empty() {
            return Decision::no_opinion(format!("unknown node for user {USER:?}"));
        }
        if let Attributes::Resource(resource) = attributes {
            let asked = Asked { node, attributes: resource, relates };
            match (resource.group.as_str(), resource.resource.as_str()) {
                ("", "secrets") => return asked.read(Related::Secret),
                ("", "configmaps") => return asked.read(Related::ConfigMap),
                ("", "persistentvolumeclaims") if resource.subresource == "status" => {
                    return asked.claim_status();
                }
                ("", "persistentvolumeclaims") => return asked.get(Related::Claim),
                ("", "persistentvolumes") => return asked.get(Related::Volume),
                ("resource.k8s.io", "resourceclaims") => return asked.get(Related::ResourceClaim),
                ("storage.k8s.io", "volumeattachments") => return asked.get(Related::VolumeAttachment),
                ("", "serviceaccounts") => return asked.service_account(),
                ("coordination.k8s.io", "leases") => return asked.lease(),
                ("storage.k8s.io", "csinodes") => return asked.csi_node(),
                ("resource.k8s.io", "resourceslices") => return asked.resource_slice(),
                ("", "nodes") => return asked.node(),
                ("", "pods") => return asked.pod(),
                ("certificates.k8s.io", "podcertificaterequests") if self.requests_certificates => {
                    return asked.pod_certificate_request();
                }
                // Behind a feature gate of Kubernetes that is off.
                ("certificates.k8s.io", "podcertificaterequests") => return refused(""),
                _ => {}
            }
        }
        if self.rules.iter().any(|rule| rule.allows(attributes)) { Decision::allowed() } else { refused("") }
    }
}

fn refused(reason: &str) -> Decision {
    Decision::no_opinion(reason)
}

impl<R: Fn(Related, &str, &str) -> bool> Asked<'_, R> {
    /// Permits what is related to the node.
    fn related(&self, related: Related) -> Decision {
        if self.attributes.name.is_empty() {
            return refused("No Object name found");
        }
        match (self.relates)(related, &self.attributes.namespace, &self.attributes.name) {
            true => Decision::allowed(),
            false => refused(&format!("no relationship found between node '{}' and this object", self.node)),
        }
    }

    fn get(&self, related: Related) -> Decision {
        match (self.attributes.verb.as_str(), self.attributes.subresource.as_str()) {
            ("get", "") => self.related(related),
            ("get", _) => refused("cannot get subresource"),
            _ => refused("can only get individual resources of this type"),
        }
    }

    fn read(&self, related: Related) -> Decision {
        match self.attributes.verb.as_str() {
            "get" | "list" | "watch" if !self.attributes.subresource.is_empty() => {
                refused("cannot read subresource")
            }
            "get" | "list" | "watch" if self.attributes.namespace.is_empty() => {
                refused("can only read namespaced object of this type")
            }
            "get" | "list" | "watch" => self.related(related),
            _ => refused("can only read resources of this type"),
        }
    }

    fn claim_status(&self) -> Decision {
        match self.attributes.verb.as_str() {
            "update" | "patch" => self.related(Related::Claim),
            _ => refused("can only get/update/patch this type"),
        }
    }

    fn service_account(&self) -> Decision {
        let asked = self.attributes;
        match (asked.verb.as_str(), asked.subresource.as_str()) {
            ("get", "") => self.read(Related::ServiceAccount),
            ("create", _) if asked.name.is_empty() => {
                refused("can only create tokens for individual service accounts")
            }
            ("create", "token") => self.related(Related::ServiceAccount),
            ("create", _) => refused("can only create token subresource of serviceaccount"),
            _ => refused("can only create tokens for individual service accounts"),
        }
    }

    fn lease(&self) -> Decision {
        let asked = self.attributes;
        match asked.verb.as_str() {
            "get" | "create" | "update" | "patch" | "delete" => {}
            _ => return refused("can only get, create, update, patch, or delete a node lease"),
        }
        if asked.namespace != LEASES {
            return refused(&format!("can only access leases in the {LEASES:?} system namespace"));
        }
        // The name of a new object is not known here; admission checks it.
        match asked.verb == "create" || asked.name == self.node {
            true => Decision::allowed(),
            false => refused("can only access node lease with the same name as the requesting node"),
        }
    }

    fn csi_node(&self) -> Decision {
        let asked = self.attributes;
        match asked.verb.as_str() {
            "get" | "create" | "update" | "patch" | "delete" if asked.subresource.is_empty() => {}
            "get" | "create" | "update" | "patch" | "delete" => {
                return refused("cannot authorize CSINode subresources");
            }
            _ => return refused("can only get, create, update, patch, or delete a CSINode"),
        }
        match asked.verb == "create" || asked.name == self.node {
            true => Decision::allowed(),
            false => refused("can only access CSINode with the same name as the requesting node"),
        }
    }

    fn resource_slice(&self) -> Decision {
        match self.attributes.verb.as_str() {
            _ if !self.attributes.subresource.is_empty() => {
                refused("cannot authorize ResourceSlice subresources")
            }
            "create" => Decision::allowed(),
            "get" | "update" | "patch" | "delete" => self.related(Related::ResourceSlice),
            "watch" | "list" | "deletecollection" => match self.selects_own() {
                true => Decision::allowed(),
                false => refused(
                    "can only list/watch/deletecollection resourceslices with nodeName field selector",
                ),
            },
            _ => refused(
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
            ),
        }
    }

    fn pod_certificate_request(&self) -> Decision {
        match self.attributes.verb.as_str() {
            _ if !self.attributes.subresource.is_empty() => {
                refused("nodes may not access the status subresource of PodCertificateRequests")
            }
            // The admission plugin limits them further.
            "create" => Decision::allowed(),
            "get" => self.related(Related::PodCertificateRequest),
            "list" | "watch" if self.selects_own() => Decision::allowed(),
            "list" | "watch" => {
                refused("can only list/watch podcertificaterequests with nodeName field selector")
            }
            verb => refused(&format!("nodes may not {verb} podcertificaterequests")),
        }
    }

    fn node(&self) -> Decision {
        let (node, asked) = (self.node, self.attributes);
        match (asked.subresource.as_str(), asked.verb.as_str()) {
            ("", "create" | "update" | "patch") | ("status", "update" | "patch") => Decision::allowed(),
            // By name: a kubelet looks for its node before it creates it.
            ("", "get" | "list" | "watch") => match asked.name.as_str() {
                name if name == node => Decision::allowed(),
                "" => refused(&format!("node '{node}' cannot read all nodes, only its own Node object")),
                name => refused(&format!("node '{node}' cannot read '{name}', only its own Node object")),
            },
            _ => refused(""),
        }
    }

    fn pod(&self) -> Decision {
        match (self.attributes.subresource.as_str(), self.attributes.verb.as_str()) {
            ("", "get") => self.related(Related::Pod),
            ("", "list" | "watch") if self.selects_own() => Decision::allowed(),
            ("", "list" | "watch") if !self.attributes.name.is_empty() => self.related(Related::Pod),
            ("", "list" | "watch") => refused("can only list/watch pods with spec.nodeName field selector"),
            // Admission limits these to pods of the node.
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => {
                Decision::allowed()
            }
            _ => refused(""),
        }
    }

    /// Whether the request selects the objects of the node.
    fn selects_own(&self) -> bool {
        let selector = FieldSelector::parse(&self.attributes.field_selector);
        selector.is_ok_and(|selector| selector.demands(NODE_FIELD, self.node))
    }
}
