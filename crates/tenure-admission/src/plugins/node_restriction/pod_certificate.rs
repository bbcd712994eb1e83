//! Requests of kubelets for the certificates of pods: each is for a pod that runs on the node, as the service account that the pod
//! has, and of a signer that a volume of the pod names, or that the node may ask without one.
//!
//! What may be right a moment later, since it depends on objects that the server has not seen yet, is an error that clients retry, and
//! not a refusal.

use super::{MIRROR, NodeRequest, is_bound, items, meta_text, text};
use crate::Operation;
use tenure_crd::rules::AccessAttributes;
use tenure_meta::ApiError;
use tenure_value::Value;

/// The verb of asking a signer for certificates of a service account whose pods do not name it.
const REQUEST_VERB: &str = "request-serviceaccounts-podcertificate-signer";

impl NodeRequest<'_> {
    pub(super) async fn check_pod_certificate(&self) -> Result<(), ApiError> {
        let attributes = self.attributes;
        self.require(attributes.operation == Operation::Create, || {
            format!("unexpected operation {}", attributes.operation.word())
        })?;
        self.require(attributes.subresource.is_empty(), || {
            format!("unexpected subresource {}", attributes.subresource)
        })?;
        let spec = attributes.object.get("spec").unwrap_or(&Value::Null);
        let (node, given) = (self.node, |field: &str| text(spec, field));
        self.require(given("nodeName") == node, || {
            let named = given("nodeName");
            format!(
                "PodCertificateRequest.Spec.NodeName={named:?}, which is not the requesting node {node:?}"
            )
        })?;
        let shown = format!("{}/{}", attributes.namespace, given("podName"));
        let live = self.named("Node", "node", "", given("nodeName")).await?;
        let uid = meta_text(&live, "uid");
        if uid != given("nodeUID") {
            return Err(ApiError::unclassified(format!(
                "PodCertificateRequest for pod {shown:?} names node UID {:?}, inconsistent with the running node ({uid:?})",
                given("nodeUID")
            )));
        }
        let namespace = attributes.namespace.as_str();
        let pod = self.named("Pod", "pod", namespace, given("podName")).await?;
        let uid = meta_text(&pod, "uid");
        if uid != given("podUID") {
            return Err(ApiError::unclassified(format!(
                "PodCertificateRequest for pod {shown:?} contains pod UID ({:?}) which differs from running pod {uid:?}",
                given("podUID")
            )));
        }
        self.require(is_bound(&pod, node), || {
            format!("pod {shown:?} is not running on node {node:?} named in the PodCertificateRequest")
        })?;
        let is_mirror = pod.at(["metadata", "annotations", MIRROR]).is_some();
        self.require(!is_mirror, || format!("pod {shown:?} is a mirror pod"))?;
        let account = pod.get("spec").map_or("", |spec| text(spec, "serviceAccountName"));
        self.require(account == given("serviceAccountName"), || {
            let named = given("serviceAccountName");
            format!(
                "PodCertificateRequest for pod {shown:?} contains serviceAccountName ({named:?}) that differs from running pod ({account:?})"
            )
        })?;
        let live = self.named("ServiceAccount", "service account", namespace, account).await?;
        let uid = meta_text(&live, "uid");
        if uid != given("serviceAccountUID") {
            return Err(ApiError::unclassified(format!(
                "PodCertificateRequest for pod {shown:?} names service account UID {:?}, which differs from the running service account ({uid:?})",
                given("serviceAccountUID")
            )));
        }
        let signer = given("signerName");
        let asked = || AccessAttributes {
            verb: REQUEST_VERB.into(),
            group: "certificates.k8s.io".into(),
            resource: signer.replace('/', ":").into(),
            namespace: attributes.namespace.clone(),
            name: account.into(),
            ..AccessAttributes::default()
        };
        self.require(mounts(&pod, signer) || (self.context.decide)(&asked()).allowed, || {
            format!("pod {shown:?} does not mount a podCertificate projected volume for signer {signer:?}")
        })
    }

    /// Returns an object that the request names; `what` is its kind in messages.
    async fn named(&self, kind: &str, what: &str, namespace: &str, name: &str) -> Result<Value, ApiError> {
        let found = self.context.cluster.get("v1", kind, namespace, name).await?;
        found.ok_or_else(|| {
            let resource = kind.to_lowercase();
            let shown = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
            ApiError::unclassified(format!(
                "while retrieving {what} {shown:?} named in the PodCertificateRequest: {resource} {name:?} not found"
            ))
        })
    }
}

/// Whether a volume of a pod has a certificate of a signer.
fn mounts(pod: &Value, signer: &str) -> bool {
    let volumes = items(pod.at(["spec", "volumes"])).iter();
    let mut sources = volumes.flat_map(|volume| items(volume.at(["projected", "sources"])));
    sources
        .any(|source| source.get("podCertificate").is_some_and(|source| text(source, "signerName") == signer))
}
