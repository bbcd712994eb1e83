//! The short way to server-side apply: one manager, its defaults, and objects with their `managedFields` inside.

use crate::{
    ApplyError, Force, Live, Managers, Presence, ResetFields, Settled, SingleVersion, State, Timestamp,
    Versions, Write, apply,
};
use serde::{Serialize, de::DeserializeOwned};
use tenure_fields::FieldSet;
use tenure_profile::Profile;
use tenure_schema::{Schema, TypeRef};
use tenure_value::{Object, Text, Value};

/// Applies configurations as one field manager.
///
/// Objects are anything that serde can turn into a document with `apiVersion`, `kind` and `metadata`: the types of
/// `k8s-openapi`, `kube::core::DynamicObject`, types derived with `kube::CustomResource`, or [`Value`]. The types of the
/// built-in kinds come with the feature `builtin`; for custom resources give their schema.
///
/// ```
/// # #[cfg(feature = "builtin")] {
/// use tenure_apply::{Applier, Timestamp};
/// use tenure_value::Value;
///
/// let desired: Value = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
///     "data": {"k": "v"}}"#.parse().unwrap();
/// let applier = Applier::new("my-controller").at(Timestamp::from_unix(1_800_000_000));
/// let created = applier.apply(None, &desired)?;
/// assert!(created.changed);
/// let again = applier.apply(&created.object, &desired)?;
/// assert!(!again.changed);
/// # }
/// # Ok::<(), tenure_apply::ApplyError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Applier<'a> {
    manager: &'a str,
    subresource: &'a str,
    now: Option<Timestamp>,
    force: Force<'a>,
    reset: &'a ResetFields,
    profile: Profile,
    schema: Option<&'a Schema>,
    versions: Option<&'a dyn Versions>,
}

/// The result of an apply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Applied<T> {
    /// The object with `metadata.managedFields`, before defaults and validation.
    pub object: T,
    /// The same managers, parsed.
    pub managers: Managers,
    /// Whether the object or the owners of its fields differ from the live ones.
    pub changed: bool,
}

impl<'a> Applier<'a> {
    /// Returns an applier for a manager, which forces nothing, leaves out the time and does what kube-apiserver does.
    pub fn new(manager: &'a str) -> Applier<'a> {
        Applier {
            manager,
            subresource: "",
            now: None,
            force: Force::No,
            reset: &ResetFields::None,
            profile: Profile::kubernetes(),
            schema: None,
            versions: None,
        }
    }

    /// Takes all contested fields from their owners.
    pub fn force(self) -> Applier<'a> {
        Applier { force: Force::All, ..self }
    }

    /// Takes contested fields at and below these paths from their owners.
    pub fn force_paths(self, paths: &'a FieldSet) -> Applier<'a> {
        Applier { force: Force::Paths(paths), ..self }
    }

    /// Sets the time that the manager's entry shows.
    pub fn at(self, now: Timestamp) -> Applier<'a> {
        Applier { now: Some(now), ..self }
    }

