//! PUT and the four kinds of PATCH: each says how the next object is made from the live one.

use crate::{
    Answer, Cause, Encoding, Failure, FieldValidation, Reason, WriteOptions,
    catalog::handler::Endpoint,
    media::essence,
    object::{Stored, meta_text},
    server::{Request, Server},
    target::{Target, Verb},
    write::{
        body, ownership_report,
        pipeline::{Next, UNWRITTEN, Writing},
        strict_decoding::Complaints,
    },
};
use tenure_apply::{Conflict, Conflicts, Force, Live, Managers, Owner, Presence};
use tenure_fields::{FieldSet, Path};
use tenure_patch::{ErrorClass, PatchError, strategic};
use tenure_value::Value;

/// What a patch is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

/// The content types of patches.
const PATCHES: [(&str, PatchKind); 4] = [
    ("application/json-patch+json", PatchKind::Json),
    ("application/merge-patch+json", PatchKind::Merge),
    ("application/strategic-merge-patch+json", PatchKind::Strategic),
    ("application/apply-patch+yaml", PatchKind::Apply),
];

impl Server {
    /// Answers PUT and PATCH.
    pub(crate) async fn modify(&self, target: &Target, request: &Request) -> Result<Answer, Failure> {
        let format = request.format(target.offer())?;
        if target.subresource == "scale" {
            return self.modify_scale(target, request, format).await;
        }
        let report = target.verb == Verb::Patch
            && ownership_report::is_asked(request, request.query.dry_run("PatchOptions")?)?;
        let before = if report { self.read(target).await? } else { None };
        let written = match target.verb {
            Verb::Update => self.put(target, request).await?,
            _ => self.patch(target, request).await?,
        };
        if report {
            return Ok(self.show_report(target, before.as_ref(), &written.stored, format));
        }
        self.show_written(target, request, format, &written)
    }

    async fn put(
        &self,
        target: &Target,
        request: &Request,
    ) -> Result<crate::write::pipeline::Written, Failure> {
        let options = request.query.write_options("UpdateOptions")?;
        let encoding = target.offer().body(request.content_type())?;
        let read = body::read(&request.body, encoding, &target.served.resource.kind)?;
        let object = target.served.check_kind(&read.value)?;
        check_name(target, &object)?;
        self.check_address(target, &object)?;
        let writing = Writing::new(self, target, request, options);
        let body = writing.body(&object, None, &read.about(target, &request.body, encoding))?;
        writing
            .change(|live| {
                match live {
                    Some(live) => check_uid(target, live, &object)?,
                    None if !target.served.resource.strategy.create_on_update
                        || writing.endpoint != Endpoint::Main =>
                    {
                        return Err(target.not_found());
                    }
                    None => {}
                }
                Ok(Next::Whole(body.clone()))
            })
            .await
    }

    async fn patch(
        &self,
        target: &Target,
        request: &Request,
    ) -> Result<crate::write::pipeline::Written, Failure> {
        let kind = patch_kind(request)?;
        let options = patch_options(request, kind)?;
        match kind {
            PatchKind::Apply => self.apply(target, request, options).await,
            _ => {
                let patch = match patch_body(request, &options) {
                    // Whether there is something to patch is told first.
                    Err(_) if self.read(target).await?.is_none() => return Err(target.not_found()),
                    patch => patch?,
                };
                let odd = Complaints { duplicates: patch.strict_errors, text: None };
                let writing = Writing::new(self, target, request, options);
                writing
                    .change(|live| {
                        let live = live.ok_or_else(|| target.not_found())?;
                        let patched = patched(target, &live.shown(), &patch.value, kind)?;
                        // A strategic patch cannot say of what kind its result is; the others can, and must not lie.
                        let object = match kind {
                            PatchKind::Strategic => target.served.with_kind(&patched)?,
                            _ => target.served.check_kind(&patched)?,
                        };
                        check_name(target, &object)?;
                        self.check_address(target, &object)?;
                        writing.body(&object, Some(live), &odd).map(Next::Whole)
                    })
                    .await
            }
        }
    }

