//! The strategy of built-in resources: the engine of the built-in kinds, applied to one resource in one
//! version.

use crate::{Column, Kinds, added_fields::AddedField, completed_on_read, warnings};
use std::sync::{Arc, OnceLock};
use tenure_meta::{
    ConversionError, CreateContext, DecodeError, Decoded, Endpoint, FieldError, Previous, ResetFields,
    Resource, ScalePaths, Strategy, Timestamp,
};
use tenure_profile::Profile;
use tenure_schema::{Schema, TypeRef};
use tenure_value::{Text, Value};

/// The default termination grace period, in seconds.
const DEFAULT_GRACE_PERIOD_SECONDS: i64 = 30;

/// The strategy of one built-in resource in one version.
pub struct BuiltinStrategy {
    resource: Arc<Resource>,
    kinds: &'static Kinds,
    /// The resource in its storage version, if that differs.
    storage: Option<Arc<Resource>>,
    empty: OnceLock<Value>,
    /// How definitions of custom resources are checked.
    definitions: Profile,
    /// What another version stores otherwise.
    added: Option<&'static AddedField>,
}

impl BuiltinStrategy {
    /// Creates the strategy of a resource at the version of a profile; definitions of custom resources are checked with the given
    /// behaviour.
    pub fn new(resource: Arc<Resource>, definitions: Profile) -> BuiltinStrategy {
        let kinds = Kinds::at(definitions.version());
        let storage = kinds
            .registry()
            .storage_of(&resource)
            .filter(|stored| stored.api_version != resource.api_version);
        let (storage, added) = (storage.cloned(), AddedField::of(&resource, definitions.version()));
        BuiltinStrategy { storage, resource, kinds, empty: OnceLock::new(), definitions, added }
    }

    /// Returns the resource in a version.
    fn at(&self, api_version: &str) -> Option<&Arc<Resource>> {
        self.kinds.registry().forms_of(&self.resource).find(|form| form.api_version == api_version)
    }

    fn converted(&self, object: &Value, from: &Resource, to: &Resource) -> Result<Value, ConversionError> {
        self.kinds.convert(object, from, to).map_err(|reason| ConversionError::Failed {
            from: from.api_version.clone(),
            to: to.api_version.clone(),
            reason,
        })
    }

    fn schema(&self) -> &'static Schema {
        Schema::builtin_at(self.definitions.version())
    }

    fn is_definition(&self) -> bool {
        self.resource.group == "apiextensions.k8s.io" && self.resource.name == "customresourcedefinitions"
    }
}

impl Strategy for BuiltinStrategy {
    fn resource(&self) -> &Arc<Resource> {
        &self.resource
    }

