//! The built-in kinds as data, and the one engine that interprets it: which resources there are, how an
//! object is decoded, defaulted and encoded, what each endpoint resets, what is invalid, and how a table
//! shows it. No HTTP, no store, no clock: times, uids and allocations come in as arguments.

pub mod allocate;
mod convert;
mod discovery;
mod engine;
mod metadata;
mod object;
mod pack;
mod part;
mod registry;
pub mod scalar;
mod service;
mod strategy;
mod table;
mod validate;

pub use discovery::{Root, api_group, api_group_list, api_resource_list, api_versions, group_discovery_list};
pub use engine::Kinds;
pub(crate) use object::{Before, Rebuild, map_items};
pub use object::{DecodeError, Decoded, FieldPath, Surroundings};
pub(crate) use pack::Row;
pub use part::Part;
pub use registry::{Bumps, Group, Names, Registry, Resource, Scope, StatusOnCreate, Strategy, Subresource};
pub use strategy::{Endpoint, Identity};
pub use table::{Column, Table};
pub use validate::{FaultKind, FieldError, failure_of};
pub(crate) use validate::{version_fault, webhook_url_faults};
