//! Generates the pack of built-in types. All sources are converted to one OpenAPI v3 document, which is
//! compiled like any other; this crate does not know how types are compiled or encoded.
//!
//! ```text
//! facts (facts.rs) ────────────────┐
//!                                  ├─ OpenAPI v3 ─ recommended keys ─ compile ─ pack
//! definitions (definitions.rs) ────┘
//! ```
//!
//! To generate the built-in pack, from the facts alone or with the types that a server hides by default:
//!
//! ```text
//! cargo run -p tenure-generate-pack -- --schema tools/generate-pack/data/kubernetes-1.36.json \
//!     --out crates/tenure-schema/data/kubernetes-1.36.pack
//!
//! cargo run -p tenure-generate-pack -- --schema tools/generate-pack/data/kubernetes-1.37.json \
//!     --base tools/generate-pack/data/kubernetes-1.36.json --out crates/tenure-schema/data/kubernetes-1.37.delta
//!
//! cargo run -p tenure-generate-pack -- --schema tools/generate-pack/data/kubernetes-1.36.json \
//!     --only io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta --out crates/tenure-schema/data/metadata.pack
//!
//! pip download --no-deps kubernetes-validate && unzip kubernetes_validate-*.whl '*/v1.36.0-local/_definitions.json'
//! cargo run -p tenure-generate-pack -- --schema tools/generate-pack/data/kubernetes-1.36.json \
//!     --definitions kubernetes_validate/kubernetes-json-schema/v1.36.0-local/_definitions.json --out all.pack
//! ```
//!
//! For a version without recorded facts, the definitions alone result in a pack without defaults and enums.

mod definitions;
mod facts;
mod recommended;

pub use recommended::TABLE as RECOMMENDED_KEYS;

use tenure_schema::{Schema, SchemaBuilder, SchemaError, openapi};
use tenure_value::{Object, Value};

/// Why a source cannot be converted to OpenAPI.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// An unknown or invalid part of a source.
    #[error("{at}: {what}; {expected}")]
    Source {
        /// The type, field or file.
        at: String,
        /// What was found.
        what: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The converted document does not compile.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// Compiles facts, completed by definitions if there are any: types that only the definitions have are added,
/// defaults and enums that only the facts have are kept.
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

/// Returns a schema of one named type and all that it refers to.
pub fn only(schema: &Schema, name: &str) -> Option<Schema> {
    let mut builder = SchemaBuilder::default();
    builder.import(schema.named(name)?);
    Some(builder.finish())
}

/// The prefix of references in the converted document.
const REFERENCE: &str = "#/components/schemas/";
