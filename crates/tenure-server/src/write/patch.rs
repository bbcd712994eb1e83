//! PATCH: JSON patch, JSON merge patch and strategic merge patch. An apply is in `apply.rs`.

use super::{
    Writer,
    apply::forced_paths,
    body::{self, Undecodable},
    commit::Written,
    create::check_namespace,
    go_conversion::conversion_error,
    integers::fitted,
    patch_errors::{not_a_patch, patch_failure, undecodable},
    patch_kind::PatchKind,
    request::{Next, ObjectUpdate, WriteRequest},
    unrecognized::type_meta_error,
    update::check_name,
};
use tenure_builtin::Kinds;
use tenure_catalog::{Target, object::Stored, why_unconvertible};
use tenure_fields::Path;
use tenure_http::{Encoding, FieldValidation, Request, TextErrors, WriteOptions, operation_errors};
use tenure_meta::{ApiError, FieldError, Reason};
use tenure_patch::strategic;
use tenure_profile::{Behaviour, Improvement, Profile};
use tenure_value::{Object, Value, go_text};

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

/// A patch of the live object.
struct Patch<'a> {
    kind: PatchKind,
    patch: &'a Value,
    errors: TextErrors,
}

impl ObjectUpdate for Patch<'_> {
    fn next(&self, write: &WriteRequest<'_>, live: Option<&Stored>) -> Result<Next, ApiError> {
        let target = write.target;
        let live = live.ok_or_else(|| target.not_found())?;
        let (patched, dropped) = patched(write, &live.shown(), self.patch, self.kind)?;
        if let Some(error) = self.without_version(&patched, write) {
            return Err(error);
        }
        // A strategic merge patch cannot change the kind of its object; the others can, and must not.
        let object = match self.kind {
            PatchKind::Strategic => target.handler.with_kind(&patched)?,
            _ => target
                .handler
                .check_kind(&patched)
                .map_err(|error| self.of_other_kind(error, &patched, write))?,
        };
        let decode = |object: &Value| write.try_decode(object, Some(live), &self.errors);
        let handler = &target.handler;
        let decoded = decode(&object).or_else(|error| match self.kind {
            PatchKind::Strategic => fitted(&object, handler.type_ref(), handler, write.profile)
                .map_or(Err(error), |fitted| decode(&fitted)),
            _ => Err(error),
        });
        let mut body = decoded.map_err(|error| self.undecodable(write, error, &object))?;
        let named = check_name(target, &object).and_then(|()| check_namespace(target, &object));
        named.map_err(|error| error.with_warnings(body.warnings.clone()))?;
        // The result of a patch is checked for duplicate owners together with what admission made of it.
        for warning in &mut body.warnings {
            if warning.starts_with(DUPLICATE_OWNERS) {
                *warning = warning.replacen(DUPLICATE_OWNERS, DUPLICATE_OWNERS_AFTER_ADMISSION, 1);
            }
        }
        if write.options.validation != FieldValidation::Ignore {
            let warning = |path: &Path| format!("{path} is dropped: the type has no such list");
            body.warnings.extend(dropped.iter().map(warning));
        }
        Ok(Next::Whole(body))
    }
}

