//! The permissions that a write needs beyond those of its request: to grant the rules of a role or binding, to create
//! an object by PUT or PATCH, and to change fields.

use super::{Writer, apply::forced_paths, request::WriteRequest};
use tenure_apply::{Difference, Managers, State, reordered};
use tenure_authorization::{
    POD_CERTIFICATE_REQUESTS, RESOURCE_CLAIMS, check_claim_status, check_signing,
    rbac::{FieldWrite, NO_FIELDS},
};
use tenure_builtin::role::Role;
use tenure_catalog::{Subresource, Target, Verb, object::Stored};
use tenure_fields::{FieldSet, Node, Path};
use tenure_http::Request;
use tenure_meta::{ApiError, Attributes, ResourceAttributes, Timestamp};
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

/// The annotation of an audit event that lists the fields that got (`+`) or lost (`-`) an owner, by manager.
const OWNERS_ANNOTATION: &str = "tenure.dev/owner-changes";
/// How many fields of a manager the annotation lists.
const MOST_ANNOTATED: usize = 50;

impl Writer {
    /// Checks that the user may grant what a role or binding grants, and change the parts of the status of a claim.
    pub(super) fn authorize_grant(
        &self,
        write: &WriteRequest<'_>,
        live: Option<&Stored>,
        object: &Value,
    ) -> Result<(), ApiError> {
        let (target, user) = (write.target, &write.request.user);
        let is_grant = target.handler.role == Role::Rbac;
        let is_claim_status =
            target.handler.resource.name == RESOURCE_CLAIMS && target.part() == Some(Subresource::Status);
        if !is_grant && !is_claim_status {
            return Ok(());
        }
        let attributes = attributes_of(target, target.verb.word(), &target.name);
        let old = live.map(|live| &live.object);
        if is_grant {
            return self.authorizer.check_escalation(user, &attributes, old, object);
        }
        check_claim_status(user, &attributes, (old, object), |asked| self.authorizer.check(user, asked))
    }

    /// Checks that the user may answer a request for the certificate of a pod as its signer.
    pub(super) fn authorize_signing(
        &self,
        write: &WriteRequest<'_>,
        live: Option<&Stored>,
        object: &Value,
    ) -> Result<(), ApiError> {
        let (target, user) = (write.target, &write.request.user);
        let is_answer =
            target.subresource == "status" && target.handler.resource.name == POD_CERTIFICATE_REQUESTS;
        let Some(live) = live.filter(|_| is_answer) else { return Ok(()) };
        let attributes = attributes_of(target, target.verb.word(), &target.name);
        let authorize = |asked: &Attributes| self.authorizer.check(user, asked);
        check_signing(user, &attributes, (&live.object, object), authorize)
    }

    /// Checks that the user may create, if a PUT or PATCH creates.
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

    /// Whether the user may change only some fields, or write as some managers only.
    pub(super) fn limits_fields(&self, write: &WriteRequest<'_>) -> bool {
        let target = write.target;
        let attributes = attributes_of(target, target.verb.word(), &target.name);
        self.authorizer.limits_fields(&write.request.user, &attributes)
    }

    /// Checks that the user may change the fields that the write changes: those that get another value or another owner,
    /// and the lists whose items get another order.
    pub(super) fn authorize_fields(
        &self,
        write: &WriteRequest<'_>,
        live: Option<&Stored>,
        object: &Value,
        managers: &Managers,
        is_apply: bool,
    ) -> Result<(), ApiError> {
        let (user, target) = (&write.request.user, write.target);
        // A PUT or PATCH that creates needs the permission to create, too.
        let creates = live.is_none() && target.verb != Verb::Create;
        let verbs = [Some(target.verb), creates.then_some(Verb::Create)];
        for verb in verbs.into_iter().flatten() {
            let attributes = attributes_of(target, verb.word(), &target.name);
            if !self.authorizer.limits_fields(user, &attributes) {
                continue;
            }
            let empty = Value::object::<&str>([]);
            let old = comparable(live.map_or(&empty, |live| &live.object));
            let (new, ty) = (comparable(object), target.handler.type_ref());
            let difference = Difference::between(&old, &new, ty);
            let changed = difference.written.union(&difference.removed);
            let changed = leaves(&changed.union(&owner_changes(write, live, object, managers)));
            let force = is_apply
                && (write.request.query.flag("force")
                    || forced_paths(write.request, write.profile).next().is_some());
            let reordered = reordered(&old, &new, ty);
            let (now, counts) = (write.now.seconds, !write.options.dry_run && verb == target.verb);
            let write =
                FieldWrite { changed: &changed, reordered: &reordered, manager: &write.manager, force };
            self.authorizer.check_fields(user, &attributes, &write)?;
            if counts && !(changed.is_empty() && reordered.is_empty()) {
                self.authorizer.count_change(user, &attributes, &write, now)?;
            }
        }
        Ok(())
    }

