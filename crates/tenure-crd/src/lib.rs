//! CustomResourceDefinitions: validation of definitions, and processing of objects with their structural
//! schemas (pruning, defaulting, validation, conversion, table columns, OpenAPI).
//!
//! The crate does not know built-in kinds, HTTP or storage. Times are arguments; conversion webhooks are
//! described and their responses checked, not called.
//!
//! The crate exists because definitions are checked and used without a server: by commands, linters and tests. Internal: no promises
//! about its API.
//!
//! ```
//! use tenure_crd::{Definition, Profile, check_create};
//! use tenure_value::Value;
//!
//! let definition: Value = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
//!   "metadata":{"name":"widgets.example.com"},
//!   "spec":{"group":"example.com","scope":"Namespaced",
//!     "names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
//!     "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
//!       "spec":{"type":"object","default":{},"properties":{"size":{"type":"integer","default":3,"maximum":5}}}}}}}]}}"#.parse()?;
//! assert!(check_create(&definition, Profile::kubernetes()).is_empty());
//! let definition = Definition::read(&definition, Profile::kubernetes())?;
//! let version = definition.version("v1").unwrap();
//! let body: Value = r#"{"apiVersion":"example.com/v1","kind":"Widget","spec":{"colour":"red"}}"#.parse()?;
//! let decoded = version.complete(&body)?;
//! assert_eq!(decoded.value.at(["spec", "size"]), Some(&3.into()));
//! assert_eq!(decoded.strict_errors, ["unknown field \"spec.colour\""]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod correlate;
mod definition;
mod fill;
mod format;
mod json_path;
mod metadata;
mod node;
mod path;
mod pattern;
mod prune;
mod publish;
mod review;
mod rule;
#[allow(missing_docs, private_interfaces)]
pub mod rules;
mod scale;
mod strategy;
mod table;
mod validate;

pub use definition::{
    CLEANUP_FINALIZER, Conversion, Definition, NameUse, NamesInUse, ResourceNames, Version,
    WEBHOOK_TIMEOUT_SECONDS, Webhook, WebhookTarget, accept, accepted_names, check_create, check_update,
    merge_changes, schema_warnings, terminating, unaccepted, version_rank,
};
pub use format::{duration, duration_nanoseconds};
pub use json_path::JsonPath;
pub use path::SimplePath;
pub use review::ConversionReview;
pub use strategy::CustomResourceStrategy;
pub use table::Column;
pub use tenure_profile::{Improvement, Profile};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
