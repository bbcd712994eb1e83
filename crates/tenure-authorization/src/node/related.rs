//! The kinds of objects that are related to nodes.

/// A kind of objects that are related to nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Related {
    /// A pod, which is bound to a node.
    Pod,
    /// A volume attachment, which names a node.
    VolumeAttachment,
    /// A resource slice, which may name a node.
    ResourceSlice,
    /// A request for the certificate of a pod, which names a node.
    PodCertificateRequest,
    /// A config map that a pod uses.
    ConfigMap,
    /// A secret that a pod, or the volume of a claim of a pod, uses.
    Secret,
    /// The service account of a pod.
    ServiceAccount,
    /// A persistent volume claim of a pod.
    Claim,
    /// A resource claim of a pod.
    ResourceClaim,
    /// The persistent volume of a claim.
    Volume,
}