    /// Checks that the user may remove an object that cannot be read.
    pub(super) fn authorize_unsafe_deletion(
        &self,
        target: &Target,
        request: &Request,
    ) -> Result<(), ApiError> {
        let attributes = attributes_of(target, "unsafe-delete-ignore-read-errors", &target.name);
        self.authorizer.check(&request.user, &Attributes::Resource(attributes))
    }

    /// Checks that the user may delete: a deletion removes every field, and is one change if it is counted at a time.
    pub(super) fn authorize_deletion(
        &self,
        target: &Target,
        request: &Request,
        live: &Stored,
        counted: Option<Timestamp>,
    ) -> Result<(), ApiError> {
        // A collection is deleted without names, so that roles for names do not count.
        let name = if target.verb == Verb::DeleteCollection { "" } else { target.name.as_str() };
        let attributes = attributes_of(target, target.verb.word(), name);
        if !self.authorizer.limits_fields(&request.user, &attributes) {
            return Ok(());
        }
        let empty = Value::object::<&str>([]);
        let difference = Difference::between(&comparable(&live.object), &empty, target.handler.type_ref());
        let changed = leaves(&difference.removed);
        let manager = request.default_manager();
        let write = FieldWrite { changed: &changed, reordered: &NO_FIELDS, manager: &manager, force: false };
        self.authorizer.check_fields(&request.user, &attributes, &write)?;
        match counted {
            Some(now) => self.authorizer.count_change(&request.user, &attributes, &write, now.seconds),
            None => Ok(()),
        }
    }
}

/// Returns the fields that get another owner by a write of a live object.
fn owner_changes(
    write: &WriteRequest<'_>,
    live: Option<&Stored>,
    object: &Value,
    managers: &Managers,
) -> FieldSet {
    // The owners of a new object are those of its fields, which are all new.
    let Some(live) = live else { return FieldSet::default() };
    let before = State { object: live.object.clone(), managers: live.managers.clone() };
    let after = State { object: object.clone(), managers: managers.clone() };
    let changes = tenure_apply::ownership_changes(&before, &after, write.target.handler.type_ref());
    let sets = changes.iter().flat_map(|change| [&change.gained, &change.lost, &change.removed]);
    sets.fold(FieldSet::default(), |all, set| all.union(set))
}

/// Records in the audit event which fields get another owner, by manager.
pub(super) fn annotate_owner_changes(write: &WriteRequest<'_>, live: Option<&Stored>, after: &State) {
    if !write.request.audit.is_recording() {
        return;
    }
    // Most changes are of values, by a manager that owns the same fields as before.
    if live.is_some_and(|live| live.managers.same_fields(&after.managers)) {
        return;
    }
    let ty = write.target.handler.type_ref();
    let before = match live {
        Some(live) => State { object: live.object.clone(), managers: live.managers.clone() },
        None => State { object: write.target.handler.empty(), managers: Managers::default() },
    };
    let mut parts = Vec::new();
    for change in tenure_apply::ownership_changes(&before, after, ty) {
        let mut fields = Vec::new();
        let mut list = |sign: &str, set: &FieldSet| {
            set.visit(|path| {
                if fields.len() < MOST_ANNOTATED {
                    fields.push(format!("{sign}{}", path.iter().cloned().collect::<Path>()));
                }
            });
        };
        list("+", &leaves(&change.gained));
        list("-", &leaves(&change.lost));
        list("-", &leaves(&change.removed));
        if !fields.is_empty() {
            let owner = match change.owner.subresource.as_str() {
                "" => change.owner.name.to_string(),
                subresource => format!("{} ({subresource})", change.owner.name),
            };
            parts.push(format!("{owner}: {}", fields.join(" ")));
        }
    }
    if !parts.is_empty() {
        write.request.audit.annotate([(OWNERS_ANNOTATION, parts.join("; "))]);
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
        ..ResourceAttributes::default()
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

/// Returns the paths of a set below which it has no other: a struct that appears with its first field is not a separate
/// change.
fn leaves(set: &FieldSet) -> FieldSet {
    FieldSet::from_nodes(set.nodes().iter().map(|node| {
        let children = leaves(&node.children);
        Node { included: node.included && children.is_empty(), children, ..node.clone() }
    }))
}
