//! The `scale` subresource: a small object whose one writable field is the number of replicas. Writing it writes that field of the
//! object, and its manager owns the field there.

use super::{
    Writer,
    apply::{Duplicates, Forced, forced},
    body,
    commit::Written,
    create::check_namespace,
    go_conversion::{conversion_error, not_converted},
    integers::fitted,
    patch::{patch_body, patch_options, patch_text_errors, patched},
    patch_errors::undecodable,
    patch_kind::PatchKind,
    request::{Next, ObjectUpdate, WriteRequest},
    scale_check::{
        check_declared, check_patched_uid, check_strictly, check_version, decoded, not_a_scale, scale_type,
        validate,
    },
    update::{check_name, check_uid},
};
use hyper::StatusCode;
use std::sync::OnceLock;
use tenure_apply::{
    ApplyError, Live, Presence, Requested, ResetFields, SCALE_VERSION, SingleVersion, State, Write,
    from_scale, kubernetes_type_errors, to_scale,
};
use tenure_builtin::Kinds;
use tenure_catalog::{
    Target, Verb, invalid_object_type,
    object::{Stored, meta_text, partial},
    scale_document::{KIND, check_replicas, scale_document, with_at},
    scale_table,
};
use tenure_fields::{Path, PathElement};
use tenure_http::{Format, Request, Response, TextErrors, View, WriteOptions};
use tenure_meta::{ApiError, Timestamp};
use tenure_profile::Improvement;
use tenure_value::{Object, Text, Value, go_text};

/// The error of Kubernetes for a scale of a custom resource with fields that a scale does not have.
const UNKNOWN_TO_CUSTOM: &str =
    "no kind is registered for the type v1.Scale in scheme \"pkg/apiserver/customresource_handler.go:781\"";

/// The number of replicas that the patched scale of a custom resource without one has, and none may be left with.
const UNSET_REPLICAS: Value = Value::Int(i32::MIN as i64);

/// A scale that replaces the live one.
struct UpdateScale {
    scale: Value,
    /// Warnings about its unknown and duplicate fields.
    warnings: Vec<String>,
}

impl ObjectUpdate for UpdateScale {
    fn next(&self, write: &WriteRequest<'_>, live: Option<&Stored>) -> Result<Next, ApiError> {
        let live = live.ok_or_else(|| write.target.not_found())?;
        check_uid(write.target, live, &self.scale)?;
        scaled(write, live, &self.scale, &self.warnings)
    }
}

/// A patch of the live scale.
struct PatchScale {
    kind: PatchKind,
    patch: Value,
    errors: TextErrors,
    /// Warnings about unknown and duplicate fields of the result, once there is one.
    warnings: OnceLock<Vec<String>>,
}

impl ObjectUpdate for PatchScale {
    fn next(&self, write: &WriteRequest<'_>, live: Option<&Stored>) -> Result<Next, ApiError> {
        let live = live.ok_or_else(|| write.target.not_found())?;
        let scale = match replicas_of(write.target, live) {
            None if write.target.handler.is_custom() => {
                let replicas = ["spec".into(), "replicas".into()];
                let fields = scale_document(write.target, live).as_object().cloned().unwrap_or_default();
                Value::Object(with_at(&fields, &replicas, UNSET_REPLICAS))
            }
            _ => scale_document(write.target, live),
        };
        let (patched, _) = patched(write, &scale, &self.patch, self.kind)?;
        let patched = match self.kind {
            PatchKind::Strategic => {
                fitted(&patched, scale_type(), &write.target.handler, write.profile).unwrap_or(patched)
            }
            _ => patched,
        };
        let patched = decoded(write, &patched, |why| {
            let conversion = match self.kind {
                PatchKind::Strategic => {
                    conversion_error(&patched, scale_type(), Kinds::at(write.profile.version()))
                }
                _ => None,
            };
            Some(undecodable(conversion.as_deref().unwrap_or(why), &patched))
        })?;
        let warnings = check_strictly(write.options.validation, &patched, &self.errors);
        let warnings =
            warnings.map_err(|why| not_a_scale(&why).or_in_kubernetes(self.undecodable(&why, &patched)))?;
        let warnings = self.warnings.get_or_init(|| warnings);
        check_name(write.target, &patched)?;
        check_namespace(write.target, &patched)?;
        check_patched_uid(write.target, live, &patched)?;
        scaled(write, live, &patched, warnings)
    }
}