impl Patch<'_> {
    /// Returns the error of a patch that removes the version. Kubernetes decodes the result as its internal type, which has none of
    /// the fields, and so finds no name.
    fn without_version(&self, patched: &Value, write: &WriteRequest<'_>) -> Option<ApiError> {
        let is_named = patched
            .get("apiVersion")
            .is_some_and(|version| !version.is_null() && version.as_str() != Some(""));
        if is_named
            || self.kind == PatchKind::Strategic
            || write.target.handler.is_custom()
            || write.profile.has(Improvement::ClientErrors)
        {
            return None;
        }
        let names = patched.as_object().into_iter().flat_map(|fields| fields.iter()).map(|(name, _)| name);
        let unknown = names.filter(|name| !["apiVersion", "kind"].contains(&name.as_str()));
        let unknown: Vec<String> = unknown.map(|name| format!("unknown field \"{name}\"")).collect();
        let nameless = check_name(write.target, &Value::Object(Object::default())).err()?;
        match write.options.validation {
            FieldValidation::Strict if !unknown.is_empty() => {
                let why = format!("strict decoding error: {}", unknown.join(", "));
                Some(undecodable(&why, patched))
            }
            FieldValidation::Warn => Some(nameless.with_warnings(unknown)),
            _ => Some(nameless),
        }
    }

    /// Returns the error of a patch whose result is of another kind. Kubernetes decodes it as that kind first.
    fn of_other_kind(&self, error: ApiError, patched: &Value, write: &WriteRequest<'_>) -> ApiError {
        let (kinds, handler) = (Kinds::at(write.profile.version()), &write.target.handler);
        let text = |name: &str| patched.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = (text("kind"), text("apiVersion"));
        if handler.is_custom() && kind.0 == handler.resource.kind.as_str() && !kind.1.is_empty() {
            // It is decoded as it is, and found to be of another version when it is validated.
            let must = format!("must be {}", handler.resource.api_version);
            let cause = FieldError::invalid("apiVersion", &kind.1.into(), must).cause();
            let (group, name) = (&handler.resource.group, &write.target.name);
            return error.or_in_kubernetes(ApiError::invalid(group, kind.0, name, vec![cause]));
        }
        let unconvertible = || why_unconvertible(kind, (&handler.resource.kind, &handler.resource.group));
        let why = match (type_meta_error(patched), kinds.registry().of_kind(kind.1, kind.0)) {
            _ if handler.is_custom() => None,
            (Some(why), _) => Some(why),
            _ if kind.0.is_empty() || kind.1.is_empty() => None,
            (None, Some(resource)) => {
                let undecodable = kinds.complete(resource, patched, write.now).err();
                Some(undecodable.map_or_else(unconvertible, |why| why.to_string()))
            }
            (None, None) => Some(unconvertible()),
        };
        match why {
            Some(why) => error.or_in_kubernetes(undecodable(&why, patched)),
            None => error,
        }
    }

    /// Returns the error of a patch whose result is not an object of its kind.
    fn undecodable(&self, write: &WriteRequest<'_>, error: Undecodable, object: &Value) -> ApiError {
        let target = write.target;
        let refused = match error.is_strict {
            true => target.handler.cannot_handle(object, &error.why),
            false => undecodable(&error.why, object),
        };
        // A strategic merge patch makes an object without text in between, and is quoted itself.
        refused.or_in_kubernetes(match self.kind {
            PatchKind::Strategic => {
                let kinds = Kinds::at(write.profile.version());
                let conversion = match error.is_strict {
                    true => None,
                    false => conversion_error(object, target.handler.type_ref(), kinds),
                };
                undecodable(&conversion.unwrap_or(error.why), go_text::Plain(self.patch))
            }
            _ => undecodable(&error.why, object),
        })
    }
}

impl Writer {
    /// Carries out a PATCH.
    pub(super) async fn patch(&self, target: &Target, request: &Request) -> Result<Written, ApiError> {
        let kind = self.patch_kind(target, request)?;
        let options = patch_options(request, kind, self.profile)?;
        if kind == PatchKind::Apply {
            return self.apply(target, request, options).await;
        }
        let parsed = match patch_body(request, &options, kind, self.profile) {
            // A missing object is reported before an invalid patch.
            Err(_) if self.objects.read(target).await?.is_none() => return Err(target.not_found()),
            parsed => parsed?,
        };
        let errors = patch_text_errors(kind, &parsed, options.validation);
        let write = WriteRequest::new(self, target, request, options);
        self.write(&write, &Patch { kind, patch: &parsed.value, errors }).await
    }

