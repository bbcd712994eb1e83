//! The built-in Kubernetes kinds as data, and the engine that interprets it: resources, decoding, defaulting,
//! encoding, reset fields, validation, conversion between versions, and tables.
//!
//! The crate does not know HTTP or storage and reads no clock: times, uids and allocations are arguments.
//! Rows are compiled when they are first used; [`Kinds::check`] compiles all of them, as tests do.
//!
//! The crate exists because kinds are data that is checked alone, and its border keeps them out of all other code. Internal: no
//! promises about its API.

mod added_fields;
pub mod allocate;
mod completed_on_read;
mod convert;
mod data;
pub mod default_objects;
mod defaulting;
mod discovery;
mod disruption;
mod engine;
mod issued_certificate;
mod part;
mod registry;
pub mod role;
pub mod service;
mod status;
mod strategy;
mod table;
mod update;
mod validate;
mod validation;
mod versions;
mod warnings;
mod x509;

pub use data::DataError;
pub use discovery::{Root, api_group, api_group_list, api_resource_list, api_versions, group_discovery_list};
pub use disruption::disrupted;
pub use engine::Kinds;
pub use issued_certificate::{IssuedCertificate, issued_certificate};
pub use part::Part;
pub use registry::{registry, registry_at};
pub use strategy::BuiltinStrategy;
pub use table::{Column, Table};
pub use tenure_meta::{
    CreateContext, DecodeError, Decoded, Endpoint, FieldError, FieldErrorKind, FieldPath, Group, Previous,
    Registry, Resource, Scope, Strategy, Subresource, SystemMetadata as Identity, ValueExt,
};
pub use validate::invalid_struct;
pub use versions::at as at_version;

/// Scalars that are written as strings.
pub mod scalar {
    pub use tenure_meta::{Quantity, Timestamp, base64, quantity, time};
}