    async fn apply(
        &self,
        target: &Target,
        request: &Request,
        options: WriteOptions,
    ) -> Result<crate::write::pipeline::Written, Failure> {
        let (config, strict_errors) = self.applied_config(target, request, &options)?;
        let forced = forced(target, request, &config)?;
        let (version, uid) =
            (meta_text(&config, "resourceVersion").to_string(), meta_text(&config, "uid").to_string());
        if config.at(["metadata", "managedFields"]).is_some_and(|sent| !sent.is_null()) {
            return Err(Failure::bad_request(
                "metadata.managedFields must be nil; only the server writes it, leave it out",
            ));
        }
        crate::write::metadata_checks::check_revision(&config)?;
        let config = crate::object::bare(&config);
        let writing = Writing::new(self, target, request, options);
        let mut written = writing
            .change(|live| {
                let empty = target.served.empty();
                let none = Managers::default();
                let found = match live {
                    Some(live) => Live { object: &live.object, managers: &live.managers, presence: Presence::Stored },
                    None if writing.endpoint != Endpoint::Main => return Err(target.not_found()),
                    None => {
                        if !uid.is_empty() {
                            let why = format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
                            return Err(target.conflict(&why));
                        }
                        Live { object: &empty, managers: &none, presence: Presence::New }
                    }
                };
                let written = live.map_or(UNWRITTEN, |live| live.revision);
                let state = writing.ownership(&target.subresource, written, |write| {
                    tenure_apply::apply(found, &config, write, forced.as_force())
                });
                let state = state.map_err(|error| writing.refusal(error))?;
                // Who holds what is told before what is wrong with the request's address, as recorded.
                // A configuration without a name is about the object of the path, once there is one.
                if live.is_none() || config.at(["metadata", "name"]).is_some() {
                    check_name(target, &config)?;
                }
                self.check_address(target, &config)?;
                match live {
                    Some(live) if !version.is_empty() && version != live.revision.to_string() => {
                        Err(target.conflict(crate::write::pipeline::MODIFIED))
                    }
                    _ => Ok(Next::Applied(state)),
                }
            })
            .await?;
        written.warnings.extend(strict_errors);
        Ok(written)
    }

    /// Reads the configuration of an apply.
    fn applied_config(
        &self,
        target: &Target,
        request: &Request,
        options: &WriteOptions,
    ) -> Result<(Value, Vec<String>), Failure> {
        let read = body::parse_applied(&request.body)
            .map_err(|why| Failure::bad_request(format!("error decoding YAML: {why}")))?;
        let strict_errors = match (options.validation, read.strict_errors.is_empty()) {
            (FieldValidation::Strict, false) => {
                let lines = read.strict_errors.join("\n  ");
                return Err(Failure::bad_request(format!(
                    "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {lines}"
                )));
            }
            (FieldValidation::Warn, _) => read.strict_errors,
            _ => Vec::new(),
        };
        let config = match read.value {
            Value::Object(object) => Value::Object(object),
            Value::Null => Value::Object(tenure_value::Object::default()),
            other => {
                return Err(Failure::bad_request(format!(
                    "error decoding YAML: expected an object with apiVersion, kind and metadata, got {}",
                    other.kind()
                )));
            }
        };
        target.served.check_applied_kind(&config)?;
        Ok((config, strict_errors))
    }
}

/// Reads which kind of patch a request brings.
pub(crate) fn patch_kind(request: &Request) -> Result<PatchKind, Failure> {
    let given = essence(request.content_type().unwrap_or_default());
    PATCHES.iter().find(|(name, _)| *name == given).map(|(_, kind)| *kind).ok_or_else(|| {
        let known: Vec<&str> = PATCHES.iter().map(|(name, _)| *name).collect();
        Failure::new(
            Reason::UnsupportedMediaType,
            format!("415: Unsupported Media Type\n\na patch is one of {}", known.join(", ")),
        )
    })
}

pub(crate) fn patch_options(request: &Request, kind: PatchKind) -> Result<WriteOptions, Failure> {
    let options = request.query.write_options("PatchOptions")?;
    let fault = |reason: &str, field: &str, message: &str| {
        Failure::invalid_option("PatchOptions", reason, field, message)
    };
    if kind == PatchKind::Apply && options.manager.is_none() {
        return Err(fault(
            "FieldValueRequired",
            "fieldManager",
            "Required value: is required for apply patch",
        ));
    }
    if kind != PatchKind::Apply
        && (request.query.get("force").is_some() || request.query.get("force-path").is_some())
    {
        return Err(fault(
            "FieldValueForbidden",
            "force",
            "Forbidden: may not be specified for non-apply patch",
        ));
    }
    Ok(options)
}

/// Which contested fields an apply takes.
pub(crate) enum Forced {
    No,
    All,
    Paths(FieldSet),
}

impl Forced {
    pub fn as_force(&self) -> Force<'_> {
        match self {
            Forced::No => Force::No,
            Forced::All => Force::All,
            Forced::Paths(paths) => Force::Paths(paths),
        }
    }
}

pub(crate) fn forced(target: &Target, request: &Request, config: &Value) -> Result<Forced, Failure> {
    if request.query.flag("force") {
        return Ok(Forced::All);
    }
    let of = target.served.type_ref();
    let mut paths = FieldSet::default();
    for text in request.query.all("force-path") {
        let path = Path::parse_in(text, of, Some(config)).map_err(|error| {
            let message = format!("Invalid value: {text:?}: {error}");
            Failure::invalid_option("PatchOptions", "FieldValueInvalid", "force-path", message)
        })?;
        paths.insert(path.elements());
    }
    Ok(if paths.is_empty() { Forced::No } else { Forced::Paths(paths) })
}

