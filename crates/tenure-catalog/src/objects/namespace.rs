//! The namespace of a new object.

use super::Objects;
use crate::{
    object::{Stored, key},
    target::Target,
};
use memchr::memmem::Finder;
use std::sync::LazyLock;
use tenure_builtin::role::NAMESPACES;
use tenure_meta::{ApiError, Cause, GroupVersionResource, Scope};
use tenure_store::Entry;

/// The field of an object that is being deleted, as it is stored. Most namespaces do not have it and are not decoded.
static DELETION_MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"deletionTimestamp\""));

impl Objects {
    /// Finds the namespace of a new object, which must exist and not be terminating. Its key and revision guard the write
    /// against a concurrent deletion.
    pub async fn namespace_of_new(
        &self,
        target: &Target,
        name: &str,
    ) -> Result<Option<(String, Entry)>, ApiError> {
        let resource = &target.handler.resource;
        if resource.scope == Scope::Cluster {
            return Ok(None);
        }
        let GroupVersionResource { group, version, resource: namespaces } = NAMESPACES;
        let namespaces =
            tenure_builtin::registry().find(group, version, namespaces).ok_or_else(ApiError::no_such_path)?;
        let namespace = &target.namespace;
        let key = key(namespaces, "", namespace);
        let Some(entry) = self.store.get(key.as_bytes()).await? else {
            return Err(ApiError::not_found("", &namespaces.name, namespace));
        };
        if DELETION_MARK.find(&entry.value.bytes()).is_some()
            && Stored::read(&entry)?.object.at(["metadata", "deletionTimestamp"]).is_some()
        {
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            );
            let cause = Cause {
                reason: "NamespaceTerminating".into(),
                message: format!("namespace {namespace} is being terminated"),
                field: "metadata.namespace".into(),
                extension: None,
            };
            return Err(
                ApiError::forbidden(&resource.group, &resource.name, name, &why).with_causes(vec![cause])
            );
        }
        Ok(Some((key, entry)))
    }
}
