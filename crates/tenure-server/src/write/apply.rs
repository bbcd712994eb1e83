//! Server-side apply: the body is a configuration, and ownership determines what it changes.

use super::{
    Writer, body,
    commit::Written,
    create::check_namespace,
    metadata_checks,
    ownership::{UNWRITTEN, as_live, invalid_version},
    patch_errors::not_a_configuration,
    request::{Next, ObjectUpdate, WriteRequest},
    update::check_name,
};
use crate::read::parse_version;
use tenure_apply::{Force, Live, Managers, Presence, State};
use tenure_catalog::{
    Target,
    object::{Stored, bare, meta_text},
};
use tenure_fields::{FieldSet, Path};
use tenure_http::{FieldValidation, Request, WriteOptions};
use tenure_meta::{ApiError, Endpoint, StatusOnCreate};
use tenure_profile::{Behaviour, Improvement, Profile};
use tenure_value::{Text, Value};

/// A configuration that is applied.
struct Apply {
    config: Value,
    forced: Forced,
    /// The `resourceVersion` that the configuration names, which may be empty.
    version: Option<Text>,
    /// The uid that the configuration expects; empty for any.
    uid: Text,
    /// What is to be said about duplicate keys.
    duplicates: Duplicates,
}

impl ObjectUpdate for Apply {
    fn next(&self, write: &WriteRequest<'_>, live: Option<&Stored>) -> Result<Next, ApiError> {
        let (target, config) = (write.target, &self.config);
        let (empty, none) = (target.handler.empty(), Managers::default());
        let found = match live {
            Some(live) => as_live(live),
            None if write.endpoint != Endpoint::Main && !write.creates_by_status() => {
                // What an update may create is compared with its name first.
                if target.handler.resource.strategy.create_on_update {
                    check_name(target, config)?;
                }
                return Err(target.not_found());
            }
            None => {
                if write.endpoint != Endpoint::Main {
                    check_name(target, config)?;
                }
                self.check_absent_uid(target)?;
                Live { object: &empty, managers: &none, presence: Presence::New }
            }
        };
        let written = live.map_or(UNWRITTEN, |live| live.revision);
        let state = write.ownership(&target.subresource, written, |ownership| {
            tenure_apply::apply(found, config, ownership, self.forced.as_force())
        });
        let state = state.map_err(|error| write.refusal(error, Some(config)))?;
        let state = match live {
            None if target.handler.resource.strategy.status_on_create == StatusOnCreate::Taken
                && !target.handler.is_custom() =>
            {
                with_status(state, config)
            }
            _ => state,
        };
        self.duplicates.check()?;
        // Conflicts are reported before a wrong name or namespace, as recorded. A configuration without a name refers to the object
        // of the path, if that exists.
        if live.is_none() || config.at(["metadata", "name"]).is_some() {
            check_name(target, config)?;
        }
        check_namespace(target, config)?;
        match (live, &self.version) {
            (_, None) => {}
            (Some(live), Some(version)) => write.check_version(live, version)?,
            (None, Some(version)) if version.is_empty() => {}
            (None, Some(version)) => {
                parse_version(version).map_err(|error| invalid_version(version, error))?;
            }
        }
        Ok(Next::Applied(state))
    }
}

impl Apply {
    /// Checks that a configuration of an object that does not exist expects no uid.
    fn check_absent_uid(&self, target: &Target) -> Result<(), ApiError> {
        match self.uid.as_str() {
            "" => Ok(()),
            uid => Err(target.conflict(&format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            ))),
        }
    }
}

impl Writer {
    /// Returns how many documents the text of a configuration may have.
    pub(super) fn applied_documents(&self) -> body::Documents {
        match self.profile.has(Improvement::ClientErrors) {
            true => body::Documents::One,
            false => body::Documents::First,
        }
    }

