//! The attributes of a request, as authorizers see it.

use crate::UserInfo;
use std::fmt::{self, Write};
use tenure_value::Text;

/// The action of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attributes {
    /// A verb on a resource.
    Resource(ResourceAttributes),
    /// A verb on a path that is not a resource.
    NonResource {
        /// The HTTP method in lower case.
        verb: Text,
        /// The path of the URL.
        path: Text,
    },
}

/// A verb on a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ResourceAttributes {
    /// The verb: `get`, `list`, `create`, …
    pub verb: Text,
    /// The API group; empty for the core group.
    pub group: Text,
    /// The API version.
    pub version: Text,
    /// The resource: `pods`.
    pub resource: Text,
    /// The subresource, or empty.
    pub subresource: Text,
    /// The namespace; empty at the cluster scope and across namespaces.
    pub namespace: Text,
    /// The name of the object, or empty if the request has none.
    pub name: Text,
    /// The field selector of a request for a collection, as text; empty if it has none.
    pub field_selector: Text,
    /// The label selector of a request for a collection, as text; empty if it has none.
    pub label_selector: Text,
}

impl ResourceAttributes {
    /// Returns the resource with its subresource: `pods/log`.
    pub fn combined_resource(&self) -> Text {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource).into()
        }
    }
}

impl Attributes {
    /// Returns the verb.
    pub fn verb(&self) -> &str {
        match self {
            Attributes::Resource(resource) => &resource.verb,
            Attributes::NonResource { verb, .. } => verb,
        }
    }

    /// Returns the namespace that the request is authorized in; empty at the cluster scope.
    pub fn namespace(&self) -> &str {
        match self {
            Attributes::Resource(resource) => &resource.namespace,
            Attributes::NonResource { .. } => "",
        }
    }

    /// Returns the message of a 403: the action that the user may not perform.
    pub fn denial(&self, user: &UserInfo, reason: &str) -> String {
        let mut text = format!("User {:?} cannot {self}", user.name);
        if !reason.is_empty() {
            // Writing to a string does not fail.
            let _ = write!(text, ": {reason}");
        }
        text
    }
}

impl fmt::Display for Attributes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attributes::NonResource { verb, path } => write!(out, "{verb} path {path:?}"),
            Attributes::Resource(resource) => {
                write!(
                    out,
                    "{} resource {:?} in API group {:?}",
                    resource.verb,
                    resource.combined_resource(),
                    resource.group
                )?;
                match resource.namespace.as_str() {
                    "" => write!(out, " at the cluster scope"),
                    namespace => write!(out, " in the namespace {namespace:?}"),
                }
            }
        }
    }
}

/// Whether a path of a rule covers another path, which may itself end in `*`.
pub fn url_covers(own: &str, path: &str) -> bool {
    own == "*" || own == path || own.strip_suffix('*').is_some_and(|prefix| path.starts_with(prefix))
}
