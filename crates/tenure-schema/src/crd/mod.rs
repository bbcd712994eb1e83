//! Compiles the types of custom resources from CustomResourceDefinitions. A definition is compiled as stored;
//! [`check_structural`] checks whether it may be stored.
//!
//! Besides the fields of its schema, a custom resource has apiVersion, kind and metadata with the types of
//! built-in objects, and so does every `x-kubernetes-embedded-resource` in it. Keyed lists and sets get the
//! patch markers that correspond to their list type.

mod openapi_rules;
mod structural_rules;
mod violation;

pub use violation::{Reason, RuleOrigin, Violation};

use crate::{Schema, SchemaError, openapi::compiler::Compiler};
use openapi_rules::Position;
use tenure_value::Value;
use violation::{Path, Report};

/// Compiles all versions of a CustomResourceDefinition, each under its own apiVersion.
///
/// ```
/// use tenure_schema::crd;
/// use tenure_value::{Limits, json};
///
/// let definition = json::parse(
///     br#"{"spec": {"group": "example.com", "names": {"kind": "Widget"}, "versions": [{"name": "v1",
///         "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
///             "properties": {"size": {"type": "integer"}}}}}}}]}}"#,
///     &Limits::default(),
/// )?;
/// let schema = crd::compile(&definition)?;
/// let widget = schema.kind("example.com/v1", "Widget").unwrap();
/// assert!(widget.below("spec").and_then(|spec| spec.below("size")).is_some());
/// assert!(widget.below("metadata").and_then(|metadata| metadata.below("labels")).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compile(definition: &Value) -> Result<Schema, SchemaError> {
    let group = text(definition, &["spec", "group"], "spec")?;
    let kind = text(definition, &["spec", "names", "kind"], "spec.names")?;
    let versions = definition.at(["spec", "versions"]).and_then(Value::as_array);
    let versions = versions.ok_or(SchemaError::NoSchemas {
        what: "the definition",
        place: "spec.versions",
        expected: "it is the list of versions, each with a schema",
    })?;
    let mut compiler = Compiler::of_custom_resources();
    for (index, version) in versions.iter().enumerate() {
        let name = text(version, &["name"], &format!("spec.versions[{index}]"))?;
        let schema = version.at(["schema", "openAPIV3Schema"]);
        compiler.custom_resource(schema, &format!("{group}/{name}"), kind)?;
    }
    compiler.finish()
}

/// Compiles the `openAPIV3Schema` of one version.
pub fn compile_version(schema: &Value, api_version: &str, kind: &str) -> Result<Schema, SchemaError> {
    let mut compiler = Compiler::of_custom_resources();
    compiler.custom_resource(Some(schema), api_version, kind)?;
    compiler.finish()
}

/// Checks that the `openAPIV3Schema` of a version is structural and that its lists can be merged.
///
/// Defaults are not validated here, nor are validation rules and bounds: that requires a validator of values.
pub fn check_structural(schema: &Value) -> Vec<Violation> {
    check_structural_at(schema, "openAPIV3Schema")
}

/// Like [`check_structural`], with paths that start at `root`, such as `spec.validation.openAPIV3Schema`.
pub fn check_structural_at(schema: &Value, root: &str) -> Vec<Violation> {
    let path = Path::Root(root);
    let mut report = Report::default();
    openapi_rules::check(schema, &path, Position::Root, &mut report);
    let refused = report.0.iter().any(|violation| violation.rule == RuleOrigin::Kubernetes);
    if let (false, Some(schema)) = (refused, schema.as_object()) {
        structural_rules::check(schema, &path, &mut report);
    }
    report.0
}

fn text<'v>(value: &'v Value, path: &[&'static str], at: &str) -> Result<&'v str, SchemaError> {
    let name = path.last().copied().unwrap_or_default();
    value
        .at(path.iter().copied())
        .and_then(Value::as_str)
        .ok_or_else(|| SchemaError::Definition { at: at.into(), name })
}
