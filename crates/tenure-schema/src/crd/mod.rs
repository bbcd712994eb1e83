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
/// Defaults and patterns are not validated here, nor are validation rules and bounds: that requires a validator of values.
pub fn check_structural(schema: &Value) -> Vec<Violation> {
    check_structural_at(schema, "openAPIV3Schema")
}

/// Like [`check_structural`], with paths that start at `root`, such as `spec.validation.openAPIV3Schema`.
pub fn check_structural_at(schema: &Value, root: &str) -> Vec<Violation> {
    let violations = check_structure(schema, root, &|_| None);
    violations.structural.into_iter().chain(violations.openapi).collect()
}

/// Why a schema is refused: kube-apiserver checks its structure, then its defaults, and then its keywords.
#[derive(Clone, Debug, Default)]
pub struct Violations {
    /// Of the structure, sorted.
    pub structural: Vec<Violation>,
    /// Of keywords and markers, in the order of the schema.
    pub openapi: Vec<Violation>,
}

/// Checks the structure, the keywords and the patterns of a schema. `pattern_fault` says what is wrong with a pattern.
pub fn check_structure(
    schema: &Value,
    root: &str,
    pattern_fault: &dyn Fn(&str) -> Option<String>,
) -> Violations {
    let path = Path::Root(root);
    let (mut structural, mut openapi) = (Report::default(), Report::default());
    let unreadable = schema.as_object().and_then(openapi_rules::unreadable);
    if schema.get("nullable").and_then(Value::as_bool) == Some(true) {
        structural.forbidden(&path.child("nullable"), "nullable cannot be true at the root");
    }
    if let (None, Some(schema)) = (unreadable, schema.as_object()) {
        let mut sorted = Report::default();
        structural_rules::check(schema, &path, pattern_fault, &mut sorted);
        structural.0.append(&mut sorted.0);
    }
    openapi_rules::check(schema, &path, Position::Root, &mut openapi);
    // What makes a schema unreadable is nearly always refused by the rules about keywords.
    if let Some(why) = unreadable.filter(|_| structural.0.is_empty() && openapi.0.is_empty()) {
        openapi.invalid(&path, &Value::from(""), why);
    }
    Violations { structural: structural.0, openapi: openapi.0 }
}

fn text<'v>(value: &'v Value, path: &[&'static str], at: &str) -> Result<&'v str, SchemaError> {
    let name = path.last().copied().unwrap_or_default();
    value
        .at(path.iter().copied())
        .and_then(Value::as_str)
        .ok_or_else(|| SchemaError::Definition { at: at.into(), name })
}
