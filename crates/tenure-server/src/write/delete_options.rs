//! The options of a deletion, from the query and the body of a DELETE.

use super::{body, request::Admitted};
use tenure_catalog::{
    Target,
    object::{Stored, meta_text},
};
use tenure_http::{Encoding, MediaTypes, Query, Request, query::check_dry_run};
use tenure_meta::ApiError;
use tenure_profile::{Improvement, Profile};
use tenure_value::{Text, Value};

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// They are deleted afterwards.
    Background,
    /// They are deleted first.
    Foreground,
    /// They stay, without their owner.
    Orphan,
}

pub(crate) const FOREGROUND: &str = "foregroundDeletion";
pub(crate) const ORPHAN: &str = "orphan";

/// How an object is to be deleted.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub dry_run: bool,
    pub(super) grace: Option<i64>,
    uid: Option<Text>,
    version: Option<Text>,
    pub(super) propagation: Option<Propagation>,
    /// Whether the response distinguishes an object that stays for now from one that is removed.
    pub(super) distinguishes_pending: bool,
    pub(super) admitted: Admitted,
}

impl DeleteOptions {
    /// Returns the options of a deletion with a propagation policy.
    pub fn with_propagation(propagation: Propagation) -> DeleteOptions {
        DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() }
    }

    /// Sets a grace period of zero.
    pub fn without_grace_period(self) -> DeleteOptions {
        DeleteOptions { grace: Some(0), ..self }
    }

    /// Skips admission, because the request that this is a part of has been admitted.
    pub fn skip_admission(self) -> DeleteOptions {
        DeleteOptions { admitted: Admitted::Already, ..self }
    }

    /// Returns the options as a review contains them.
    pub fn to_value(&self) -> Value {
        let mut fields =
            vec![("kind", Value::from("DeleteOptions")), ("apiVersion", Value::from("meta.k8s.io/v1"))];
        if self.dry_run {
            fields.push(("dryRun", Value::array([Value::from("All")])));
        }
        fields.extend(self.grace.map(|seconds| ("gracePeriodSeconds", Value::from(seconds))));
        let preconditions = [("resourceVersion", &self.version), ("uid", &self.uid)];
        let preconditions: Vec<_> = preconditions
            .into_iter()
            .filter_map(|(name, of)| Some((name, Value::from(of.clone()?))))
            .collect();
        if !preconditions.is_empty() {
            fields.push(("preconditions", Value::object(preconditions)));
        }
        let policy = self.propagation.map(|propagation| match propagation {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
            Propagation::Orphan => "Orphan",
        });
        fields.extend(policy.map(|policy| ("propagationPolicy", Value::from(policy))));
        Value::object(fields)
    }

    /// Requires that the object still has a uid and a version.
    pub fn only(self, uid: &str, version: &str) -> DeleteOptions {
        DeleteOptions { uid: Some(uid.into()), version: Some(version.into()), ..self }
    }

    /// Drops the precondition on the version, which the request that this is a part of has changed.
    pub fn at_any_version(self) -> DeleteOptions {
        DeleteOptions { version: None, ..self }
    }

    /// Reads the options from the query and the body.
    pub fn of(request: &Request, profile: &Profile) -> Result<DeleteOptions, ApiError> {
        const NAME: &str = "DeleteOptions";
        let given = if request.body.is_empty() {
            Value::Null
        } else {
            let encoding = request.encoding(MediaTypes::All).unwrap_or(Encoding::Json);
            body::read(&request.body, encoding, NAME)?.value
        };
        check_kind(&given)?;
        let none = Query::default();
        let query = match profile.has(Improvement::MergeDeleteOptions) || request.body.is_empty() {
            true => &request.query,
            false => &none,
        };
        let fault = |reason: &str, message: String| {
            ApiError::invalid_option(NAME, reason, "propagationPolicy", message)
        };
        let policy = member(&given, "propagationPolicy", "a string", Value::as_str)?.map(Text::new);
        let policy = policy.or_else(|| query.given("propagationPolicy").cloned());
        let orphan = member(&given, "orphanDependents", "true or false", Value::as_bool)?;
        let orphan = orphan.or_else(|| query.optional_flag("orphanDependents"));
        let propagation = match (policy.as_deref(), orphan) {
            (Some(policy), Some(_)) => {
                let message = format!(
                    "Invalid value: {policy:?}: orphanDependents and deletionPropagation cannot be both set"
                );
                return Err(fault("FieldValueInvalid", message));
            }
            (Some("Background"), None) | (None, Some(false)) => Some(Propagation::Background),
            (Some("Foreground"), None) => Some(Propagation::Foreground),
            (Some("Orphan"), None) | (None, Some(true)) => Some(Propagation::Orphan),
            (Some(other), None) => {
                let message = format!(
                    "Unsupported value: {other:?}: supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""
                );
                return Err(fault("FieldValueNotSupported", message));
            }
            (None, None) => None,
        };
        let in_body = member(&given, "dryRun", "a list", Value::as_array)?.cloned().unwrap_or_default();
        let in_body = check_dry_run(in_body.iter().map(|value| value.as_str().unwrap_or_default()), NAME)?;
        let preconditions = member(&given, "preconditions", "an object", Value::as_object)?;
        let preconditions = Value::Object(preconditions.cloned().unwrap_or_default());
        let precondition = |name: &str| member(&preconditions, name, "a string", Value::as_str);
        let grace = match member(&given, "gracePeriodSeconds", "a whole number", Value::as_i64)? {
            Some(seconds) => Some(seconds),
            None => query.integer("gracePeriodSeconds")?,
        };
        Ok(DeleteOptions {
            dry_run: query.dry_run(NAME)? || in_body,
            grace,
            uid: precondition("uid")?.map(Text::new).or_else(|| query.given("uid").cloned()),
            version: precondition("resourceVersion")?
                .map(Text::new)
                .or_else(|| query.given("resourceVersion").cloned()),
            propagation,
            distinguishes_pending: orphan == Some(false),
            admitted: Admitted::NotYet,
        })
    }

    /// Checks the preconditions.
    pub(crate) fn check(&self, target: &Target, live: &Stored) -> Result<(), ApiError> {
        let resource = &target.handler.resource;
        let (uid, version) = (meta_text(&live.object, "uid"), live.revision.to_string());
        let fault =
            |why: String| Err(ApiError::conflict(&resource.group, &resource.kind, &target.name, &why));
        if let Some(wanted) = self.uid.as_deref().filter(|wanted| *wanted != uid) {
            return fault(format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
            ));
        }
        if let Some(wanted) = self.version.as_deref().filter(|wanted| *wanted != version) {
            return fault(format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). The object might have been modified"
            ));
        }
        Ok(())
    }
}

/// Reads a member of the options. One of another type is refused: a deletion that ignores an option cannot be undone.
fn member<'v, T>(
    given: &'v Value,
    name: &str,
    what: &str,
    read: impl FnOnce(&'v Value) -> Option<T>,
) -> Result<Option<T>, ApiError> {
    match given.get(name).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => read(value).map(Some).ok_or_else(|| {
            ApiError::bad_request(format!("DeleteOptions: {name}: expected {what}, got {}", value.kind()))
        }),
    }
}

fn check_kind(given: &Value) -> Result<(), ApiError> {
    let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
    match (given, text("kind")) {
        (Value::Null | Value::Object(_), "" | "DeleteOptions") => Ok(()),
        (Value::Object(_), kind) => Err(ApiError::bad_request(format!(
            "no kind {kind:?} is registered for version {:?} here; the body of a DELETE is a DeleteOptions",
            text("apiVersion")
        ))),
        (other, _) => Err(ApiError::bad_request(format!(
            "the body of a DELETE is a DeleteOptions, got {}",
            other.kind()
        ))),
    }
}