pub(crate) fn patch_body(request: &Request, options: &WriteOptions) -> Result<body::Read, Failure> {
    let mut read = body::parse(&request.body, Encoding::Json)
        .map_err(|why| Failure::bad_request(format!("error decoding patch: {why}")))?;
    if options.validation == FieldValidation::Ignore {
        read.strict_errors.clear();
    }
    Ok(read)
}

/// Returns what a patch makes of the live object.
pub(crate) fn patched(
    target: &Target,
    shown: &Value,
    patch: &Value,
    kind: PatchKind,
) -> Result<Value, Failure> {
    let result = match kind {
        PatchKind::Json => tenure_patch::json::apply(shown, patch, &tenure_patch::json::Options::default()),
        PatchKind::Merge => {
            if patch.as_object().is_none() {
                return Err(Failure::bad_request(format!(
                    "a merge patch is an object, got {}",
                    patch.kind()
                )));
            }
            Ok(tenure_patch::merge::apply_kubernetes(shown, patch))
        }
        PatchKind::Strategic | PatchKind::Apply => {
            strategic::apply(shown, patch, target.served.type_ref(), &strategic_options())
        }
    };
    result.map_err(|error| patch_failure(target, &error))
}

/// Returns how strategic merge patches are applied.
fn strategic_options() -> strategic::ApplyOptions {
    let mut behavior = strategic::Behavior::tenure();
    // Clients of a kube-apiserver must work here, however they spell `$patch`.
    behavior.reject_unknown_patch_values = false;
    strategic::ApplyOptions::default().behavior(behavior)
}

/// Translates what a patch is refused for.
fn patch_failure(target: &Target, error: &PatchError) -> Failure {
    let resource = &target.served.resource;
    match error.class() {
        ErrorClass::BadPatch => Failure::bad_request(error.to_string()),
        ErrorClass::TooLarge => Failure::new(Reason::RequestEntityTooLarge, error.to_string()),
        _ => Failure::new(Reason::Invalid, error.to_string()).about(
            &resource.group,
            &resource.kind,
            &target.name,
        ),
    }
}

/// Checks that a body's name is the path's.
pub(crate) fn check_name(target: &Target, object: &Value) -> Result<(), Failure> {
    match meta_text(object, "name") {
        "" => Err(Failure::bad_request(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            target.name
        ))),
        name if name == target.name => Ok(()),
        name => Err(Failure::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            target.name
        ))),
    }
}

/// Checks that the uid in the body of a PUT, if there is one, is that of the live object.
fn check_uid(target: &Target, live: &Stored, object: &Value) -> Result<(), Failure> {
    let (given, is) = (meta_text(object, "uid"), meta_text(&live.object, "uid"));
    if given.is_empty() || given == is {
        return Ok(());
    }
    let resource = &target.served.resource;
    let (namespace, name) = (&target.namespace, &target.name);
    let place = if namespace.is_empty() { name.to_string() } else { format!("{namespace}/{name}") };
    Err(target.conflict(&format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{}/{place}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {given}, UID in object meta: {is}",
        resource.name
    )))
}

/// Writes the conflicts of an apply: the message and the causes that clients know, and in each cause what helps
/// a person decide.
pub(crate) fn conflict(target: &Target, conflicts: &Conflicts) -> Failure {
    let resource = &target.served.resource;
    let object = Value::object([
        ("apiVersion", Value::from(resource.api_version.clone())),
        ("kind", Value::from(resource.kind.clone())),
        ("namespace", Value::from(target.namespace.clone())),
        ("name", Value::from(target.name.clone())),
    ]);
    let causes = conflicts.causes().into_iter().map(|cause| {
        let about = conflicts.iter().find(|conflict| conflict.path.to_string() == cause.field);
        Cause {
            reason: "FieldManagerConflict".into(),
            message: cause.message,
            field: cause.field,
            extension: about.map(|conflict| explanation(conflict, &object)),
        }
    });
    Failure::new(Reason::Conflict, conflicts.to_string()).with_causes(causes.collect())
}

fn explanation(conflict: &Conflict, object: &Value) -> Value {
    let mut fields =
        vec![("object", object.clone()), ("owners", Value::array(conflict.owners.iter().map(owner)))];
    if let Some(live) = &conflict.live {
        fields.push(("live", live.clone()));
    }
    if let Some(proposed) = &conflict.proposed {
        fields.push(("proposed", proposed.clone()));
    }
    Value::object(fields)
}

pub(crate) fn owner(owner: &Owner) -> Value {
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
