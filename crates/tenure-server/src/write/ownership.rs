//! Ownership in a write: what the decision needs to know of the request, and its refusals as API errors.

use super::{Writer, request::WriteRequest, retry::MODIFIED};
use crate::read::parse_version;
use std::{collections::HashMap, sync::atomic::Ordering::Relaxed};
use tenure_apply::{
    ApplyError, Conflict, Conflicts, Live, Managers, Owner, Presence, Requested, ResetFields, SingleVersion,
    Write, kubernetes_type_errors,
};
use tenure_catalog::{KindVersions, Target, history::RefusedApply, object::Stored};
use tenure_http::{Request, WriteOptions, query::manager_errors};
use tenure_meta::{ApiError, Cause, Endpoint, Reason};
use tenure_profile::Behaviour;
use tenure_schema::Schema;
use tenure_store::Revision;
use tenure_value::{Value, go_text};

/// The most managers of one object.
const MANAGERS: usize = 1000;

/// The revision of an object that does not exist yet: no schema ended after it.
pub(super) const UNWRITTEN: Revision = Revision::from_number(u64::MAX);

/// Returns a stored object as the decision on ownership takes it.
pub(super) fn as_live(live: &Stored) -> Live<'_> {
    Live { object: &live.object, managers: &live.managers, presence: Presence::Stored }
}

impl Writer {
    /// Returns the managers of an object that is posted and not stored.
    pub(crate) fn managers_of_posted(
        &self,
        target: &Target,
        request: &Request,
        options: WriteOptions,
        object: &Value,
    ) -> Value {
        let write = WriteRequest::new(self, target, request, options);
        let (empty, none) = (target.handler.empty(), Managers::default());
        let live = Live { object: &empty, managers: &none, presence: Presence::New };
        let state = write.ownership("", UNWRITTEN, |ownership| {
            tenure_apply::update(live, object, Requested::Live, ownership)
        });
        state.map_or(Value::Null, |state| state.managers.to_value())
    }

    /// Returns the managers that a document of another kind than the object's has, which is posted to a subresource.
    pub(crate) fn managers_of_part(
        &self,
        target: &Target,
        request: &Request,
        options: WriteOptions,
        (document, empty): (&Value, &Value),
    ) -> Value {
        let write = WriteRequest::new(self, target, request, options);
        let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let schema = Schema::builtin_at(self.profile.version());
        let Some(ty) = schema.kind(api_version, kind) else { return Value::Null };
        let (versions, reset, none) =
            (SingleVersion::new(api_version, ty), ResetFields::default(), Managers::default());
        let live = Live { object: empty, managers: &none, presence: Presence::New };
        let ownership = Write {
            manager: &write.manager,
            api_version,
            subresource: &target.subresource,
            now: Some(tenure_apply::Timestamp::from_unix(write.now.seconds)),
            versions: &versions,
            reset: &reset,
            empty,
            profile: self.profile,
        };
        let state = tenure_apply::update(live, document, Requested::Live, &ownership);
        state.map_or(Value::Null, |state| state.managers.to_value())
    }
}

