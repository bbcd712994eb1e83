//! PATCH: JSON patch, JSON merge patch and strategic merge patch. An apply is in `apply.rs`.

use super::{
    Writer, body,
    commit::Written,
    create::check_namespace,
    request::{Change, Next, WriteRequest},
    update::check_name,
};
use tenure_catalog::{Target, object::Stored};
use tenure_http::{
    Encoding, FieldValidation, Request, TextErrors, WriteOptions, negotiation::essence, operation_errors,
};
use tenure_meta::{ApiError, FieldError, Reason};
use tenure_patch::{ErrorClass, PatchError, strategic};
use tenure_profile::Improvement;
use tenure_value::Value;

/// The kind of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

/// The content types of patches.
const PATCHES: [(&str, PatchKind); 5] = [
    ("application/json-patch+json", PatchKind::Json),
    ("application/merge-patch+json", PatchKind::Merge),
    ("application/strategic-merge-patch+json", PatchKind::Strategic),
    ("application/apply-patch+yaml", PatchKind::Apply),
    (body::APPLY_CBOR, PatchKind::Apply),
];

/// The beginnings of the warnings about duplicate owner references.
const DUPLICATE_OWNERS: &str = ".metadata.ownerReferences contains duplicate entries;";
const DUPLICATE_OWNERS_AFTER_ADMISSION: &str =
    ".metadata.ownerReferences contains duplicate entries after mutating admission happens;";

/// How many characters of the result of a patch an error shows.
const SHOWN: usize = 1024;

/// A patch of the live object.
struct Patch<'a> {
    kind: PatchKind,
    patch: &'a Value,
    errors: TextErrors,
}

impl Change for Patch<'_> {
    fn next(&self, write: &WriteRequest<'_>, live: Option<&Stored>) -> Result<Next, ApiError> {
        let target = write.target;
        let live = live.ok_or_else(|| target.not_found())?;
        let patched = patched(write, &live.shown(), self.patch, self.kind)?;
        // A strategic merge patch cannot change the kind of its object; the others can, and must not.
        let object = match self.kind {
            PatchKind::Strategic => target.handler.with_kind(&patched)?,
            _ => target.handler.check_kind(&patched)?,
        };
        check_name(target, &object)?;
        check_namespace(target, &object)?;
        let decoded = write.decode(&object, Some(live), &self.errors);
        let mut body = decoded.map_err(|error| undecodable(error, &object))?;
        // The result of a patch is checked for duplicate owners together with what admission made of it.
        for warning in &mut body.warnings {
            if warning.starts_with(DUPLICATE_OWNERS) {
                *warning = warning.replacen(DUPLICATE_OWNERS, DUPLICATE_OWNERS_AFTER_ADMISSION, 1);
            }
        }
        Ok(Next::Whole(body))
    }
}

impl Writer {
    /// Carries out a PATCH.
    pub(super) async fn patch(&self, target: &Target, request: &Request) -> Result<Written, ApiError> {
        let kind = self.patch_kind(target, request)?;
        let options = patch_options(request, kind)?;
        if kind == PatchKind::Apply {
            return self.apply(target, request, options).await;
        }
        let parsed = match patch_body(request, &options) {
            // A missing object is reported before an invalid patch.
            Err(_) if self.objects.read(target).await?.is_none() => return Err(target.not_found()),
            parsed => parsed?,
        };
        let duplicates = match kind {
            PatchKind::Json if options.validation == FieldValidation::Ignore => Vec::new(),
            PatchKind::Json => operation_errors(&parsed.value, &parsed.duplicates),
            _ => parsed.duplicates,
        };
        let errors = TextErrors { duplicates, ..TextErrors::default() };
        let write = WriteRequest::new(self, target, request, options);
        self.write(&write, &Patch { kind, patch: &parsed.value, errors }).await
    }