    /// Performs an apply.
    pub(super) async fn apply(
        &self,
        target: &Target,
        request: &Request,
        options: WriteOptions,
    ) -> Result<Written, ApiError> {
        let mut write = WriteRequest::new(self, target, request, options).into_apply();
        if let Some(written) = self.repeat_apply(&write).await? {
            return Ok(written);
        }
        let is_part = write.endpoint != Endpoint::Main && !target.handler.resource.strategy.create_on_update;
        let read = apply_configuration(&write, self.applied_documents());
        let (config, mut duplicates) = match read {
            // A missing object is reported before an invalid configuration of a part of it.
            Err(_) if is_part && self.objects.read(target).await?.is_none() => return Err(target.not_found()),
            read => read?,
        };
        let forced = forced(target, request, &config, self.profile)?;
        if config.at(["metadata", "managedFields"]).is_some_and(|sent| !sent.is_null()) {
            const NIL: &str = "metadata.managedFields must be nil";
            let refused = ApiError::bad_request(format!("{NIL}; only the server writes it, leave it out"));
            return Err(refused.or_in_kubernetes(ApiError::bad_request(NIL)));
        }
        // An apply that is remembered is not read again, and would not be warned about.
        write.is_remembered = duplicates.is_none();
        let warnings = std::mem::take(&mut duplicates.warnings);
        write.applied_as = (meta_text(&config, "namespace").into(), meta_text(&config, "name").into());
        let apply = Apply {
            forced,
            version: config
                .at(["metadata", "resourceVersion"])
                .map(|_| meta_text(&config, "resourceVersion").into()),
            uid: meta_text(&config, "uid").into(),
            duplicates,
            config: bare(&write.as_read(&config)),
        };
        metadata_checks::check_revision(&config)?;
        let mut written = self.write(&write, &apply).await?;
        written.warnings.extend(warnings);
        Ok(written)
    }
}

/// Reads the configuration of an apply, with what is to be said about duplicate keys.
fn apply_configuration(
    write: &WriteRequest<'_>,
    documents: body::Documents,
) -> Result<(Value, Duplicates), ApiError> {
    let (target, profile) = (write.target, write.profile);
    let parsed = body::parse_applied(write.request, documents, profile)?;
    let duplicates = Duplicates::new(parsed.duplicates, write.options.validation, profile);
    let config = match parsed.value {
        Value::Object(object) => Value::Object(object),
        Value::Null => Value::Object(tenure_value::Object::default()),
        other => {
            return Err(not_a_configuration(&other, word(profile)));
        }
    };
    target.handler.check_applied_kind(&config)?;
    Ok((config, duplicates))
}

/// Returns what errors call a configuration.
fn word(profile: Profile) -> &'static str {
    if profile.behaves(Behaviour::PatchesDecodedFirst) { "patch" } else { "YAML" }
}

/// What is to be said about the duplicate keys of a configuration: warnings, or that they are refused.
#[derive(Default)]
pub(super) struct Duplicates {
    pub warnings: Vec<String>,
    refusal: Option<ApiError>,
}

impl Duplicates {
    pub fn new(duplicates: Vec<String>, validation: FieldValidation, profile: Profile) -> Duplicates {
        let refusal = || {
            let (word, lines) = (word(profile), duplicates.join("\n  "));
            ApiError::bad_request(format!(
                "error strict decoding {word}: error converting YAML to JSON: yaml: unmarshal errors:\n  {lines}"
            ))
        };
        match (validation, duplicates.is_empty()) {
            (FieldValidation::Strict, false) => Duplicates { warnings: Vec::new(), refusal: Some(refusal()) },
            (FieldValidation::Warn, _) => Duplicates { warnings: duplicates, refusal: None },
            _ => Duplicates::default(),
        }
    }

    pub fn is_none(&self) -> bool {
        self.warnings.is_empty() && self.refusal.is_none()
    }

    /// Refuses the configuration, once it is known that nothing else is wrong with it.
    pub fn check(&self) -> Result<(), ApiError> {
        self.refusal.clone().map_or(Ok(()), Err)
    }
}

/// Returns a new object with the status of its configuration: its kind takes one from the client that creates it, and who does not own
/// it. Custom resources that take one have no status endpoint, so that nothing of it is reset.
fn with_status(state: State, config: &Value) -> State {
    match (state.object.as_object(), config.get("status")) {
        (Some(fields), Some(status)) if !status.is_null() => {
            State { object: fields.with("status", status.clone()).into(), managers: state.managers }
        }
        _ => state,
    }
}

/// Which conflicts an apply overrides.
pub(super) enum Forced {
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

/// Returns the fields that a request forces one by one, where that is possible.
pub(super) fn forced_paths(request: &Request, profile: Profile) -> impl Iterator<Item = &Text> {
    request.query.all("force-path").filter(move |_| profile.has(Improvement::ForcePaths))
}

pub(super) fn forced(
    target: &Target,
    request: &Request,
    config: &Value,
    profile: Profile,
) -> Result<Forced, ApiError> {
    if request.query.flag("force") {
        return Ok(Forced::All);
    }
    let ty = target.handler.type_ref();
    let mut paths = FieldSet::default();
    for text in forced_paths(request, profile) {
        let path = Path::parse_in(text, ty, Some(config)).map_err(|error| {
            let message = format!("Invalid value: {text:?}: {error}");
            ApiError::invalid_option("PatchOptions", "FieldValueInvalid", "force-path", message)
        })?;
        paths.insert(path.elements());
    }
    Ok(if paths.is_empty() { Forced::No } else { Forced::Paths(paths) })
}