impl WriteRequest<'_> {
    /// Runs a decision on ownership for an object that was last written at a revision.
    pub fn ownership<T>(
        &self,
        subresource: &str,
        written: Revision,
        with: impl FnOnce(&Write<'_>) -> T,
    ) -> T {
        let handler = &self.target.handler;
        let (versions, empty, reset_fields) = (
            KindVersions::new(handler, &self.conversions, written),
            handler.empty(),
            handler.reset_fields(self.endpoint),
        );
        with(&Write {
            manager: &self.manager,
            api_version: &handler.resource.api_version,
            subresource,
            now: Some(tenure_apply::Timestamp::from_unix(self.now.seconds)),
            versions: &versions,
            reset: &reset_fields,
            empty: &empty,
            profile: self.profile,
        })
    }

    /// Describes an apply that is refused, for people who look at what happened lately.
    fn refused(&self, conflicts: &Conflicts) -> RefusedApply {
        let (target, resource) = (self.target, &self.target.handler.resource);
        let fields = conflicts.iter().map(|conflict| {
            let owners = conflict.owners.iter().map(|owner| owner.name.clone());
            (conflict.path.quoted().to_string(), owners.collect())
        });
        RefusedApply {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
            resource: resource.name.clone(),
            namespace: target.namespace.clone(),
            name: target.name.clone(),
            manager: self.manager.clone(),
            user: self.request.user.name.as_str().into(),
            fields: fields.collect(),
            time: u64::try_from(self.now.seconds).unwrap_or_default() * 1000,
        }
    }

    /// Returns the error of a decision on ownership as an API error; `config` is the applied configuration, if there is one.
    pub fn refusal(&self, error: ApplyError, config: Option<&Value>) -> ApiError {
        let target = self.target;
        match &error {
            ApplyError::Conflicts(conflicts) => {
                self.metrics.conflicts.fetch_add(1, Relaxed);
                if !self.options.dry_run {
                    self.history.note_refusal(self.refused(conflicts));
                }
                conflict(target, conflicts)
            }
            ApplyError::Conversion { .. } => ApiError::internal(error.to_string()),
            ApplyError::MalformedLive { errors, is_untracked } => {
                let resource = &target.handler.resource;
                let named = format!(
                    "{}/{}; {}/{}, Kind={}",
                    target.namespace, target.name, resource.group, resource.version, resource.kind
                );
                ApiError::unclassified(match is_untracked {
                    true => format!(
                        "failed to create manager for existing fields: failed to convert new object ({named}) to smd typed: {errors}"
                    ),
                    false => format!("failed to create typed live object ({named}): {errors}"),
                })
            }
            ApplyError::Undeclared { .. } | ApplyError::RemovedVersion { .. } => {
                let answer = ApiError::unclassified(error.to_string());
                ApiError::bad_request(error.to_string()).or_in_kubernetes(answer)
            }
            other => {
                let resource = &target.handler.resource;
                let named = format!(
                    "{}/{}; {}, Kind={}",
                    target.namespace, target.name, resource.api_version, resource.kind
                );
                let refused =
                    ApiError::bad_request(format!("failed to create typed patch object ({named}): {other}"));
                let errors = config.and_then(|config| {
                    let errors = kubernetes_type_errors(config, target.handler.type_ref())?;
                    Some(format!("failed to create typed patch object ({}): {errors}", self.described()))
                });
                match errors {
                    Some(errors) => refused.or_in_kubernetes(ApiError::unclassified(errors)),
                    None => refused,
                }
            }
        }
    }

    /// Describes an applied configuration as Kubernetes does: by the namespace and the name that it has, and its kind.
    pub(super) fn described(&self) -> String {
        let (resource, (namespace, name)) = (&self.target.handler.resource, &self.applied_as);
        format!("{namespace}/{name}; {}/{}, Kind={}", resource.group, resource.version, resource.kind)
    }

    /// Checks the `resourceVersion` of a body, if it has one.
    pub(super) fn check_version(&self, live: &Stored, version: &str) -> Result<(), ApiError> {
        if version.is_empty() || version == "0" {
            if !self.target.handler.resource.strategy.unconditional_update && self.endpoint != Endpoint::Scale
            {
                let cause = Cause {
                    reason: "FieldValueInvalid".into(),
                    message: "Invalid value: 0: must be specified for an update".into(),
                    field: "metadata.resourceVersion".into(),
                    extension: None,
                };
                // Named by the resource, as recorded.
                let resource = &self.target.handler.resource;
                let name = &self.target.name;
                return Err(ApiError::invalid(&resource.group, &resource.name, name, vec![cause]));
            }
        } else {
            let asked = parse_version(version).map_err(|error| invalid_version(version, error))?;
            if asked != live.revision {
                return Err(self.target.conflict(MODIFIED));
            }
        }
        Ok(())
    }

    /// Checks that an object does not collect managers without bound; those that it has may stay.
    pub(super) fn check_manager_count(&self, managers: &Managers, before: usize) -> Result<(), ApiError> {
        let count = managers.iter().count();
        if count <= MANAGERS.max(before) {
            return Ok(());
        }
        let cause = Cause {
            reason: "FieldValueTooMany".into(),
            message: format!("Too many: {count}: must have at most {MANAGERS} items"),
            field: "metadata.managedFields".into(),
            extension: None,
        };
        Err(self.target.handler.invalid(&self.target.name, vec![cause]))
    }

    /// Checks the names of the managers after a body that set some.
    pub(super) fn check_manager_names(&self, managers: &Managers) -> Result<(), ApiError> {
        let causes = managers.iter().enumerate().flat_map(|(at, manager)| {
            manager_errors(&format!("metadata.managedFields[{at}].manager"), &manager.name)
        });
        let causes: Vec<Cause> = causes.map(|error| error.cause()).collect();
        if causes.is_empty() {
            return Ok(());
        }
        let (handler, name) = (&self.target.handler, &self.target.name);
        let times = match self.profile.behaves(Behaviour::ErrorsReportedOnce) && !handler.is_custom() {
            true => 1,
            false => handler.strategy().metadata_checks(),
        };
        let repeated = std::iter::repeat_n(&causes, times).flatten().cloned().collect();
        let answer = handler.invalid(name, repeated);
        Err(handler.invalid(name, causes).or_in_kubernetes(answer))
    }
}

