//! The basics that all objects of a Kubernetes API share: errors and their `Status`, errors and paths of fields, label and field
//! selectors, quantities, timestamps, certificates in PEM and DER, the metadata of objects, the codec that decodes documents by
//! their types, and the description of resources.
//!
//! The crate does not know any particular kind, HTTP or storage. It reads no clock: times are arguments.
//!
//! The crate exists because all layers of the server share its types. Internal: no promises about its API.

mod attributes;
pub mod codec;
pub mod der;
mod edit;
mod field_error;
mod field_errors;
mod field_path;
pub mod format;
mod group_version_resource;
mod ip_family;
mod name_filter;
pub mod object_meta;
mod openapi;
mod pem;
mod previous;
pub mod quantity;
mod resource;
mod seen;
mod selector;
mod shard_selector;
mod status;
#[cfg(feature = "store")]
mod store_error;
mod strategy;
pub mod time;
pub mod update;
mod user;
mod value_ext;
pub mod webhook;

pub use attributes::{Attributes, ResourceAttributes, url_covers};
pub use codec::{DecodeError, Decoded};
pub use edit::{Edit, Rebuild, map_items};
pub use field_error::{FieldError, FieldErrorKind};
pub use field_errors::FieldErrors;
pub use field_path::FieldPath;
pub use format::NameFormat;
pub use group_version_resource::GroupVersionResource;
pub use ip_family::IpFamily;
pub use name_filter::NameFilter;
pub use openapi::OpenApiVersion;
pub use pem::{PemBlock, pem_blocks};
pub use previous::{ChangedField, Changes, Previous};
pub use quantity::Quantity;
pub use resource::{
    GenerationTriggers, Group, Refills, Registry, Resource, Scope, StatusOnCreate, StrategyOptions,
    Subresource, api_version,
};
pub use seen::Seen;
pub use selector::{FieldSelector, IndexTerm, IndexedBy, LabelSelector, SelectableField, selector_text};
pub use shard_selector::ShardSelector;
pub use status::{ApiError, Cause, Details, Reason, qualified};
pub use strategy::{
    ConversionError, CreateContext, Endpoint, ResetFields, ScalePaths, Strategy, finish_update,
    validate_metadata,
};
pub use tenure_value::base64;
pub use time::Timestamp;
pub use update::SystemMetadata;
pub use user::{UserInfo, service_account_name};
pub use value_ext::ValueExt;
