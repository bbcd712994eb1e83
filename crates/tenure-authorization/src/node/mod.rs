//! Authorization of kubelets: a node may read the objects that the pods bound to it refer to, and no others.
//!
//! [`NodeGraph`] knows which objects are related to which nodes, and follows the stored objects of [`RELATING`].
//! [`NodeAuthorizer`] has the rules. What a node may write is limited further by the admission plugin `NodeRestriction`.

mod authorizer;
mod graph;
mod references;
mod related;

use tenure_meta::GroupVersionResource;

pub use authorizer::{NodeAuthorizer, node_name};
pub use graph::{NodeGraph, Relations};
pub use related::Related;

/// The resources whose objects relate others to nodes.
pub const RELATING: [GroupVersionResource; 5] = [
    GroupVersionResource::new("", "v1", "pods"),
    GroupVersionResource::new("", "v1", "persistentvolumes"),
    GroupVersionResource::new("storage.k8s.io", "v1", "volumeattachments"),
    GroupVersionResource::new("resource.k8s.io", "v1", "resourceslices"),
    GroupVersionResource::new("certificates.k8s.io", "v1", "podcertificaterequests"),
];