    /// Applies through a subresource, such as `status`, which resets other fields than the object itself.
    pub fn subresource(self, name: &'a str, reset: &'a ResetFields) -> Applier<'a> {
        Applier { subresource: name, reset, ..self }
    }

    /// Leaves these fields as they are in the live object, regardless of the configuration.
    pub fn reset(self, reset: &'a ResetFields) -> Applier<'a> {
        Applier { reset, ..self }
    }

    /// Improves on Kubernetes as a profile says.
    pub fn profile(self, profile: Profile) -> Applier<'a> {
        Applier { profile, ..self }
    }

    /// Takes the types of kinds from a schema instead of the built-in one.
    pub fn schema(self, schema: &'a Schema) -> Applier<'a> {
        Applier { schema: Some(schema), ..self }
    }

    /// Takes types from, and converts objects by, the versions of one kind. Needed if managers use several versions.
    pub fn versions(self, versions: &'a dyn Versions) -> Applier<'a> {
        Applier { versions: Some(versions), ..self }
    }

    /// Applies a configuration to the live object, or creates the object if there is none.
    ///
    /// Fails with [`ApplyError::Conflicts`] if others own fields that would change.
    pub fn apply<'o, T>(
        &self,
        live: impl Into<Option<&'o T>>,
        desired: &'o T,
    ) -> Result<Applied<T>, ApplyError>
    where
        T: Serialize + DeserializeOwned + 'o,
    {
        let config = tenure_value::to_value(desired).map_err(ApplyError::Document)?;
        let live = live.into().map(tenure_value::to_value).transpose().map_err(ApplyError::Document)?;
        let (state, changed) = self.apply_values(live.as_ref(), &config)?;
        let object = with_managers(&state.object, &state.managers);
        let object = tenure_value::from_value(&object).map_err(ApplyError::Document)?;
        Ok(Applied { object, managers: state.managers, changed })
    }

    fn apply_values(&self, live: Option<&Value>, config: &Value) -> Result<(State, bool), ApplyError> {
        let text = |name: &'static str| {
            let found = config.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            found.ok_or(ApplyError::NoKind { field: name })
        };
        let (api_version, kind) = (text("apiVersion")?, text("kind")?);
        let one;
        let versions: &dyn Versions = match self.versions {
            Some(versions) => versions,
            None => {
                let unknown =
                    || ApplyError::UnknownKind { api_version: api_version.into(), kind: kind.into() };
                one = SingleVersion::new(api_version, self.type_of(api_version, kind).ok_or_else(unknown)?);
                &one
            }
        };
        let empty = self.empty_object(api_version, kind);
        let write = Write {
            manager: self.manager,
            api_version,
            subresource: self.subresource,
            now: self.now,
            versions,
            reset: self.reset,
            empty: &empty,
            profile: self.profile,
        };
        let (object, managers) = match live {
            Some(live) => without_managers(live)?,
            None => (empty.clone(), Managers::default()),
        };
        let presence = if live.is_some() { Presence::Stored } else { Presence::New };
        let live = Live { object: &object, managers: &managers, presence };
        Ok(match apply(live, config, &write, self.force)?.settle(live) {
            Settled::Changed(state) => (state, true),
            Settled::Unchanged(state) => (state, false),
        })
    }

    fn type_of(&self, api_version: &str, kind: &str) -> Option<TypeRef<'a>> {
        match self.schema {
            Some(schema) => schema.kind(api_version, kind),
            #[cfg(feature = "builtin")]
            None => Schema::builtin_at(self.profile.version()).kind(api_version, kind),
            #[cfg(not(feature = "builtin"))]
            None => None,
        }
    }

    /// Returns the object of a kind in which nothing is set. Only built-in kinds write fields that are not set.
    fn empty_object(&self, api_version: &str, kind: &str) -> Value {
        #[cfg(feature = "builtin")]
        if self.schema.is_none()
            && let Some(empty) = tenure_schema::builtin::empty_object(
                Schema::builtin_at(self.profile.version()),
                api_version,
                kind,
            )
        {
            return empty;
        }
        Value::object([("apiVersion", Value::from(api_version)), ("kind", Value::from(kind))])
    }
}

/// Splits an object into itself and its managers.
fn without_managers(object: &Value) -> Result<(Value, Managers), ApplyError> {
    let Some(managed) = object.at(["metadata", "managedFields"]) else {
        return Ok((object.clone(), Managers::default()));
    };
    let managers = Managers::from_value(managed)?;
    let (Some(fields), Some(metadata)) =
        (object.as_object(), object.get("metadata").and_then(Value::as_object))
    else {
        return Ok((object.clone(), managers));
    };
    let metadata = metadata.without("managedFields");
    Ok((Value::Object(fields.with(Text::new_static("metadata"), metadata)), managers))
}

fn with_managers(object: &Value, managers: &Managers) -> Value {
    let fields = object.as_object().cloned().unwrap_or_default();
    if managers.is_empty() {
        return Value::Object(fields);
    }
    let metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_else(Object::default);
    let metadata = metadata.with(Text::new_static("managedFields"), managers.to_value());
    Value::Object(fields.with(Text::new_static("metadata"), metadata))
}