impl PatchScale {
    /// Returns the error of a patch whose result is not a scale: one that is not merged as text is quoted itself.
    fn undecodable(&self, why: &str, patched: &Value) -> ApiError {
        match self.kind {
            PatchKind::Strategic => undecodable(why, go_text::Plain(&self.patch)),
            _ => undecodable(why, patched),
        }
    }
}

/// A configuration of a scale that is applied.
struct ApplyScale {
    config: Value,
    /// The number of replicas, as it is stored.
    replicas: Option<Value>,
    forced: Forced,
    duplicates: Duplicates,
}

impl ObjectUpdate for ApplyScale {
    fn next(&self, write: &WriteRequest<'_>, live: Option<&Stored>) -> Result<Next, ApiError> {
        let live = live.ok_or_else(|| write.target.not_found())?;
        let is_converted =
            write.target.handler.is_custom() && !write.profile.has(Improvement::ApplyCustomScales);
        if is_converted && to_scale(&live.managers, &replicas_at(write.target)).is_empty() {
            return Err(unconvertible(
                "failed to create manager for existing fields: failed to convert live object",
                "/",
            ));
        }
        check_declared(&self.config)?;
        let declared = number(self.config.at(["spec", "replicas"]));
        // A scale without a declared number has none, unless the object had no number before.
        let undeclared = replicas_of(write.target, live).map(|_| Value::Int(0));
        let next = through_scale(write, live, undeclared, |found, own| {
            tenure_apply::apply(found, &declared, own, self.forced.as_force())
        })?;
        self.duplicates.check()?;
        if let Some(replicas) = &self.replicas {
            check_replicas(write.target, replicas)?;
        }
        if self.config.at(["metadata", "name"]).is_some() {
            check_name(write.target, &self.config)?;
        }
        // What an apply leaves as it is needs no conversion.
        if let Next::Applied(state) = &next
            && is_converted
            && state.object != live.object
        {
            let named =
                format!("{}/{}", meta_text(&self.config, "namespace"), meta_text(&self.config, "name"));
            return Err(unconvertible("failed to convert new object", &named));
        }
        check_namespace(write.target, &self.config)?;
        check_uid(write.target, live, &self.config)?;
        check_version(write.target, live, &self.config)?;
        Ok(next)
    }
}

/// Returns the error of Kubernetes for a configuration that does not fit the type of a scale.
fn untyped(config: &Value, errors: &str) -> ApiError {
    let named = format!("{}/{}", meta_text(config, "namespace"), meta_text(config, "name"));
    ApiError::unclassified(format!(
        "failed to create typed patch object ({named}; {SCALE_VERSION}, Kind={KIND}): {errors}"
    ))
}

/// Returns the error of Kubernetes for a scale of a custom resource, which it cannot convert as it converts the resource.
fn unconvertible(what: &str, named: &str) -> ApiError {
    ApiError::unclassified(format!(
        "{what} ({named}; {SCALE_VERSION}, Kind={KIND}) to proper version: request to convert CR to an invalid group/version: \
         {SCALE_VERSION}"
    ))
}

impl Writer {
    /// Carries out a PUT or a PATCH of a scale.
    pub(super) async fn modify_scale(
        &self,
        target: &Target,
        request: &Request,
        format: Format,
    ) -> Result<Response, ApiError> {
        let written = match target.verb {
            Verb::Update => self.update_scale(target, request).await?,
            _ => self.patch_scale(target, request).await?,
        };
        let response = scale_response(target, &written.stored, format, self.objects.clock.now())?;
        Ok(response.with_warnings(&written.warnings))
    }

