//! What is right in a scale: its kind, its fields, the metadata of built-in kinds, the number of replicas, and whose scale it is. Before
//! 1.37 its metadata is validated as that of an object, though none of it is stored.

use super::{ownership::invalid_version, request::WriteRequest, retry::MODIFIED};
use crate::read::parse_version;
use tenure_apply::SCALE_VERSION;
use tenure_builtin::Kinds;
use tenure_catalog::{
    Target,
    object::{Stored, meta_text, metadata, with_metadata},
    scale_document::{KIND, negative_replicas},
    unregistered,
};
use tenure_http::{FieldValidation, TextErrors};
use tenure_meta::{ApiError, FieldError, FieldErrors, object_meta};
use tenure_profile::{Behaviour, Improvement};
use tenure_schema::{Schema, Type, TypeRef};
use tenure_value::Value;

const DEFINITION: &str = "io.k8s.api.autoscaling.v1.Scale";

/// Returns a document as a scale. `in_kubernetes` makes the error of Kubernetes from a reason, where it is not that of a body.
pub(super) fn decoded(
    write: &WriteRequest<'_>,
    given: &Value,
    in_kubernetes: impl Fn(&str) -> Option<ApiError>,
) -> Result<Value, ApiError> {
    let text = |name: &str, absent: &'static str| {
        given.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).unwrap_or(absent).to_string()
    };
    let (kind, api_version) = (text("kind", KIND), text("apiVersion", SCALE_VERSION));
    let refused = |better: String, why: &str| {
        let of_body = |why: &str| {
            let version = api_version.rsplit('/').next().unwrap_or_default();
            ApiError::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {KIND}: {why}"
            ))
        };
        let answer = in_kubernetes(why).unwrap_or_else(|| of_body(why));
        of_body(&better).or_in_kubernetes(answer)
    };
    if (kind.as_str(), api_version.as_str()) != (KIND, SCALE_VERSION) {
        let better = format!("this path takes {KIND} in version {SCALE_VERSION:?}");
        return Err(refused(better, &unregistered((&kind, &api_version), "autoscaling")));
    }
    // What a scale does not have is reported apart.
    let decoded = Kinds::at(write.profile.version()).decode_as(DEFINITION, given);
    match decoded {
        Ok(_) => Ok(given.clone()),
        Err(error) if write.profile.has(Improvement::ClientErrors) && error.path == "spec.replicas" => {
            let found = given
                .at(["spec", "replicas"])
                .map_or_else(|| "nothing".into(), |found| found.kind().to_string());
            Err(refused(format!("spec.replicas: expected a whole number, got {found}"), &error.message))
        }
        Err(error) => Err(refused(error.message.clone(), &error.message)),
    }
}

/// Returns the fields of a document that a scale does not have, as warnings; none if they are not looked for.
fn unknown_fields(validation: FieldValidation, scale: &Value) -> Vec<String> {
    if validation == FieldValidation::Ignore {
        return Vec::new();
    }
    undeclared(scale).into_iter().map(|path| format!("unknown field {path:?}")).collect()
}

/// Returns the type of a scale.
pub(super) fn scale_type() -> TypeRef<'static> {
    Schema::builtin().kind(SCALE_VERSION, KIND).unwrap_or_else(TypeRef::untyped)
}

/// Checks that the configuration of a scale has only its fields.
pub(super) fn check_declared(config: &Value) -> Result<(), ApiError> {
    let wrong = undeclared(config).into_iter().map(|path| format!(".{path}: field not declared in schema"));
    let wrong: Vec<String> = wrong.collect();
    let why = match wrong.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("errors:\n  {}", several.join("\n  ")),
    };
    let (namespace, name) = (meta_text(config, "namespace"), meta_text(config, "name"));
    let why = format!(
        "failed to create typed patch object ({namespace}/{name}; {SCALE_VERSION}, Kind={KIND}): {why}"
    );
    Err(ApiError::bad_request(why.clone()).or_in_kubernetes(ApiError::unclassified(why)))
}

/// Returns the paths of the fields of a document that a scale does not have.
fn undeclared(scale: &Value) -> Vec<String> {
    fn walk(value: &Value, ty: TypeRef<'_>, path: &str, found: &mut Vec<String>) {
        let (Type::Struct(_), Value::Object(fields)) = (ty.get(), value) else { return };
        for (name, value) in fields {
            match ty.below(name) {
                Some(below) => walk(value, below, &format!("{path}{name}."), found),
                None => found.push(format!("{path}{name}")),
            }
        }
    }
    let mut found = Vec::new();
    walk(scale, scale_type(), "", &mut found);
    found
}

/// Looks for unknown and duplicate fields as the request says: returns warnings, or what is wrong with the scale.
pub(super) fn check_strictly(
    validation: FieldValidation,
    scale: &Value,
    errors: &TextErrors,
) -> Result<Vec<String>, String> {
    let unknown = unknown_fields(validation, scale);
    match validation {
        _ if unknown.is_empty() && errors.duplicates.is_empty() => Ok(Vec::new()),
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(errors.with(unknown)),
        FieldValidation::Strict => Err(format!("strict decoding error: {}", errors.joined(unknown))),
    }
}

/// Returns the error of a document that is not a scale.
pub(super) fn not_a_scale(why: &str) -> ApiError {
    ApiError::bad_request(format!("{KIND} in version \"v1\" cannot be handled as a {KIND}: {why}"))
}

/// Validates a scale. That of a custom resource is validated with the whole object.
pub(super) fn validate(write: &WriteRequest<'_>, scale: &Value) -> Result<(), ApiError> {
    let handler = &write.target.handler;
    if handler.is_custom() {
        return Ok(());
    }
    let mut errors = FieldErrors::default();
    if !write.profile.behaves(Behaviour::ScaleMetadataIgnored) {
        let placed = metadata(scale).with("namespace", write.target.namespace.clone());
        object_meta::check(&handler.resource, &with_metadata(scale, placed), &mut errors);
    }
    errors.extend(negative_replicas(scale));
    let causes: Vec<_> = errors.into_vec().iter().map(FieldError::cause).collect();
    match causes.is_empty() {
        true => Ok(()),
        false => Err(ApiError::invalid("autoscaling", KIND, &write.target.name, causes)),
    }
}

/// Checks the `resourceVersion` of a scale, if it has one.
pub(super) fn check_version(target: &Target, live: &Stored, scale: &Value) -> Result<(), ApiError> {
    let version = meta_text(scale, "resourceVersion");
    if matches!(version, "" | "0") {
        return Ok(());
    }
    let asked = parse_version(version).map_err(|error| invalid_version(version, error))?;
    if asked == live.revision { Ok(()) } else { Err(target.conflict(MODIFIED)) }
}

/// Checks that a patch does not change the uid of a scale; that of a custom resource is not checked.
pub(super) fn check_patched_uid(target: &Target, live: &Stored, scale: &Value) -> Result<(), ApiError> {
    let (given, is) = (meta_text(scale, "uid"), meta_text(&live.object, "uid"));
    if given.is_empty() || given == is || target.handler.is_custom() {
        return Ok(());
    }
    let why = format!("Precondition failed: UID in precondition: {given}, UID in object meta: {is}");
    let resource = &target.handler.resource;
    Err(ApiError::conflict(&resource.group, &format!("{}/scale", resource.name), &target.name, &why))
}
