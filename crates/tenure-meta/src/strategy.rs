//! The behavior of the objects of a resource when they are written and read. Built-in kinds and custom
//! resources implement the same trait, so request handlers do not distinguish them.

use crate::{
    DecodeError, Decoded, FieldError, FieldErrors, IpFamily, Previous, Resource, SelectableField,
    SystemMetadata, Timestamp, object_meta, update,
};
use std::sync::Arc;
pub use tenure_apply::ResetFields;
use tenure_schema::TypeRef;
use tenure_value::{Object, Text, Value};

/// The endpoint of a write.
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

/// The context of a write: clock, request, allocations.
pub trait CreateContext {
    /// Returns the time of the request.
    fn now(&self) -> Timestamp;
    /// Returns the uid of the object being created.
    fn uid(&self) -> Text;
    /// Returns value and preemption policy of a priority class, if it exists.
    fn priority_class(&self, name: &str) -> Option<(i64, Text)>;
    /// Returns the families of which services get addresses, first the one that they get by default.
    fn ip_families(&self) -> &[IpFamily] {
        &[IpFamily::V4]
    }
    /// Allocates a cluster IP of a family for a service.
    fn cluster_ip(&mut self, family: IpFamily) -> Option<Text>;
    /// Whether a new object gets addresses and ports; not if a write of its status creates it.
    fn allocates(&self) -> bool {
        true
    }
    /// Allocates a node port for a new service.
    fn node_port(&mut self) -> Option<u16>;
    /// Returns name, uid and groups of the requesting user.
    fn requester(&self) -> (Text, Text, Vec<Text>);
    /// Whether the rules of an admission plugin apply.
    fn runs_plugin(&self, _name: &str) -> bool {
        true
    }
}

/// The paths of the scale of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The path of the desired replicas.
    pub spec: Box<[Text]>,
    /// The path of the observed replicas.
    pub status: Box<[Text]>,
    /// The path of the selector; empty if there is none.
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
    /// The object cannot be represented in the version.
    #[error("cannot convert from {from} to {to}: {reason}")]
    Failed {
        /// The version of the object.
        from: Text,
        /// The wanted version.
        to: Text,
        /// The reason.
        reason: String,
    },
}

/// How the objects of a resource, in one of its versions, are decoded, defaulted, validated, converted and shown.
///
/// `previous` is the live object as far as the strategy has processed it: parts that share its memory are
/// skipped. [`Previous::UNKNOWN`] is always correct and only slower.
pub trait Strategy: Send + Sync {
    /// Returns the description of the resource.
    fn resource(&self) -> &Arc<Resource>;

    /// Returns the type of the objects in a version, such as `apps/v1`; `None` if there is no such version.
    fn type_at(&self, api_version: &str) -> Option<TypeRef<'_>>;

    /// Returns the empty object.
    fn empty(&self) -> Value;

    /// Decodes a body, or the result of a patch, as an object: wrong types are errors, unknown fields are
    /// dropped and reported, defaults are filled in.
    fn decode(
        &self,
        body: &Value,
        previous: Previous<'_>,
        now: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>>;

    /// Decodes the result of an apply as an object. A `null` that is not allowed is left to validation.
    fn decode_applied(
        &self,
        body: &Value,
        previous: Previous<'_>,
        now: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>> {
        self.decode(body, previous, now)
    }

    /// Returns a new, decoded object with the metadata that the server sets.
    fn with_system_metadata(&self, object: &Value, system: &SystemMetadata) -> Value {
        update::with_system_metadata(self.resource(), object, system)
    }

    /// Returns a new object with everything that its kind fills in; its name, namespace and uid are set.
    fn prepare_for_create(&self, object: &Value, context: &mut dyn CreateContext) -> Value;

    /// Returns the object that an endpoint stores, from the live object and the new one.
    fn prepare_for_update(
        &self,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
        context: &mut dyn CreateContext,
    ) -> Value;

    /// Returns the errors of a new, prepared object.
    fn validate(&self, object: &Value) -> Vec<FieldError>;

    /// Returns the errors of an updated, prepared object, and adds warnings of what is invalid, but was so before.
    fn validate_update(
        &self,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
        previous: Previous<'_>,
        now: Timestamp,
        warnings: &mut Vec<String>,
    ) -> Vec<FieldError>;

    /// Returns the warning about every request for a deprecated version; empty for any other.
    fn deprecation_warning(&self) -> &str {
        ""
    }

    /// Returns how often the metadata of an updated object is validated; so often Kubernetes lists an error in it.
    fn metadata_checks(&self) -> usize {
        1
    }

    /// Returns the warnings about a valid object that is new or replaces another.
    fn warnings(&self, _object: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    /// Returns a valid object as the next read returns it.
    fn canonicalize(&self, object: Value, _previous: Previous<'_>) -> Value {
        object
    }

    /// Returns the fields that an endpoint takes from the live object.
    fn reset_fields(&self, endpoint: Endpoint<'_>) -> ResetFields;

    /// Returns an object in another version.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError>;

    /// Returns a stored object in the version of the resource.
    #[allow(clippy::wrong_self_convention)]
    fn from_storage(&self, stored: &Value) -> Result<Value, ConversionError>;

    /// Returns an object in the storage version, as it is stored.
    fn to_storage(&self, object: &Value, previous: Previous<'_>) -> Result<Value, ConversionError>;

    /// Whether stored objects do not change when they are decoded.
    fn stores_as_served(&self) -> bool;

    /// Whether the text of a stored object shows that it is read as it is, for resources that are stored as they are served.
    fn is_read_as_stored(&self, _text: &[u8]) -> bool {
        true
    }

    /// Returns a stored object as this version of Kubernetes reads it; `None` if that is how it is stored.
    fn as_read(&self, _stored: &Value) -> Option<Value> {
        None
    }

    /// Whether Kubernetes stores such a new object without something that every read fills in.
    fn is_completed_on_read(&self, _object: &Value) -> bool {
        false
    }

    /// Whether an apply that changes nothing needs no further phase of a write.
    fn noop_apply_is_final(&self) -> bool;

    /// Returns the termination grace period in seconds, given the one of a deletion request; `None` for
    /// objects that are deleted immediately.
    fn termination_grace_period(&self, _object: &Value, _requested: Option<i64>) -> Option<i64> {
        None
    }

    /// Returns the paths of the scale; `None` if objects have none.
    fn scale_paths(&self) -> Option<ScalePaths>;

    /// Returns the selectable fields.
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

/// Applies what every update does, given what the endpoint may write.
pub fn finish_update(resource: &Resource, endpoint: Endpoint<'_>, old: &Object, new: &Object) -> Object {
    let new = update::carry_system_metadata(new, old);
    match endpoint {
        Endpoint::Status => new,
        _ => update::with_generation(resource, old, new),
    }
}

/// Returns the errors in the metadata of a new object.
pub fn validate_metadata(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    object_meta::check(resource, object, &mut errors);
    errors.into_vec()
}
