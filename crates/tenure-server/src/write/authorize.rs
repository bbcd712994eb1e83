//! The permissions that a write needs beyond those of its request: to grant what a role or binding grants, to create
//! what a PUT or PATCH creates, and to change the fields that it changes.

use super::{Writer, request::WriteRequest};
use hyper::{HeaderMap, Method, header};
use tenure_apply::Difference;
use tenure_auth::{Attributes, ResourceAttributes, rbac::FieldWrite};
use tenure_builtin::role::Role;
use tenure_catalog::{Target, Verb, object::Stored};
use tenure_fields::{FieldSet, Node};
use tenure_http::Request;
use tenure_meta::ApiError;
use tenure_value::Value;

/// Fields that identify an object or that only the server sets: no permission is needed for them.
const SERVER_METADATA: [&str; 9] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generateName",
    "generation",
    "name",
    "namespace",
    "resourceVersion",
    "uid",
];

impl Writer {
    /// Checks that a role or binding grants nothing that the user does not have.
    pub(super) fn authorize_grant(
        &self,
        write: &WriteRequest<'_>,
        live: Option<&Stored>,
        object: &Value,
    ) -> Result<(), ApiError> {
        if write.target.handler.role != Role::Rbac {
            return Ok(());
        }
        let attributes = attributes_of(write.target, write.target.verb.word(), &write.target.name);
        let old = live.map(|live| &live.object);
        self.authorizer.check_escalation(&write.request.user, &attributes, old, object)
    }

    /// Checks that the user may create, where a PUT or PATCH creates.
    pub(super) fn authorize_creation(
        &self,
        write: &WriteRequest<'_>,
        live: Option<&Stored>,
        name: &str,
    ) -> Result<(), ApiError> {
        if live.is_some() || write.target.verb == Verb::Create {
            return Ok(());
        }
        let attributes = attributes_of(write.target, Verb::Create.word(), name);
        self.authorizer.check(&write.request.user, &Attributes::Resource(attributes))
    }

    /// Checks that the user may change the fields that the write changes.
    pub(super) fn authorize_fields(
        &self,
        write: &WriteRequest<'_>,
        live: Option<&Stored>,
        object: &Value,
        is_apply: bool,
    ) -> Result<(), ApiError> {
        let (user, target) = (&write.request.user, write.target);
        let attributes = attributes_of(target, target.verb.word(), &target.name);
        if !self.authorizer.limits_fields(user, &attributes) {
            return Ok(());
        }
        let empty = Value::object::<&str>([]);
        let old = comparable(live.map_or(&empty, |live| &live.object));
        let difference = Difference::between(&old, &comparable(object), target.handler.type_ref());
        let changed = leaves(&difference.written.union(&difference.removed));
        let force = is_apply && write.request.query.flag("force");
        let write = FieldWrite { changed: &changed, manager: &write.manager, force };
        self.authorizer.check_fields(user, &attributes, &write)
    }

    /// Checks that the user may delete: a deletion removes every field.
    pub(super) fn authorize_deletion(
        &self,
        target: &Target,
        request: &Request,
        live: &Stored,
    ) -> Result<(), ApiError> {
        let attributes = attributes_of(target, target.verb.word(), &target.name);
        if !self.authorizer.limits_fields(&request.user, &attributes) {
            return Ok(());
        }
        let empty = Value::object::<&str>([]);
        let difference = Difference::between(&comparable(&live.object), &empty, target.handler.type_ref());
        let changed = leaves(&difference.removed);
        let manager = request.default_manager();
        let write = FieldWrite { changed: &changed, manager: &manager, force: false };
        self.authorizer.check_fields(&request.user, &attributes, &write)
    }

    /// Writes an object of the server's own by a PUT.
    pub async fn put_own(
        &self,
        target: &Target,
        component: &'static str,
        object: &Value,
    ) -> Result<(), ApiError> {
        let json = header::HeaderValue::from_static("application/json");
        let mut request = Request::internal(Method::PUT, component);
        request.headers.extend(HeaderMap::from_iter([(header::CONTENT_TYPE, json)]));
        request.body = object.to_string().into();
        self.update(target, &request).await.map(drop)
    }
}

fn attributes_of(target: &Target, verb: &str, name: &str) -> ResourceAttributes {
    let resource = &target.handler.resource;
    ResourceAttributes {
        verb: verb.into(),
        group: resource.group.clone(),
        version: resource.version.clone(),
        resource: resource.name.clone(),
        subresource: target.subresource.clone(),
        namespace: target.namespace.clone(),
        name: name.into(),
    }
}

/// Returns an object without the fields that need no permission.
fn comparable(object: &Value) -> Value {
    let root = object.as_object().cloned().unwrap_or_default().without("apiVersion").without("kind");
    let metadata = root.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let metadata = SERVER_METADATA.iter().fold(metadata, |metadata, name| metadata.without(name));
    match metadata.is_empty() {
        true => Value::Object(root.without("metadata")),
        false => Value::Object(root.with("metadata", Value::Object(metadata))),
    }
}

/// Returns the paths of a set below which it has no other: a struct that appears with its first field is not a change of
/// its own.
fn leaves(set: &FieldSet) -> FieldSet {
    FieldSet::from_nodes(set.nodes().iter().map(|node| {
        let children = leaves(&node.children);
        Node { included: node.included && children.is_empty(), children, ..node.clone() }
    }))
}
