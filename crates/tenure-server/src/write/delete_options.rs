//! The options of a deletion, from the query and the body of a DELETE.

use super::{body, request::Admitted};
use tenure_builtin::Kinds;
use tenure_catalog::{
    Target,
    object::{Stored, meta_text},
};
use tenure_http::{Encoding, MediaTypes, Query, Request, query::dry_run_error};
use tenure_meta::{ApiError, FieldError};
use tenure_profile::{Behaviour, Improvement, Profile};
use tenure_value::{Text, Value, go_text::Quoted};

/// The kind of the options, and the definition of their type.
const NAME: &str = "DeleteOptions";
const DEFINITION: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
/// Where kube-apiserver registers the kinds of options.
const SCHEME: &str = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";

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

/// The option to remove an object that cannot be read.
const UNSAFE: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

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
    /// Whether an object that cannot be read is to be removed from the store.
    pub(super) is_unsafe: bool,
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
            .filter_map(|(name, value)| Some((name, Value::from(value.clone()?))))
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
        let given = match request.body.is_empty() {
            true => Value::Null,
            false => decode(request)?,
        };
        let none = Query::default();
        let query = match profile.has(Improvement::MergeDeleteOptions) || request.body.is_empty() {
            true => &request.query,
            false => &none,
        };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(Text::new);
        let policy = text(given.get("propagationPolicy"));
        let policy = policy.or_else(|| query.given("propagationPolicy").cloned());
        let orphan = given.get("orphanDependents").and_then(Value::as_bool);
        let orphan = orphan.or_else(|| query.optional_flag("orphanDependents"));
        let in_body = given.get("dryRun").and_then(Value::as_array).cloned().unwrap_or_default();
        let in_body = in_body.iter().map(|value| value.as_str().unwrap_or_default());
        let dry_run: Vec<&str> = in_body.chain(query.all("dryRun").map(|value| value.as_str())).collect();
        let grace = match given.get("gracePeriodSeconds").and_then(Value::as_i64) {
            Some(seconds) => Some(seconds),
            None => query.integer("gracePeriodSeconds")?,
        };
        let mut errors = Vec::new();
        let propagation = propagation(policy.as_deref(), orphan, &mut errors);
        errors.extend(dry_run_error(&dry_run));
        let is_unsafe = profile.behaves(Behaviour::UnsafeDeletion)
            && (given.get(UNSAFE).and_then(Value::as_bool))
                .or_else(|| query.optional_flag(UNSAFE))
                .unwrap_or_default();
        if is_unsafe {
            let has_preconditions = given.get("preconditions").is_some_and(|value| !value.is_null());
            let others = [
                (policy.is_some(), "propagationPolicy"),
                (orphan.is_some(), "orphanDependents"),
                (grace.is_some(), "gracePeriodSeconds"),
                (has_preconditions, "preconditions"),
            ];
            errors.extend(others.into_iter().filter(|(is_given, _)| *is_given).map(|(_, other)| {
                FieldError::invalid(UNSAFE, &true.into(), format!("cannot be set together with .{other}"))
            }));
        }
        if !errors.is_empty() {
            return Err(ApiError::invalid_options(NAME, &errors));
        }
        let precondition = |name: &str| text(given.at(["preconditions", name]));
        Ok(DeleteOptions {
            dry_run: !dry_run.is_empty(),
            grace,
            uid: precondition("uid").or_else(|| query.given("uid").cloned()),
            version: precondition("resourceVersion").or_else(|| query.given("resourceVersion").cloned()),
            propagation,
            distinguishes_pending: orphan == Some(false),
            admitted: Admitted::NotYet,
            is_unsafe,
        })
    }

    /// Refuses the deletion of a collection that is to remove what cannot be read.
    pub(super) fn check_of_collection(&self) -> Result<(), ApiError> {
        let detail = "is not allowed with DELETECOLLECTION, try again after removing the option";
        match self.is_unsafe {
            true => {
                Err(ApiError::invalid_options(NAME, &[FieldError::invalid(UNSAFE, &true.into(), detail)]))
            }
            false => Ok(()),
        }
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

/// Returns what happens to the dependents.
fn propagation(
    policy: Option<&str>,
    orphan: Option<bool>,
    errors: &mut Vec<FieldError>,
) -> Option<Propagation> {
    const PATH: &str = "propagationPolicy";
    if let (Some(policy), Some(_)) = (policy, orphan) {
        let detail = "orphanDependents and deletionPropagation cannot be both set";
        errors.push(FieldError::invalid(PATH, &policy.into(), detail));
    }
    match (policy, orphan) {
        (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
        (Some("Foreground"), _) => Some(Propagation::Foreground),
        (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
        (Some(other), _) => {
            let allowed = ["Foreground", "Background", "Orphan", "nil"].map(Value::from);
            errors.push(FieldError::not_supported(PATH, &other.into(), &allowed));
            None
        }
        (None, None) => None,
    }
}

/// Decodes the body. An option of another type is refused: a deletion that ignores an option cannot be undone.
fn decode(request: &Request) -> Result<Value, ApiError> {
    let encoding = request.encoding(MediaTypes::All).unwrap_or(Encoding::Json);
    let given = body::read_unnamed(&request.body, encoding)?;
    let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
    if !matches!(text("kind"), "" | NAME) {
        let version = if text("apiVersion").is_empty() { "v1" } else { text("apiVersion") };
        return Err(ApiError::bad_request(format!(
            "no kind {} is registered for version {} in scheme {SCHEME:?}",
            Quoted(text("kind")),
            Quoted(version)
        )));
    }
    let decoded = Kinds::builtin().decode_as(DEFINITION, &given);
    decoded.map(|decoded| decoded.value).map_err(|error| ApiError::bad_request(error.to_string()))
}
