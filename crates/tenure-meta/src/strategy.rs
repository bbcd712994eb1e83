//! How the objects of one resource behave when they are written and read. Built-in kinds and custom resources
//! implement the same trait, so that nothing that handles requests asks which of them it has.

use crate::{
    DecodeError, Decoded, FieldError, FieldErrors, Previous, Resource, SelectableField, SystemMetadata,
    Timestamp, object_meta, update,
};
use std::sync::Arc;
use tenure_fields::{FieldSet, PathElement};
use tenure_schema::TypeRef;
use tenure_value::{Object, Text, Value};

/// Where an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint<'e> {
    /// The object itself.
    Main,
    /// Its status.
    Status,
    /// Its scale.
    Scale,
    /// Another subresource.
    Other(&'e str),
}

impl<'e> Endpoint<'e> {
    /// Returns the endpoint of a subresource; the empty name is the object itself.
    pub fn of(subresource: &'e str) -> Endpoint<'e> {
        match subresource {
            "" => Endpoint::Main,
            "status" => Endpoint::Status,
            "scale" => Endpoint::Scale,
            other => Endpoint::Other(other),
        }
    }
}

/// What a write takes from outside the object: the clock, the request, allocations.
pub trait CreateContext {
    /// Returns the time of the request.
    fn now(&self) -> Timestamp;
    /// Returns the uid of the object being created.
    fn uid(&self) -> Text;
    /// Returns value and preemption policy of a priority class, if there is one of that name.
    fn priority_class(&self, name: &str) -> Option<(i64, Text)>;
    /// Takes an address for the service being created.
    fn cluster_ip(&mut self) -> Option<Text>;
    /// Takes a node port for the service being created.
    fn node_port(&mut self) -> Option<u16>;
    /// Returns name, uid and groups of the user who makes the request.
    fn requester(&self) -> (Text, Text, Vec<Text>);
}

/// The fields that an endpoint takes from the live object whatever the request says.
#[derive(Clone, Debug)]
pub enum ResetFields {
    /// None.
    None,
    /// These fields.
    These(FieldSet),
    /// All fields but these.
    AllBut(FieldSet),
}

impl ResetFields {
    /// Returns the fields at paths of names.
    pub fn these<'p>(paths: impl IntoIterator<Item = &'p [Text]>) -> ResetFields {
        let mut fields = FieldSet::default();
        for path in paths {
            let path: Vec<PathElement> = path.iter().cloned().map(PathElement::Field).collect();
            fields.insert(&path);
        }
        ResetFields::These(fields)
    }
}

/// Where the scale of an object stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The path of the desired replicas.
    pub spec: Box<[Text]>,
    /// The path of the observed replicas.
    pub status: Box<[Text]>,
    /// The path of the selector; empty where there is none.
    pub selector: Box<[Text]>,
}

/// Why an object is not converted to another version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionError {
    /// A webhook converts the objects; the caller calls it.
    #[error("conversion from {from} to {to} needs the conversion webhook")]
    Webhook {
        /// The version of the object.
        from: Text,
        /// The wanted version.
        to: Text,
    },
    /// The kind has no such version.
    #[error("there is no version {0}")]
    UnknownVersion(Text),
    /// The object cannot be expressed in the version.
    #[error("cannot convert from {from} to {to}: {reason}")]
    Failed {
        /// The version of the object.
        from: Text,
        /// The wanted version.
        to: Text,
        /// What stands in the way.
        reason: String,
    },
}

/// How the objects of a resource, in one of its versions, are decoded, defaulted, validated, converted and shown.
///
/// `previous` is what the strategy has seen of the live object already: parts that are still the same memory are not
/// walked again. [`Previous::UNKNOWN`] is always right and only slower.
pub trait Strategy: Send + Sync {
    /// Returns the description of the resource.
    fn resource(&self) -> &Arc<Resource>;

