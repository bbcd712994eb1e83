//! Who owns every field of a Kubernetes object: server-side apply, strategic merge patch, blame and history as libraries.
//!
//! This crate is the front door: it re-exports the libraries of Tenure, each behind a feature of its name, and [`prelude`] has what most
//! programs need. With `cargo add tenure --features apply`, `tenure::apply` is the engine of server-side apply, without a server.
//!
//! | feature | module | content |
//! |---|---|---|
//! | (always) | `value` | documents: JSON and YAML |
//! | `schema` | `schema` | how types merge: OpenAPI, CRDs, the built-in kinds |
//! | `fields` | `fields` | field paths and sets, `FieldsV1` |
//! | `patch` | `patch` | strategic merge patch, JSON merge patch, JSON patch |
//! | `apply` | `apply` | server-side apply and update with managers |
//! | `ownership` | `ownership` | blame, explanations, plans, handovers |
//! | `history` | `history` | records of changes, rebuilt versions, fights |
//! | `cel` | `cel` | CEL: parser, type checker, evaluator, cost |
//! | `testing` | `testing` | an API server in the process of a test: forks, clocks, faults |
//!
//! ```
//! # #[cfg(feature = "apply")] {
//! use tenure::prelude::*;
//!
//! let desired: Value = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}"#.parse()?;
//! let created = Applier::new("my-controller").apply(None, &desired)?;
//! assert!(created.changed);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/programs` of the repository has a short program for each feature.
//!
//! The crate exists so that one dependency is enough; it has no code of its own. Public API: what is documented here follows semantic
//! versioning.

#[cfg(feature = "apply")]
pub use tenure_apply as apply;
#[cfg(feature = "cel")]
pub use tenure_cel as cel;
#[cfg(feature = "fields")]
pub use tenure_fields as fields;
#[cfg(feature = "history")]
pub use tenure_history as history;
#[cfg(feature = "ownership")]
pub use tenure_ownership as ownership;
#[cfg(feature = "patch")]
pub use tenure_patch as patch;
#[cfg(feature = "schema")]
pub use tenure_schema as schema;
#[cfg(feature = "testing")]
pub use tenure_testing as testing;
pub use tenure_value as value;

/// What most programs need: `use tenure::prelude::*;`.
pub mod prelude {
    #[cfg(feature = "apply")]
    pub use tenure_apply::{Applied, Applier, ApplyError, Conflicts, Force, Managers};
    #[cfg(feature = "fields")]
    pub use tenure_fields::{FieldSet, Path};
    #[cfg(feature = "ownership")]
    pub use tenure_ownership::{Blame, Explanation, LiveObject, Plan};
    #[cfg(feature = "schema")]
    pub use tenure_schema::{Schema, TypeRef};
    #[cfg(feature = "testing")]
    pub use tenure_testing::{Fault, TestServer};
    pub use tenure_value::{Limits, Object, Text, Value, json, yaml};
}