    fn type_at(&self, api_version: &str) -> Option<TypeRef<'_>> {
        if api_version == self.resource.api_version {
            return Some(self.resource.type_id.map_or_else(TypeRef::untyped, |ty| self.schema().at(ty)));
        }
        let version = self.at(api_version)?;
        self.schema().kind(&version.api_version, &version.kind)
    }

    fn empty(&self) -> Value {
        let make = || self.kinds.stored(&self.resource, &self.kinds.empty(&self.resource));
        self.empty.get_or_init(make).clone()
    }

    fn decode(
        &self,
        body: &Value,
        previous: Previous<'_>,
        now: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>> {
        self.kinds.complete_after(&self.resource, body, previous, now)
    }

    fn prepare_for_create(&self, object: &Value, context: &mut dyn CreateContext) -> Value {
        self.kinds.create(&self.resource, object, context)
    }

    fn prepare_for_update(
        &self,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
        context: &mut dyn CreateContext,
    ) -> Value {
        self.kinds.prepare_update(&self.resource, endpoint, old, new, context)
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = self.kinds.validate_create(&self.resource, object);
        if self.is_definition() {
            errors.extend(tenure_crd::check_create(object, self.definitions));
        }
        errors.extend(warnings::manifest_name_fault(&self.resource, object, self.definitions.version()));
        errors
    }

    fn validate_update(
        &self,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
        previous: Previous<'_>,
        now: Timestamp,
        _: &mut Vec<String>,
    ) -> Vec<FieldError> {
        let mut errors = self.kinds.validate_update_after(&self.resource, endpoint, old, new, previous, now);
        if self.is_definition() && endpoint == Endpoint::Main {
            errors.extend(tenure_crd::check_update(new, old, self.definitions));
        }
        errors
    }

    fn metadata_checks(&self) -> usize {
        self.kinds.metadata_checks(&self.resource)
    }

    fn deprecation_warning(&self) -> &str {
        warnings::of_resource(&self.resource)
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let warnings = warnings::of_object(&self.resource, object, old, self.definitions.version());
        match self.is_definition() {
            true => {
                let version = self.definitions.version();
                warnings.into_iter().chain(tenure_crd::schema_warnings(version, object, old)).collect()
            }
            false => warnings,
        }
    }

    fn reset_fields(&self, endpoint: Endpoint<'_>) -> ResetFields {
        if endpoint == Endpoint::Scale {
            return ResetFields::None;
        }
        ResetFields::these(self.kinds.reset_fields(&self.resource, endpoint).iter().map(Vec::as_slice))
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError> {
        let written = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let at = |version: &str| {
            self.at(version).ok_or_else(|| ConversionError::UnknownVersion(Text::new(version)))
        };
        self.converted(object, at(written)?, at(api_version)?)
    }

    fn from_storage(&self, stored: &Value) -> Result<Value, ConversionError> {
        match &self.storage {
            Some(storage) => self.converted(stored, storage, &self.resource),
            None => Ok(stored.clone()),
        }
    }

    fn canonicalize(&self, object: Value, previous: Previous<'_>) -> Value {
        // Defaults of the other form are filled in when it is read.
        if let Some((hub, converted)) = self.kinds.in_hub(&self.resource, &object)
            && let Ok(completed) = self.kinds.complete(hub, &converted, Timestamp::default())
            && let Ok(back) = self.kinds.convert(&completed.value, hub, &self.resource)
        {
            return back;
        }
        self.kinds.stored_after(&self.resource, &object, previous)
    }

    fn to_storage(&self, object: &Value, previous: Previous<'_>) -> Result<Value, ConversionError> {
        let object = self.kinds.stored_after(&self.resource, object, previous);
        match &self.storage {
            Some(storage) => self.converted(&object, &self.resource, storage),
            None => Ok(object),
        }
    }

    fn stores_as_served(&self) -> bool {
        self.storage.is_none()
    }

    fn is_read_as_stored(&self, text: &[u8]) -> bool {
        self.added.is_none_or(|added| added.is_settled(text, self.definitions.version()))
    }

    fn as_read(&self, stored: &Value) -> Option<Value> {
        self.added?.read(stored, self.definitions.version())
    }

    fn is_completed_on_read(&self, object: &Value) -> bool {
        completed_on_read::is_completed_on_read(&self.resource, object)
    }

    fn noop_apply_is_final(&self) -> bool {
        // The status of definitions changes with every write.
        self.stores_as_served() && !self.is_definition()
    }

    fn termination_grace_period(&self, object: &Value, requested: Option<i64>) -> Option<i64> {
        if !self.resource.strategy.graceful_deletion {
            return None;
        }
        let text = |path: [&str; 2]| object.at(path).and_then(Value::as_str).unwrap_or_default();
        let is_scheduled = !text(["spec", "nodeName"]).is_empty();
        if !is_scheduled || matches!(text(["status", "phase"]), "Succeeded" | "Failed") {
            return Some(0);
        }
        let own = object.at(["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
        Some(requested.or(own).unwrap_or(DEFAULT_GRACE_PERIOD_SECONDS).max(0))
    }

    fn scale_paths(&self) -> Option<ScalePaths> {
        self.resource.subresource("scale")?;
        let path = |names: [&str; 2]| names.map(Text::new).into();
        Some(ScalePaths {
            spec: path(["spec", "replicas"]),
            status: path(["status", "replicas"]),
            selector: path(["spec", "selector"]),
        })
    }

    fn table_columns(&self) -> Value {
        Value::array(self.kinds.table(&self.resource).columns().iter().map(Column::definition))
    }

    fn table_cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        self.kinds.table(&self.resource).cells(object, now)
    }

    fn list_item(&self, object: Value) -> Value {
        // Items of built-in kinds have no apiVersion and kind, since the list has them.
        match object {
            Value::Object(fields) => fields.without("apiVersion").without("kind").into(),
            other => other,
        }
    }
}