    /// Returns the kind of the patch in a request, if the resource accepts it.
    pub(super) fn patch_kind(&self, target: &Target, request: &Request) -> Result<PatchKind, ApiError> {
        let given = essence(request.content_type().unwrap_or_default());
        let accepted = |(name, kind): &&(&str, PatchKind)| match *kind {
            PatchKind::Strategic => {
                self.profile.has(Improvement::PatchCustomResources) || !target.handler.is_custom()
            }
            _ => request.optional.cbor || *name != body::APPLY_CBOR,
        };
        let mut known = PATCHES.iter().filter(accepted);
        known.clone().find(|(name, _)| *name == given).map(|(_, kind)| *kind).ok_or_else(|| {
            let known: Vec<&str> = known.by_ref().map(|(name, _)| *name).collect();
            let message = "the body of the request was in an unknown format - accepted media types include";
            ApiError::new(Reason::UnsupportedMediaType, format!("{message}: {}", known.join(", ")))
        })
    }
}

pub(super) fn patch_options(request: &Request, kind: PatchKind) -> Result<WriteOptions, ApiError> {
    let query = &request.query;
    let wrong = match kind {
        PatchKind::Apply if query.given("fieldManager").is_none() => {
            Some(FieldError::required("fieldManager", "is required for apply patch"))
        }
        PatchKind::Apply => None,
        _ if query.get("force").is_some() || query.get("force-path").is_some() => {
            Some(FieldError::forbidden("force", "may not be specified for non-apply patch"))
        }
        _ => None,
    };
    query.write_options_with("PatchOptions", wrong.into_iter().collect())
}

pub(super) fn patch_body(request: &Request, options: &WriteOptions) -> Result<body::Parsed, ApiError> {
    let mut parsed = body::parse(&request.body, Encoding::Json)
        .map_err(|why| ApiError::bad_request(format!("error decoding patch: {why}")))?;
    if options.validation == FieldValidation::Ignore {
        parsed.duplicates.clear();
    }
    Ok(parsed)
}

/// Applies a patch to the live object.
pub(super) fn patched(
    write: &WriteRequest<'_>,
    shown: &Value,
    patch: &Value,
    kind: PatchKind,
) -> Result<Value, ApiError> {
    let target = write.target;
    let result = match kind {
        PatchKind::Json => tenure_patch::json::apply(shown, patch, &tenure_patch::json::Options::default()),
        PatchKind::Merge => {
            if patch.as_object().is_none() {
                return Err(ApiError::bad_request(format!(
                    "a merge patch is an object, got {}",
                    patch.kind()
                )));
            }
            Ok(tenure_patch::merge::apply_kubernetes(shown, patch))
        }
        PatchKind::Strategic | PatchKind::Apply => {
            let options = strategic::ApplyOptions::default().profile(write.profile);
            strategic::apply(shown, patch, target.handler.type_ref(), &options)
        }
    };
    result.map_err(|error| patch_failure(target, &error, kind))
}

/// Returns the error of a patch whose result is not an object of its kind: the patch is understood, and wrong.
fn undecodable(error: ApiError, patched: &Value) -> ApiError {
    if error.reason != Reason::BadRequest || error.message.contains("strict decoding error") {
        return error;
    }
    let shown: String = patched.to_string().chars().take(SHOWN).collect();
    let cause = FieldError::invalid("patch", &Value::from(shown), error.message.clone()).cause();
    ApiError::invalid("", "", "", vec![cause])
}

/// Returns the error of a patch as an API error.
fn patch_failure(target: &Target, error: &PatchError, kind: PatchKind) -> ApiError {
    let resource = &target.handler.resource;
    match error.class() {
        ErrorClass::BadPatch => ApiError::bad_request(error.to_string()),
        ErrorClass::TooLarge if error.to_string().starts_with("operations in a JSON patch") => {
            let message = format!("The allowed maximum operations in a JSON patch is exceeded: {error}");
            ApiError::new(Reason::RequestEntityTooLarge, message)
        }
        ErrorClass::TooLarge => ApiError::new(Reason::RequestEntityTooLarge, error.to_string()),
        // The wording of Kubernetes, and then what is wrong.
        _ if kind == PatchKind::Json => ApiError::new(
            Reason::Invalid,
            format!("the server rejected our request due to an error in our request: {error}"),
        ),
        _ => ApiError::new(Reason::Invalid, error.to_string()).about(
            &resource.group,
            &resource.kind,
            &target.name,
        ),
    }
}
