//! Authorization of kubelets: a node may read the objects that the pods bound to it refer to, and no others.
//!
//! [`NodeGraph`] knows which objects are related to which nodes, and follows the stored objects of [`RELATING`].
//! [`NodeAuthorizer`] has the rules. What a node may write is limited further by the admission plugin `NodeRestriction`.

mod authorizer;
mod graph;
mod references;
mod related;

pub use authorizer::{NodeAuthorizer, node_name};
pub use graph::{NodeGraph, Relations};
pub use related::Related;

/// The resources whose objects relate others to nodes: group, version and name.
pub const RELATING: [(&str, &str, &str); 4] = [
    ("", "v1", "pods"),
    ("", "v1", "persistentvolumes"),
    ("storage.k8s.io", "v1", "volumeattachments"),
    ("resource.k8s.io", "v1", "resourceslices"),
];