    async fn update_scale(&self, target: &Target, request: &Request) -> Result<Written, ApiError> {
        let options = request.query.write_options("UpdateOptions")?;
        let encoding = request.encoding(target.offer())?;
        let parsed = body::read(&request.body, encoding, KIND)?;
        let errors = parsed.typed_errors(&request.body, encoding);
        let write = WriteRequest::new(self, target, request, options);
        let unknown_to_custom = || ApiError::bad_request(UNKNOWN_TO_CUSTOM);
        let scale = decoded(&write, &parsed.value, |_| target.handler.is_custom().then(unknown_to_custom))?;
        let warnings = check_strictly(write.options.validation, &scale, &errors);
        let warnings = warnings.map_err(|why| match target.handler.is_custom() {
            true => not_a_scale(&why).or_in_kubernetes(unknown_to_custom()),
            false => not_a_scale(&why),
        })?;
        let named = check_name(target, &scale).and_then(|()| check_namespace(target, &scale));
        named.map_err(|error| error.with_warnings(warnings.clone()))?;
        let change = UpdateScale { scale, warnings };
        let mut written = self.write(&write, &change).await?;
        written.warnings.extend(change.warnings);
        Ok(written)
    }

    async fn patch_scale(&self, target: &Target, request: &Request) -> Result<Written, ApiError> {
        let kind = self.patch_kind(target, request)?;
        let options = patch_options(request, kind, self.profile)?;
        if kind == PatchKind::Apply {
            return self.apply_scale(target, request, options).await;
        }
        let parsed = patch_body(request, &options, kind, self.profile)?;
        let errors = patch_text_errors(kind, &parsed, options.validation);
        let write = WriteRequest::new(self, target, request, options);
        let change = PatchScale { kind, patch: parsed.value, errors, warnings: OnceLock::new() };
        let mut written = self.write(&write, &change).await?;
        written.warnings.extend(change.warnings.into_inner().unwrap_or_default());
        Ok(written)
    }

    async fn apply_scale(
        &self,
        target: &Target,
        request: &Request,
        options: WriteOptions,
    ) -> Result<Written, ApiError> {
        let parsed = body::parse_applied(request, self.applied_documents(), self.profile)?;
        let mut duplicates = Duplicates::new(parsed.duplicates, options.validation, self.profile);
        let config = parsed.value;
        let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("apiVersion") != SCALE_VERSION || text("kind") != KIND {
            let (version, kind) = (text("apiVersion"), text("kind"));
            let refused = ApiError::bad_request(format!(
                "invalid object type: {version}, Kind={kind}; this path takes apiVersion {SCALE_VERSION:?} and kind {KIND:?}"
            ));
            return Err(refused.or_in_kubernetes(ApiError::bad_request(invalid_object_type(version, kind))));
        }
        let converted = fitted(&config, scale_type(), &target.handler, self.profile);
        let replicas = converted.as_ref().unwrap_or(&config).at(["spec", "replicas"]).cloned();
        if let Some(replicas) = replicas.as_ref().filter(|replicas| replicas.as_i64().is_none()) {
            let kinds = Kinds::at(self.profile.version());
            let untyped =
                kubernetes_type_errors(&config, scale_type()).map(|errors| untyped(&config, &errors));
            let answer = untyped.or_else(|| {
                let why =
                    conversion_error(&config, scale_type(), kinds).filter(|_| !target.handler.is_custom())?;
                let kind = format!("{SCALE_VERSION}, Kind={KIND}");
                let named = format!("{}/{}", meta_text(&config, "namespace"), meta_text(&config, "name"));
                Some(not_converted(&format!("{named}; {kind}"), &kind, &why))
            });
            check_replicas(target, replicas).map_err(|error| match answer {
                Some(answer) => error.or_in_kubernetes(answer),
                None => error,
            })?;
        }
        let forced = forced(target, request, &config, self.profile)?;
        let write = WriteRequest::new(self, target, request, options).into_apply();
        let warnings = std::mem::take(&mut duplicates.warnings);
        let mut written = self.write(&write, &ApplyScale { config, replicas, forced, duplicates }).await?;
        written.warnings.extend(warnings);
        Ok(written)
    }
}

/// Returns the scale of an object as a response.
pub(crate) fn scale_response(
    target: &Target,
    stored: &Stored,
    format: Format,
    now: Timestamp,
) -> Result<Response, ApiError> {
    let path = target.handler.scale_paths().spec;
    if target.handler.is_custom() && stored.object.at(path.iter().map(Text::as_str)).is_none() {
        let absent = format!("the spec replicas field \".{}\" does not exist", path.join("."));
        let (kind, name) = (&target.handler.resource.kind, &target.name);
        let message = format!("{kind} {name:?} has no scale now: {absent}; set it first");
        return Err(ApiError::bad_request(message).or_in_kubernetes(ApiError::internal_error(absent)));
    }
    let scale = scale_document(target, stored);
    let document = match format.view {
        View::Table => scale_table(&scale, format.meta_version, now),
        View::PartialObjectMetadata => partial(&scale, format.meta_version),
        _ => scale,
    };
    Ok(Response::document(StatusCode::OK, &document, format))
}

