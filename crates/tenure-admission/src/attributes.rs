//! The attributes of a request that is admitted.

use std::collections::HashMap;
use tenure_meta::{ApiError, Resource, Scope};
use tenure_value::{Text, Value};

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An object is created.
    Create,
    /// An object is updated.
    Update,
    /// An object is deleted.
    Delete,
    /// A connection to a pod, a node or a service is opened, such as `exec`.
    Connect,
}

impl Operation {
    /// Returns the name in rules and reviews.
    pub fn word(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }
}

/// An operation on a resource or subresource: what decides quickly whether a plugin handles a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceAction<'a> {
    /// The operation.
    pub operation: Operation,
    /// The group of the resource.
    pub group: &'a str,
    /// The resource.
    pub resource: &'a str,
    /// The subresource; empty for the object itself.
    pub subresource: &'a str,
}

/// A resource, some of its subresources and the operations on them: what a plugin handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceRule {
    operations: &'static [Operation],
    group: &'static str,
    resource: &'static str,
    subresources: &'static [&'static str],
}

impl ResourceRule {
    /// Creates a rule for operations on the objects of a resource.
    pub const fn new(
        operations: &'static [Operation],
        group: &'static str,
        resource: &'static str,
    ) -> ResourceRule {
        ResourceRule { operations, group, resource, subresources: &[""] }
    }

    /// Returns the rule for these subresources instead; an empty one is the object itself.
    pub const fn at(self, subresources: &'static [&'static str]) -> ResourceRule {
        ResourceRule { subresources, ..self }
    }

    /// Whether an action is one of those that the rule names.
    pub fn matches(&self, action: &ResourceAction<'_>) -> bool {
        self.operations.contains(&action.operation)
            && self.resource == action.resource
            && self.group == action.group
            && self.subresources.contains(&action.subresource)
    }
}

/// A resource at one of the versions in which it is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceVariant {
    /// The group of the resource.
    pub group: Text,
    /// The version.
    pub version: Text,
    /// The resource.
    pub resource: Text,
    /// Group, version and kind of the object in the request. For a subresource such as `scale` they differ from those of
    /// the resource.
    pub kind: (Text, Text, Text),
}

impl ResourceVariant {
    /// Returns the variant of a resource, or of one of its subresources.
    pub fn of(resource: &Resource, subresource: &str) -> ResourceVariant {
        let (group, version) = (resource.group.clone(), resource.version.clone());
        let kind = match resource.subresource(subresource) {
            Some(subresource) if subresource.version.is_empty() => {
                (group.clone(), version.clone(), subresource.kind.clone())
            }
            Some(subresource) => {
                (subresource.group.clone(), subresource.version.clone(), subresource.kind.clone())
            }
            None => (group.clone(), version.clone(), resource.kind.clone()),
        };
        ResourceVariant { group, version, resource: resource.name.clone(), kind }
    }

    /// Returns the `apiVersion` of the object in the request.
    pub fn api_version(&self) -> Text {
        tenure_meta::api_version(&self.kind.0, &self.kind.1)
    }
}

/// The attributes of a request.
#[derive(Clone, Debug)]
pub struct AdmissionAttributes {
    /// The operation.
    pub operation: Operation,
    /// The resource as the request names it, followed by its other served versions.
    pub variants: Vec<ResourceVariant>,
    /// The subresource; empty for the object itself.
    pub subresource: Text,
    /// The scope of the resource.
    pub scope: Scope,
    /// The namespace of the object; that of a namespace is its own name.
    pub namespace: Text,
    /// The name of the object.
    pub name: Text,
    /// Whether the request is a dry run.
    pub dry_run: bool,
    /// The `UserInfo` of the client.
    pub user: Value,
    /// The options of the request, such as `CreateOptions`.
    pub options: Value,
    /// The object; `null` for a deletion.
    pub object: Value,
    /// The object before the request; `null` for a creation.
    pub old_object: Value,
    /// The `Namespace` of the object; `null` if it is not in one.
    pub namespace_object: Value,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations of the audit event of the request, by key.
    pub audit_annotations: Vec<(String, String)>,
    /// What reinvocation needs to know.
    pub(crate) reinvocation: Reinvocation,
}

/// The objects as policies and webhooks left them, by which it is decided whether they are invoked again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reinvocation {
    pub is_second_pass: bool,
    /// Whether a policy or webhook has changed the object.
    pub is_needed: bool,
    left: HashMap<(&'static str, usize), Value>,
}

impl Reinvocation {
    /// Whether a policy or webhook is invoked in this pass: in the second one if its reinvocation policy is `IfNeeded` and the
    /// object has changed since.
    pub fn is_due(&self, key: (&'static str, usize), if_needed: bool, object: &Value) -> bool {
        !self.is_second_pass || if_needed && self.left.get(&key).is_some_and(|left| left != object)
    }

    /// Records the object as a policy or webhook has left it.
    fn record(&mut self, key: (&'static str, usize), object: &Value) {
        self.left.insert(key, object.clone());
    }
}

impl AdmissionAttributes {
    /// Creates the attributes of a request without objects.
    pub fn new(
        operation: Operation,
        variants: Vec<ResourceVariant>,
        (subresource, scope): (Text, Scope),
        (namespace, name): (Text, Text),
        dry_run: bool,
    ) -> AdmissionAttributes {
        let mut attributes = AdmissionAttributes {
            operation,
            variants,
            subresource,
            scope,
            namespace,
            name,
            dry_run,
            user: Value::Null,
            options: Value::Null,
            object: Value::Null,
            old_object: Value::Null,
            namespace_object: Value::Null,
            warnings: Vec::new(),
            audit_annotations: Vec::new(),
            reinvocation: Reinvocation::default(),
        };
        if attributes.is_namespace() {
            attributes.namespace = attributes.name.clone();
        }
        attributes
    }

    /// Returns the resource as the request names it.
    pub fn requested(&self) -> &ResourceVariant {
        &self.variants[0]
    }

    /// Returns the action of the request.
    pub fn action(&self) -> ResourceAction<'_> {
        let requested = self.requested();
        ResourceAction {
            operation: self.operation,
            group: &requested.group,
            resource: &requested.resource,
            subresource: &self.subresource,
        }
    }

    /// Replaces the object with the one that a policy or webhook returned.
    pub(crate) fn replace_object(&mut self, key: (&'static str, usize), object: Value) {
        self.reinvocation.is_needed |= object != self.object;
        self.object = object;
        self.reinvocation.record(key, &self.object);
    }

    /// Whether the object is a namespace.
    pub fn is_namespace(&self) -> bool {
        let requested = self.requested();
        requested.group.is_empty() && requested.resource == "namespaces"
    }

    /// Returns the error for a request that is refused.
    pub fn forbidden(&self, why: &str) -> ApiError {
        let requested = self.requested();
        // A name that is to be generated is shown by its beginning.
        let name = match self.name.as_str() {
            "" => self.object.at(["metadata", "generateName"]).and_then(Value::as_str).unwrap_or_default(),
            name => name,
        };
        ApiError::forbidden(&requested.group, &requested.resource, name, why)
    }
}