    /// Returns the kind of the patch in a request, if the resource accepts it.
    pub(super) fn patch_kind(&self, target: &Target, request: &Request) -> Result<PatchKind, ApiError> {
        // Names of patches are compared as they are written.
        let content_type = request.content_type().unwrap_or_default();
        let given = content_type.split(';').next().unwrap_or(content_type);
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
            let refused =
                ApiError::new(Reason::UnsupportedMediaType, format!("{message}: {}", known.join(", ")));
            // Kubernetes routes patches of built-in kinds by any media type in a list of them.
            let is_routed = content_type
                .split(',')
                .filter_map(|one| one.split(';').next())
                .any(|one| known.contains(&one.trim()));
            match target.handler.is_custom() || is_routed {
                true => refused,
                false => refused.or_in_kubernetes(ApiError::unrouted(
                    Reason::UnsupportedMediaType,
                    "415: Unsupported Media Type",
                )),
            }
        })
    }
}

pub(super) fn patch_options(
    request: &Request,
    kind: PatchKind,
    profile: Profile,
) -> Result<WriteOptions, ApiError> {
    let query = &request.query;
    let wrong = match kind {
        PatchKind::Apply if query.given("fieldManager").is_none() => {
            Some(FieldError::required("fieldManager", "is required for apply patch"))
        }
        PatchKind::Apply => None,
        _ if query.get("force").is_some() || forced_paths(request, profile).next().is_some() => {
            Some(FieldError::forbidden("force", "may not be specified for non-apply patch"))
        }
        _ => None,
    };
    query.write_options_with("PatchOptions", wrong.into_iter().collect())
}

pub(super) fn patch_body(
    request: &Request,
    options: &WriteOptions,
    kind: PatchKind,
    profile: Profile,
) -> Result<body::Parsed, ApiError> {
    let is_checked = options.validation != FieldValidation::Ignore;
    let mut parsed = body::parse(&request.body, Encoding::Json).map_err(|why| {
        let answer = match kind {
            _ if profile.behaves(Behaviour::PatchesDecodedFirst) => "invalid JSON patch".into(),
            PatchKind::Strategic => why.clone(),
            PatchKind::Merge if !is_checked => "Invalid JSON Patch".into(),
            _ if !is_checked => why.clone(),
            _ => format!("error decoding patch: {why}"),
        };
        ApiError::bad_request(format!("error decoding patch: {why}"))
            .or_in_kubernetes(ApiError::bad_request(answer))
    })?;
    if let Some(error) = not_a_patch(kind, &parsed.value, is_checked) {
        return Err(error);
    }
    if options.validation == FieldValidation::Ignore {
        parsed.duplicates.clear();
    }
    Ok(parsed)
}

/// Returns the errors in the text of a patch.
pub(super) fn patch_text_errors(
    kind: PatchKind,
    parsed: &body::Parsed,
    validation: FieldValidation,
) -> TextErrors {
    let duplicates = match kind {
        PatchKind::Json if validation == FieldValidation::Ignore => Vec::new(),
        PatchKind::Json => operation_errors(&parsed.value, &parsed.duplicates),
        _ => parsed.duplicates.clone(),
    };
    TextErrors { duplicates, ..TextErrors::default() }
}

/// Applies a patch to the live object, and returns the directives that were dropped.
pub(super) fn patched(
    write: &WriteRequest<'_>,
    shown: &Value,
    patch: &Value,
    kind: PatchKind,
) -> Result<(Value, Vec<Path>), ApiError> {
    let target = write.target;
    let whole = |value: Value| (value, Vec::new());
    let result = match kind {
        PatchKind::Json => {
            tenure_patch::json::apply(shown, patch, &tenure_patch::json::Options::default()).map(whole)
        }
        PatchKind::Merge => Ok(whole(tenure_patch::merge::apply_kubernetes(shown, patch))),
        PatchKind::Strategic | PatchKind::Apply => {
            let options = strategic::ApplyOptions::default().profile(write.profile);
            strategic::apply_with_dropped(shown, patch, target.handler.type_ref(), &options)
        }
    };
    result.map_err(|error| patch_failure(target, &error, kind))
}
