//! The strategy of custom resources: a definition, for one of its versions.

use crate::{Conversion, Definition, Version};
use std::sync::Arc;
use tenure_fields::{FieldSet, PathElement};
use tenure_meta::{
    ConversionError, CreateContext, DecodeError, Decoded, Endpoint, FieldError, FieldErrors, Previous,
    ResetFields, Resource, ScalePaths, Seen, Strategy, Timestamp, finish_update, object_meta,
    update::{carry_field, status_update},
    validate_metadata,
};
use tenure_schema::TypeRef;
use tenure_value::{Text, Value};

/// The strategy of a custom resource in one version.
pub struct CustomResourceStrategy {
    resource: Arc<Resource>,
    definition: Arc<Definition>,
    /// The index of the version in the definition.
    version: usize,
    stores_as_served: bool,
}

impl CustomResourceStrategy {
    /// Creates the strategy of a resource; `None` if the definition has no such version. `stored_versions`
    /// come from the status of the definition.
    pub fn new(
        definition: Arc<Definition>,
        resource: Arc<Resource>,
        stored_versions: &[Value],
    ) -> Option<CustomResourceStrategy> {
        let version = definition.versions.iter().position(|version| version.name == resource.version)?;
        let name = Value::from(resource.version.clone());
        let is_storage = definition.storage_version().is_some_and(|storage| storage.name == resource.version);
        let stores_as_served =
            definition.conversion == Conversion::None && is_storage && stored_versions == [name];
        Some(CustomResourceStrategy { resource, definition, version, stores_as_served })
    }

    /// Returns the definition.
    pub fn definition(&self) -> &Arc<Definition> {
        &self.definition
    }

    fn version(&self) -> &Version {
        &self.definition.versions[self.version]
    }
}

/// Returns warnings about new finalizers whose names other writers could use, too.
fn finalizer_warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    const KNOWN: [&str; 2] = ["foregroundDeletion", "orphan"];
    let finalizers = |object: Option<&Value>| -> Vec<String> {
        let list = object.and_then(|object| object.at(["metadata", "finalizers"])).and_then(Value::as_array);
        let list = list.map(|items| items.items()).unwrap_or_default().iter();
        list.filter_map(Value::as_str).map(String::from).collect()
    };
    let had: Seen<String> = finalizers(old).into_iter().collect();
    let new = finalizers(Some(object)).into_iter().filter(|name| !had.contains(name));
    let unqualified = new.filter(|name| !name.contains('/') && !KNOWN.contains(&name.as_str()));
    let warn = |name: String| {
        let path = if name.contains('.') { " including a path (/)" } else { "" };
        format!(
            "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
        )
    };
    unqualified.map(warn).collect()
}

impl Strategy for CustomResourceStrategy {
    fn resource(&self) -> &Arc<Resource> {
        &self.resource
    }

    fn deprecation_warning(&self) -> &str {
        &self.version().deprecation
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        finalizer_warnings(object, old)
    }

    fn type_at(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.definition.type_of(api_version)
    }

    fn empty(&self) -> Value {
        Value::object([
            ("apiVersion", Value::from(self.resource.api_version.clone())),
            ("kind", Value::from(self.resource.kind.clone())),
        ])
    }

    fn decode(
        &self,
        body: &Value,
        previous: Previous<'_>,
        _: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>> {
        self.version().complete_after(body, previous)
    }

    fn decode_applied(
        &self,
        body: &Value,
        previous: Previous<'_>,
        _: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>> {
        self.version().complete_applied_after(body, previous)
    }

    fn prepare_for_create(&self, object: &Value, _: &mut dyn CreateContext) -> Value {
        match object.as_object() {
            Some(fields) if self.version().has_status => fields.without("status").into(),
            _ => object.clone(),
        }
    }

    fn prepare_for_update(
        &self,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
        _: &mut dyn CreateContext,
    ) -> Value {
        let (Some(old), Some(new_fields)) = (old.as_object(), new.as_object()) else { return new.clone() };
        let result = match endpoint {
            Endpoint::Status => status_update(&self.resource, old, new_fields),
            Endpoint::Main if !self.version().has_status => new_fields.clone(),
            Endpoint::Main | Endpoint::Scale | Endpoint::Other(_) => carry_field(new_fields, old, "status"),
        };
        finish_update(&self.resource, endpoint, old, &result).into()
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = validate_metadata(&self.resource, object);
        errors.extend(self.version().validate_create(object));
        errors
    }

    fn validate_update(
        &self,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
        _: Previous<'_>,
        _: Timestamp,
        warnings: &mut Vec<String>,
    ) -> Vec<FieldError> {
        let mut errors = FieldErrors::default();
        object_meta::check_update(&self.resource, old, new, &mut errors);
        // The changes are checked once for every resource, and once for those of definitions.
        if !errors.is_empty() {
            object_meta::check_changes(&self.resource, old, new, &mut errors);
        }
        errors.extend(match endpoint {
            Endpoint::Status => self.version().validate_status_update(new, old, warnings),
            Endpoint::Main | Endpoint::Scale | Endpoint::Other(_) => {
                self.version().validate_update(new, old, warnings)
            }
        });
        errors.into_vec()
    }

    fn canonicalize(&self, object: Value, previous: Previous<'_>) -> Value {
        match self.stores_as_served {
            // Live and new object are complete, so nothing needs defaulting or pruning.
            true => self.version().without_nulls(object, previous),
            false => self.definition.as_read_back(&object, self.version()),
        }
    }

    fn reset_fields(&self, endpoint: Endpoint<'_>) -> ResetFields {
        let mut status = FieldSet::default();
        status.insert(&[PathElement::field("status")]);
        match endpoint {
            Endpoint::Status => ResetFields::AllBut(status),
            Endpoint::Main if self.version().has_status => ResetFields::These(status),
            _ => ResetFields::None,
        }
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError> {
        self.definition.convert(object, api_version).ok_or_else(|| match self.definition.conversion {
            Conversion::None => ConversionError::UnknownVersion(Text::new(api_version)),
            Conversion::Webhook(_) => ConversionError::Webhook {
                from: object.get("apiVersion").and_then(Value::as_str).map(Text::new).unwrap_or_default(),
                to: Text::new(api_version),
            },
        })
    }

    fn from_storage(&self, stored: &Value) -> Result<Value, ConversionError> {
        self.convert(&self.definition.as_written(stored), &self.resource.api_version)
    }

    fn to_storage(&self, object: &Value, _: Previous<'_>) -> Result<Value, ConversionError> {
        let (group, version) = &self.resource.storage;
        self.convert(object, &format!("{group}/{version}"))
    }

    fn stores_as_served(&self) -> bool {
        self.stores_as_served
    }

    fn noop_apply_is_final(&self) -> bool {
        // The result of a webhook is unpredictable, and a rule may reject an unchanged object or warn of it.
        self.definition.conversion == Conversion::None && !self.version().has_rules()
    }

    fn scale_paths(&self) -> Option<ScalePaths> {
        self.version().scale.clone()
    }

    fn table_columns(&self) -> Value {
        self.version().column_definitions()
    }

    fn table_cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        self.version().cells(object, now)
    }
}