/// Returns the error of a `resourceVersion` that is not a number.
pub(super) fn invalid_version(version: &str, error: String) -> ApiError {
    let digits = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    let why = if digits { "value out of range" } else { "invalid syntax" };
    let answer = format!("strconv.ParseUint: parsing {}: {why}", go_text::Quoted(version));
    ApiError::bad_request(error).or_in_kubernetes(ApiError::unclassified(answer))
}

/// Returns the conflicts of an apply: the message and the causes that clients know, and in each cause what helps a person to
/// decide.
fn conflict(target: &Target, conflicts: &Conflicts) -> ApiError {
    let resource = &target.handler.resource;
    let object = Value::object([
        ("apiVersion", Value::from(resource.api_version.clone())),
        ("kind", Value::from(resource.kind.clone())),
        ("namespace", Value::from(target.namespace.clone())),
        ("name", Value::from(target.name.clone())),
    ]);
    let by_path: HashMap<String, &Conflict> =
        conflicts.iter().map(|conflict| (conflict.path.to_string(), conflict)).collect();
    let causes = conflicts.causes().into_iter().map(|cause| {
        let about = by_path.get(&cause.field);
        Cause {
            reason: "FieldManagerConflict".into(),
            message: cause.message,
            field: cause.field,
            extension: about.map(|conflict| explanation(conflict, &object)),
        }
    });
    ApiError::new(Reason::Conflict, conflicts.to_string()).with_causes(causes.collect())
}

fn explanation(conflict: &Conflict, object: &Value) -> Value {
    let mut fields = vec![
        ("object", object.clone()),
        ("owners", Value::array(conflict.owners.iter().map(owner_document))),
    ];
    if let Some(live) = &conflict.live {
        fields.push(("live", live.clone()));
    }
    if let Some(proposed) = &conflict.proposed {
        fields.push(("proposed", proposed.clone()));
    }
    Value::object(fields)
}

pub(super) fn owner_document(owner: &Owner) -> Value {
    let mut fields = vec![
        ("manager", Value::from(owner.name.clone())),
        ("operation", Value::from(owner.operation.as_str())),
        ("apiVersion", Value::from(owner.api_version.clone())),
    ];
    if !owner.subresource.is_empty() {
        fields.push(("subresource", Value::from(owner.subresource.clone())));
    }
    if let Some(time) = owner.time {
        fields.push(("time", Value::from(time.to_string())));
    }
    Value::object(fields)
}
