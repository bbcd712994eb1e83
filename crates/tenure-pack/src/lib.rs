//! Writes the pack of built-in types. Sources in different forms are brought into one OpenAPI v3 document,
//! which is compiled like any other; nothing here knows how types are compiled or packed.
//!
//! ```text
//! facts (facts.rs) ────────────────┐
//!                                  ├─ OpenAPI v3 ─ recommended keys ─ compile ─ pack
//! definitions (definitions.rs) ────┘
//! ```
//!
//! To write the built-in pack again, from the facts alone or with the types that a server hides by default:
//!
//! ```text
//! cargo run -p tenure-pack -- --schema crates/tenure-pack/data/kubernetes-1.36.json \
//!     --out crates/tenure-schema/data/kubernetes-1.36.pack
//!
//! pip download --no-deps kubernetes-validate && unzip kubernetes_validate-*.whl '*/v1.36.0-local/_definitions.json'
//! cargo run -p tenure-pack -- --schema crates/tenure-pack/data/kubernetes-1.36.json \
//!     --definitions kubernetes_validate/kubernetes-json-schema/v1.36.0-local/_definitions.json --out all.pack
//! ```
//!
//! Of a version without recorded facts the definitions alone make a pack, without defaults and enums.

mod definitions;
mod facts;
mod recommended;

pub use recommended::TABLE as RECOMMENDED_KEYS;

use tenure_schema::{Schema, SchemaError, openapi};
use tenure_value::{Object, Value};

/// Why a source cannot be brought into an OpenAPI document.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// Something in the source has no meaning to this command.
    #[error("{at}: {what}; {expected}")]
    Source {
        /// The type, field or file.
        at: String,
        /// What is there.
        what: String,
        /// What would be right.
        expected: &'static str,
    },
    /// The document that came out of the source does not compile.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// Compiles facts, completed by definitions where there are some: types that only the definitions have
/// are added, defaults and enums that only the facts have are kept.
pub fn compile(facts: Option<&Value>, definitions: Option<&Value>) -> Result<Schema, PackError> {
    let recorded = facts.map(facts::schemas).transpose()?;
    let published = definitions.map(definitions::schemas).transpose()?;
    let schemas = match (recorded, published) {
        (Some(recorded), Some(published)) => definitions::complete(&published, &recorded),
        (Some(schemas), None) | (None, Some(schemas)) => schemas,
        (None, None) => Object::default(),
    };
    let schemas = recommended::mark(&schemas)?;
    let document = Value::object([("components", Value::object([("schemas", schemas.into())]))]);
    Ok(openapi::compile_v3(&document)?)
}

/// The prefix of references in the document that sources are brought into.
const REFERENCE: &str = "#/components/schemas/";