/// Returns the object with the replicas of a scale.
fn scaled(
    write: &WriteRequest<'_>,
    live: &Stored,
    requested: &Value,
    warnings: &[String],
) -> Result<Next, ApiError> {
    validate(write, requested).map_err(|error| error.with_warnings(warnings.to_vec()))?;
    if write.target.handler.is_custom() && requested.at(["spec", "replicas"]) == Some(&UNSET_REPLICAS) {
        let path = write.target.handler.scale_paths().spec.join(".");
        let unset = format!("the spec replicas field {:?} cannot be empty", format!(".{path}"));
        return Err(ApiError::bad_request(unset));
    }
    check_version(write.target, live, requested)?;
    let replicas = requested.at(["spec", "replicas"]).cloned().unwrap_or(Value::Int(0));
    let wanted = number(nonzero(Some(&replicas)));
    through_scale(write, live, Some(Value::Int(0)), |found, own| {
        tenure_apply::update(found, &wanted, Requested::Live, own)
    })
}

/// Returns the number of replicas of an object, if it has one.
fn replicas_of<'v>(target: &Target, live: &'v Stored) -> Option<&'v Value> {
    live.object.at(target.handler.scale_paths().spec.iter().map(Text::as_str))
}

/// Returns a number of replicas as a scale has it: zero is omitted, so that no manager owns it.
fn nonzero(replicas: Option<&Value>) -> Option<&Value> {
    replicas.filter(|replicas| **replicas != Value::Int(0))
}

/// Decides the ownership of the number of replicas as that of a scale, and carries the result back to the whole object. If the
/// resulting scale has no number, the object gets the `absent` one.
fn through_scale(
    write: &WriteRequest<'_>,
    live: &Stored,
    absent: Option<Value>,
    decide: impl FnOnce(Live<'_>, &Write<'_>) -> Result<State, ApplyError>,
) -> Result<Next, ApiError> {
    let target = write.target;
    let path = target.handler.scale_paths().spec;
    let at = replicas_at(target);
    let one = SingleVersion::new(SCALE_VERSION, scale_type());
    let before = number(nonzero(replicas_of(target, live)));
    let managers = to_scale(&live.managers, &at);
    let found = Live { object: &before, managers: &managers, presence: Presence::Stored };
    let empty = number(None);
    let state = write.ownership("scale", live.revision, |whole| {
        let own = Write {
            api_version: SCALE_VERSION,
            versions: &one,
            reset: &ResetFields::None,
            empty: &empty,
            ..*whole
        };
        let state = decide(found, &own)?.settle(found).into_state();
        let managers = from_scale(&live.managers, &state.managers, &at, whole);
        Ok(State { object: state.object, managers })
    });
    let state = state.map_err(|error: ApplyError| write.refusal(error, None))?;
    let object = live.object.as_object().cloned().unwrap_or_default();
    let converted = fitted(&state.object, scale_type(), &target.handler, write.profile);
    let scale = converted.as_ref().unwrap_or(&state.object);
    let object = match scale.at(["spec", "replicas"]).cloned().or(absent) {
        Some(replicas) => with_at(&object, &path, replicas),
        None => object,
    };
    Ok(Next::Applied(State { object: Value::Object(object), ..state }))
}

/// Returns where each version of an object has its number of replicas.
fn replicas_at(target: &Target) -> impl Fn(&str) -> Option<Path> {
    let steps: Path = target.handler.scale_paths().spec.iter().cloned().map(PathElement::Field).collect();
    move |version: &str| target.handler.strategy().type_at(version).map(|_| steps.clone())
}

/// Returns a scale with the number of replicas alone.
fn number(replicas: Option<&Value>) -> Value {
    let spec = replicas
        .map_or_else(Object::default, |replicas| Object::default().with("replicas", replicas.clone()));
    Value::object([
        ("apiVersion", SCALE_VERSION.into()),
        ("kind", KIND.into()),
        ("spec", Value::Object(spec)),
    ])
}