    /// Returns the type of the objects at a version, such as `apps/v1`; none where there is no such version.
    fn type_at(&self, api_version: &str) -> Option<TypeRef<'_>>;

    /// Returns the object in which nothing is set.
    fn empty(&self) -> Value;

    /// Reads a body, or the result of a patch, as an object: wrong types are errors, unknown fields are dropped and
    /// reported, defaults are filled in.
    fn decode(
        &self,
        body: &Value,
        previous: Previous<'_>,
        now: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>>;

    /// Reads the result of an apply as an object. A `null` that may not be is left for validation.
    fn decode_applied(
        &self,
        body: &Value,
        previous: Previous<'_>,
        now: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>> {
        self.decode(body, previous, now)
    }

    /// Returns a new, decoded object with the metadata that the server gives it.
    fn with_system_metadata(&self, object: &Value, system: &SystemMetadata) -> Value {
        update::with_system_metadata(self.resource(), object, system)
    }

    /// Returns a new object with all that its kind fills in; its name, namespace and uid are set.
    fn prepare_for_create(&self, object: &Value, context: &mut dyn CreateContext) -> Value;

    /// Returns what an endpoint makes of the live object and the new one.
    fn prepare_for_update(
        &self,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
        context: &mut dyn CreateContext,
    ) -> Value;

    /// Returns what is wrong with a new, prepared object.
    fn validate(&self, object: &Value) -> Vec<FieldError>;

    /// Returns what is wrong with a prepared object that replaces another.
    fn validate_update(
        &self,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
        previous: Previous<'_>,
    ) -> Vec<FieldError>;

    /// Returns the warnings about a valid object that is new or replaces another.
    fn warnings(&self, _object: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    /// Returns a valid object as the next read will give it.
    fn canonicalize(&self, object: Value, _previous: Previous<'_>) -> Value {
        object
    }

    /// Returns the fields that an endpoint takes from the live object.
    fn reset_fields(&self, endpoint: Endpoint<'_>) -> ResetFields;

    /// Returns an object at another version.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError>;

    /// Returns a stored object at the version of the resource.
    #[allow(clippy::wrong_self_convention)]
    fn from_storage(&self, stored: &Value) -> Result<Value, ConversionError>;

    /// Returns an object at the version of storage, in the form in which it is stored.
    fn to_storage(&self, object: &Value, previous: Previous<'_>) -> Result<Value, ConversionError>;

    /// Whether stored objects are already what a decode makes of them.
    fn stores_as_served(&self) -> bool;

    /// Whether an apply that changes nothing needs no further phase of a write.
    fn noop_apply_is_final(&self) -> bool;

    /// Returns the seconds that an object is given to end, for the seconds that a deletion asks for; none for objects
    /// that go at once.
    fn termination_grace_period(&self, _object: &Value, _requested: Option<i64>) -> Option<i64> {
        None
    }

    /// Returns where the scale of objects stands; none where they have none.
    fn scale_paths(&self) -> Option<ScalePaths>;

    /// Returns the fields by which lists can be selected.
    fn selectable_fields(&self) -> &[SelectableField] {
        &self.resource().selectable_fields
    }

    /// Returns the definitions of the columns of a table.
    fn table_columns(&self) -> Value;

    /// Returns the cells of an object in a table.
    fn table_cells(&self, object: &Value, now: Timestamp) -> Vec<Value>;

    /// Returns an object as an item of a list.
    fn list_item(&self, object: Value) -> Value {
        object
    }
}

/// Returns what every update makes of an object, given what the endpoint lets through.
pub fn finish_update(resource: &Resource, endpoint: Endpoint<'_>, old: &Object, new: &Object) -> Object {
    let new = update::carry_system_metadata(new, old);
    match endpoint {
        Endpoint::Status => new,
        _ => update::with_generation(resource, old, new),
    }
}

/// Returns what is wrong with the metadata of a new object.
pub fn validate_metadata(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    object_meta::check(resource, object, &mut errors);
    errors.into_vec()
}
