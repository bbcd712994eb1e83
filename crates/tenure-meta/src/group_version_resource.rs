//! The name of a resource.

/// A resource as requests name it: its group, its version and its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionResource {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The name of the resource, in the plural.
    pub resource: &'static str,
}

impl GroupVersionResource {
    /// Names a resource.
    pub const fn new(
        group: &'static str,
        version: &'static str,
        resource: &'static str,
    ) -> GroupVersionResource {
        GroupVersionResource { group, version, resource }
    }
}
