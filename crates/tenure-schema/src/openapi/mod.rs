//! Compiles types from OpenAPI documents. Versions 2 and 3 differ in the location of definitions and the
//! format of references; the rest of the compiler is shared.
//!
//! The mapping in short:
//!
//! | in the document | type |
//! |---|---|
//! | `properties` | struct |
//! | `type: object` with `additionalProperties` alone | map |
//! | `type: object` and no more | atomic struct without declared fields that preserves unknown fields |
//! | `type: array` | list; `x-kubernetes-list-type`, else the patch markers, else atomic |
//! | `type: string` and so on | scalar |
//! | `x-kubernetes-int-or-string`, `format: int-or-string`, `oneOf` integer and string | scalar, int-or-string |
//! | `oneOf` string and number | scalar, quantity |
//! | `$ref`, `allOf` with one reference | its target, with the markers beside it |
//! | none of these | untyped |

pub(crate) mod compiler;
mod custom;
pub(crate) mod marks;
pub(crate) mod place;
mod shape;

use crate::{Schema, SchemaError, TypeId};
use compiler::{Compiler, Definitions};
use tenure_value::Value;

/// Compiles the definitions of an OpenAPI v3 document.
///
/// ```
/// use tenure_schema::openapi;
/// use tenure_value::{Limits, json};
///
/// let document = json::parse(
///     br##"{"components": {"schemas": {"Widget": {
///         "type": "object",
///         "properties": {"colours": {
///             "type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}},
///         "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}]
///     }}}}"##,
///     &Limits::default(),
/// )?;
/// let schema = openapi::compile_v3(&document)?;
/// assert!(schema.kind("example.com/v1", "Widget").unwrap().field("colours").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compile_v3(document: &Value) -> Result<Schema, SchemaError> {
    let schemas = document.get("components").and_then(|components| components.get("schemas"));
    compile_document(schemas, "components.schemas", "#/components/schemas/")
}

/// Compiles the definitions of an OpenAPI v2 document.
pub fn compile_v2(document: &Value) -> Result<Schema, SchemaError> {
    compile_document(document.get("definitions"), "definitions", "#/definitions/")
}

/// Compiles a standalone schema and returns the id of its type; references are resolved in its own `$defs`.
pub fn compile_one(schema: &Value) -> Result<(Schema, TypeId), SchemaError> {
    let definitions = match schema.get("$defs") {
        Some(definitions) => Definitions::new(definitions, "$defs", "#/$defs/")?,
        None => Definitions::none(),
    };
    let mut compiler = Compiler::new(definitions);
    let root = compiler.root(schema, "schema")?;
    Ok((compiler.finish()?, root))
}

fn compile_document(
    schemas: Option<&Value>,
    place: &'static str,
    prefix: &'static str,
) -> Result<Schema, SchemaError> {
    let schemas = schemas.ok_or(SchemaError::NoSchemas {
        what: "the document",
        place,
        expected: "its types are expected there",
    })?;
    let mut compiler = Compiler::new(Definitions::new(schemas, place, prefix)?);
    compiler.all_definitions()?;
    compiler.finish()
}
