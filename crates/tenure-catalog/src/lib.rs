//! What a server serves, and the objects it stores.
//!
//! [`Catalog`] knows the built-in resources and those that definitions add; a [`Target`] is what one request is about; [`Objects`]
//! reads stored objects at the version that a request names. The crate does not know how a response is made from objects, how a
//! write is decided, or who may make it.
//!
//! The crate exists because reads, writes, admission and access all need to know what is served, and nothing of each other.
//! Internal: no promises about its API.

mod cache;
mod catalog;
mod clock;
mod collection_sizes;
mod continue_token;
pub mod duplicate_key_conflicts;
mod fields_v1_cache;
pub mod history;
mod identifiers;
pub mod object;
mod object_size;
mod objects;
pub mod openapi;
pub mod owner_graph;
pub mod scale_document;
mod scale_table;
mod selector_index;
mod splice;
mod subresource;
mod target;
mod work_queue;

pub use cache::Cache;
pub use catalog::discovery;
pub use catalog::{
    Aggregated, AggregatedVersion, Catalog, Conversions, CustomKind, DEFINITIONS_PREFIX, KindVersions,
    OpenApi3, Priority, ResourceHandler, Snapshot, invalid_object_type, unknown_conversion, unregistered,
    why_unconvertible,
};
pub use clock::Clock;
pub use collection_sizes::{CollectionSize, CollectionSizes};
pub use continue_token::Page;
pub use fields_v1_cache::FieldsV1Cache;
pub use identifiers::Identifiers;
pub use object_size::check_size;
pub use objects::{Objects, read_all_objects, service_addresses, webhook_route};
pub use scale_table::scale_table;
pub use selector_index::{IndexRequest, SelectorIndexes, WatchDispatch};
pub use splice::{Spliced, TypeMeta, splice};
pub use subresource::Subresource;
pub use target::{Target, Verb};
pub use work_queue::WorkQueue;
