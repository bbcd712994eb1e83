//! The built-in admission plugins, one file each. A further plugin is a file here and a row in the chain.

mod always_pull;
mod certificate_subject;
mod default_class;
mod dynamic;
mod extended_resource;
mod limit_ranger;
mod node_features;
mod node_restriction;
mod pod_resize;
mod pod_security;
mod pod_topology;
mod policy_dispatch;
mod priority;
mod pvc_resize;
mod runtime_class;
mod service_account;
mod service_addresses;
mod signer;
mod webhook_dispatch;

pub(crate) use always_pull::ALWAYS_PULL_IMAGES;
pub(crate) use certificate_subject::CERTIFICATE_SUBJECT_RESTRICTION;
pub(crate) use default_class::{DEFAULT_INGRESS_CLASS, DEFAULT_STORAGE_CLASS};
pub(crate) use dynamic::{
    MutatingAdmissionPolicy, MutatingAdmissionWebhook, ValidatingAdmissionPolicy, ValidatingAdmissionWebhook,
};
pub(crate) use extended_resource::EXTENDED_RESOURCE_TOLERATION;
pub(crate) use limit_ranger::LimitRanger;
pub(crate) use node_features::NodeDeclaredFeatureValidator;
pub(crate) use node_restriction::NodeRestriction;
pub(crate) use pod_resize::PodResizeValidator;
pub(crate) use pod_security::PodSecurity;
pub(crate) use pod_topology::PodTopologyLabels;
pub(crate) use priority::Priority;
pub(crate) use pvc_resize::PersistentVolumeClaimResize;
pub(crate) use runtime_class::RuntimeClass;
pub(crate) use service_account::ServiceAccount;
pub(crate) use service_addresses::DENY_SERVICE_EXTERNAL_IPS;
pub(crate) use signer::{CERTIFICATE_APPROVAL, CERTIFICATE_SIGNING, CLUSTER_TRUST_BUNDLE_ATTEST};

use tenure_value::{Object, Value};

/// Returns the fields of a member; none if it is not an object.
fn fields(part: Option<&Value>) -> Object {
    part.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Returns an object with another `spec`.
fn with_spec(object: &Value, spec: Object) -> Value {
    fields(Some(object)).with("spec", spec).into()
}

/// Returns a text of `metadata`; empty if it is missing.
fn meta_text<'v>(object: &'v Value, field: &str) -> &'v str {
    object.at(["metadata", field]).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the items of a list; none if it is not a list.
fn items(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map(|list| list.items()).unwrap_or_default()
}

/// Returns a text of an object; empty if it is missing.
fn text<'v>(object: &'v Value, field: &str) -> &'v str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}
