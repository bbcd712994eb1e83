//! Types compiled from OpenAPI and CustomResourceDefinitions, compared by their outlines.

use tenure_schema::{Schema, SchemaError, crd, openapi};
use tenure_value::{Limits, Value, json};

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes(), &Limits::TRUSTED).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Compiles a standalone schema.
fn one(text: &str) -> Result<String, SchemaError> {
    let (schema, root) = openapi::compile_one(&parse(text))?;
    Ok(schema.at(root).outline(9).to_string())
}

/// Compiles definitions and describes the one named `T`.
fn definitions(text: &str) -> Result<String, SchemaError> {
    let document = format!(r#"{{"components": {{"schemas": {text}}}}}"#);
    let schema = openapi::compile_v3(&parse(&document))?;
    Ok(schema.named("T").map(|ty| ty.outline(3).to_string()).unwrap_or_default())
}

/// Compiles the schema of the spec of a custom resource and describes it.
fn custom(spec: &str) -> Result<String, SchemaError> {
    let schema = parse(&format!(r#"{{"type": "object", "properties": {{"spec": {spec}}}}}"#));
    let schema = crd::compile_version(&schema, "example.com/v1", "Widget")?;
    let widget = schema.kind("example.com/v1", "Widget").unwrap();
    Ok(widget.below("spec").unwrap().outline(9).to_string())
}

#[test]
fn every_schema_compiles_to_its_type() {
    let cases = [
        (r#"{"type": "string"}"#, "string"),
        (r#"{"type": "string", "format": "byte", "enum": ["a", "b"]}"#, r#"string (byte) of "a"|"b""#),
        (r#"{"type": "integer", "format": "int64"}"#, "integer (int64)"),
        (r#"{"type": "number"}"#, "number"),
        (r#"{"type": "boolean"}"#, "boolean"),
        (r#"{}"#, "anything"),
        (r#"{"type": ""}"#, "anything"),
        (r#"{"x-kubernetes-preserve-unknown-fields": true}"#, "anything"),
        (r#"{"x-kubernetes-int-or-string": true}"#, "integer or string"),
        (r#"{"type": "string", "format": "int-or-string"}"#, "integer or string"),
        (r#"{"oneOf": [{"type": "string"}, {"type": "integer"}]}"#, "integer or string"),
        (r#"{"anyOf": [{"type": "integer"}, {"type": "string"}]}"#, "integer or string"),
        (r#"{"oneOf": [{"type": "string"}, {"type": "number"}]}"#, "quantity"),
        (r#"{"type": "object"}"#, "atomic object that keeps unknown fields"),
        (r#"{"type": "object", "x-kubernetes-map-type": "granular"}"#, "object that keeps unknown fields"),
        (r#"{"type": "object", "properties": {}}"#, "object"),
        (r#"{"properties": {"a": {"type": "string"}}}"#, "object\n  a: string"),
        (
            r#"{"type": "object", "properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": true}"#,
            "object that keeps unknown fields\n  a: anything",
        ),
        (
            r#"{"type": "object", "properties": {"a": {}}, "additionalProperties": true}"#,
            "object that keeps unknown fields\n  a: anything",
        ),
        (
            r#"{"type": "object", "properties": {"a": {}}, "additionalProperties": false}"#,
            "object\n  a: anything",
        ),
        (r#"{"type": "object", "properties": {}, "x-kubernetes-map-type": "atomic"}"#, "atomic object"),
        (r#"{"type": "object", "properties": {}, "x-kubernetes-map-type": "separate"}"#, "object"),
        (r#"{"type": "object", "additionalProperties": {"type": "string"}}"#, "map of string"),
        (r#"{"additionalProperties": {"type": "string", "nullable": true}}"#, "map of string or null"),
        (
            r#"{"type": "object", "additionalProperties": {}, "x-kubernetes-map-type": "atomic"}"#,
            "atomic map of anything",
        ),
        (r#"{"type": "array"}"#, "atomic list of anything"),
        (r#"{"type": "array", "items": {"type": "string"}}"#, "atomic list of string"),
        (r#"{"items": {"type": "string"}, "x-kubernetes-list-type": "set"}"#, "set of string"),
        (r#"{"type": "string", "x-kubernetes-list-type": "atomic"}"#, "string"),
        (
            r#"{"type": "object", "required": ["b"], "properties": {
                "a": {"type": ["string", "null"], "default": "x"}, "b": {"type": "integer", "nullable": true},
                "c": {"type": "string", "default": null}}}"#,
            "object\n  a: string, nullable, default \"x\"\n  b: integer, required, nullable\n  c: string",
        ),
    ];
    for (schema, words) in cases {
        assert_eq!(one(schema).unwrap_or_else(|error| error.to_string()).trim_end(), words, "{schema}");
    }
}

#[test]
fn list_types_follow_the_newer_markers_before_the_older() {
    let list_of = |markers: &str, items: &str| {
        let list = format!(r#"{{"type": "array", "items": {items}{markers}}}"#);
        let text =
            one(&format!(r#"{{"properties": {{"l": {list}}}}}"#)).unwrap_or_else(|error| error.to_string());
        text.lines().nth(1).map_or(text.clone(), |line| line.trim().to_string())
    };
    let port = r#"{"type": "object", "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}}}"#;
    let cases = [
        (
            r#", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]"#,
            r#"l: list of object by port+protocol="TCP""#,
        ),
        (
            r#", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "port""#,
            "l: list of object by port, patch merges by port",
        ),
        (
            r#", "x-kubernetes-list-type": "atomic", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "port""#,
            "l: atomic list of object, patch merges by port",
        ),
        (r#", "x-kubernetes-patch-strategy": "merge""#, "l: atomic list of object, patch merges"),
        (r#", "x-kubernetes-patch-merge-key": "port""#, "l: atomic list of object"),
        (
            r#", "x-kubernetes-patch-strategy": "replace", "x-kubernetes-patch-merge-key": "port""#,
            "l: atomic list of object, patch replaces",
        ),
        (
            r#", "x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "port""#,
            "l: list of object by port, patch merges by port, patch retains keys",
        ),
        (
            r#", "x-kubernetes-patch-strategy": "merge|retainKeys", "x-kubernetes-patch-merge-key": "port""#,
            "l: list of object by port, patch merges by port, patch retains keys",
        ),
        (
            r#", "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "port", "x-kubernetes-recommended-patch-merge-key": "port, protocol""#,
            "l: list of object by port, patch merges by port, better by port+protocol",
        ),
        (
            r#", "x-kubernetes-recommended-patch-merge-key": "port""#,
            "l: atomic list of object, better by port",
        ),
    ];
    for (markers, words) in cases {
        assert_eq!(list_of(markers, port), words, "{markers}");
    }
    let text = r#"{"type": "string"}"#;
    assert_eq!(
        list_of(r#", "x-kubernetes-patch-strategy": "merge""#, text),
        "l: set of string, patch merges"
    );
    assert_eq!(list_of("", text), "l: atomic list of string");
}

#[test]
fn errors_name_the_type_and_field() {
    let in_field = |field: &str| {
        definitions(&format!(r#"{{"T": {{"type": "object", "properties": {{"f": {field}}}}}}}"#))
            .unwrap_err()
            .to_string()
    };
    let list = |markers: &str| {
        in_field(&format!(
            r#"{{"type": "array", "items": {{"type": "object", "properties": {{"a": {{}}}}}}, {markers}}}"#
        ))
    };
    let cases = [
        (
            list(r#""x-kubernetes-list-type": "associative""#),
            r#"T.f: x-kubernetes-list-type is "associative"; it must be one of atomic, set, map"#,
        ),
        (
            list(r#""x-kubernetes-list-type": 1"#),
            "T.f: x-kubernetes-list-type is 1; it must be one of atomic, set, map",
        ),
        (
            list(r#""x-kubernetes-list-type": "map""#),
            r#"T.f: x-kubernetes-list-type is "map"; a list of that type has x-kubernetes-list-map-keys"#,
        ),
        (
            list(r#""x-kubernetes-list-map-keys": ["a"]"#),
            r#"T.f: x-kubernetes-list-map-keys is ["a"]; only a list with x-kubernetes-list-type: map has keys"#,
        ),
        (
            list(r#""x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []"#),
            "T.f: x-kubernetes-list-map-keys is []; it must be a list of field names",
        ),
        (
            list(r#""x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b"]"#),
            r#"T.f: list map key "b" is not a field of the items"#,
        ),
        (
            list(r#""x-kubenetes-list-type": "atomic""#),
            r#"T.f: unknown marker "x-kubenetes-list-type"; use "x-kubernetes-list-type""#,
        ),
        (
            list(r#""listMapKey": "a""#),
            r#"T.f: unknown marker "listMapKey"; use "x-kubernetes-list-map-keys""#,
        ),
        (
            list(r#""x-kubernetes-list-map-key": "a""#),
            r#"T.f: unknown marker "x-kubernetes-list-map-key"; use "x-kubernetes-list-map-keys""#,
        ),
        (list(r#""listType": "atomic""#), r#"T.f: unknown marker "listType"; use "x-kubernetes-list-type""#),
        (
            list(r#""patchMergeKey": "a""#),
            r#"T.f: unknown marker "patchMergeKey"; use "x-kubernetes-patch-merge-key""#,
        ),
        (
            list(r#""x-kubernetes-lits-type": "atomic""#),
            r#"T.f: unknown marker "x-kubernetes-lits-type"; did you mean "x-kubernetes-list-type"?"#,
        ),
        (
            list(r#""x-kubernetes-patch-strategy": "merged""#),
            r#"T.f: x-kubernetes-patch-strategy is "merged"; it must be merge, replace, retainKeys, or merge,retainKeys"#,
        ),
        (
            list(r#""x-kubernetes-patch-strategy": "merge,replace""#),
            r#"T.f: x-kubernetes-patch-strategy is "merge,replace"; it must not contain both merge and replace"#,
        ),
        (
            list(r#""x-kubernetes-patch-strategy": "merge,merge""#),
            r#"T.f: x-kubernetes-patch-strategy is "merge,merge"; it contains a duplicate"#,
        ),
        (
            list(r#""x-kubernetes-patch-merge-key": "a", "x-kubernetes-recommended-patch-merge-key": "b,a""#),
            r#"T.f: x-kubernetes-recommended-patch-merge-key is "b,a"; it must start with the merge key "a""#,
        ),
        (
            list(r#""x-kubernetes-recommended-patch-merge-key": "a,""#),
            r#"T.f: x-kubernetes-recommended-patch-merge-key is "a,"; it must be a comma-separated list of field names"#,
        ),
        (
            list(r#""x-kubernetes-recommended-patch-merge-key": "a,a""#),
            r#"T.f: x-kubernetes-recommended-patch-merge-key is "a,a"; it contains a duplicate"#,
        ),
        (
            list(r#""x-kubernetes-map-type": "atomic""#),
            r#"T.f: x-kubernetes-map-type is "atomic"; it belongs on an object"#,
        ),
        (
            in_field(r#"{"type": "object", "x-kubernetes-map-type": "apart"}"#),
            r#"T.f: x-kubernetes-map-type is "apart"; it must be one of granular, atomic, separate"#,
        ),
        (
            in_field(r#"{"type": "object", "structType": "atomic"}"#),
            r#"T.f: unknown marker "structType"; use "x-kubernetes-map-type""#,
        ),
        (
            in_field(r#"{"type": "string", "x-kubernetes-list-type": "set"}"#),
            r#"T.f: x-kubernetes-list-type is "set"; it belongs on a list"#,
        ),
        (
            in_field(r#"{"x-kubernetes-int-or-string": "yes"}"#),
            r#"T.f: x-kubernetes-int-or-string is "yes"; it must be true or absent"#,
        ),
        (
            in_field(r#"{"type": "text"}"#),
            r#"T.f: unknown type "text"; expected object, array, string, integer, number or boolean"#,
        ),
        (in_field(r#"{"type": 7}"#), "T.f: type must be a string, got integer"),
        (
            in_field(r#"{"type": "array", "items": {"properties": []}}"#),
            "T.f[]: properties must be an object of fields, got list",
        ),
        (
            in_field(r#"{"additionalProperties": {"enum": "a", "type": "string"}}"#),
            "T.f.*: enum must be a list of values, got string",
        ),
        (in_field("null"), "T.f: the schema must be an object, got null"),
        (
            in_field(r##"{"$ref": "#/definitions/T"}"##),
            r##"T.f: reference "#/definitions/T" does not exist; expected "#/components/schemas/NAME" with a definition of the document"##,
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
    let alias =
        r##"{"T": {"$ref": "#/components/schemas/U", "mapType": "atomic"}, "U": {"type": "object"}}"##;
    let error = definitions(alias).unwrap_err().to_string();
    assert_eq!(error, r#"T: unknown marker "mapType"; use "x-kubernetes-map-type""#);
}

#[test]
fn markers_beside_a_reference_override_those_of_its_target() {
    let found = definitions(
        r##"{"T": {"properties": {
                "alias": {"$ref": "#/components/schemas/Alias"},
                "apart": {"allOf": [{"$ref": "#/components/schemas/Whole"}], "x-kubernetes-map-type": "granular", "default": {}},
                "set": {"$ref": "#/components/schemas/Names", "x-kubernetes-list-type": "set"},
                "names": {"$ref": "#/components/schemas/Names"},
                "whole": {"$ref": "#/components/schemas/Whole"}}},
            "Alias": {"allOf": [{"$ref": "#/components/schemas/Whole"}], "x-kubernetes-map-type": "granular"},
            "Names": {"type": "array", "items": {"type": "string"}, "default": ["x"]},
            "Whole": {"properties": {"a": {"type": "string"}}, "x-kubernetes-map-type": "atomic"}}"##,
    );
    let expected = "\
object
  alias: object
    a: string
  apart: object, default {}
    a: string
  names: atomic list of string, default [\"x\"]
  set: set of string, default [\"x\"]
  whole: atomic object
    a: string
";
    assert_eq!(found.unwrap(), expected);
}

#[test]
fn types_may_be_recursive_but_references_must_not_be_cyclic() {
    let tree = r##"{"T": {"properties": {
        "children": {"type": "array", "items": {"$ref": "#/components/schemas/T"}},
        "whole": {"$ref": "#/components/schemas/T", "x-kubernetes-map-type": "atomic"}}}}"##;
    let found = definitions(tree).unwrap();
    assert!(
        found.starts_with("object\n  children: atomic list of object\n    children: atomic list of object\n")
    );
    assert!(found.contains("  whole: atomic object\n    children: atomic list of object\n"));

    let own_item = r##"{"T": {"type": "array", "items": {"$ref": "#/components/schemas/T"}}}"##;
    assert!(definitions(own_item).unwrap().starts_with("atomic list of atomic list of"));

    let round = r##"{"T": {"$ref": "#/components/schemas/U"}, "U": {"$ref": "#/components/schemas/T"}}"##;
    assert!(definitions(round).unwrap_err().to_string().contains("refers to itself"));
    let list = r##"{"T": {"type": "array", "items": {"$ref": "#/components/schemas/U"}, "x-kubernetes-patch-strategy": "merge"}, "U": {"$ref": "#/components/schemas/U"}}"##;
    assert!(definitions(list).unwrap_err().to_string().contains("refers to itself"));
}

#[test]
fn nesting_is_limited_with_an_error() {
    let deep = format!("{}{{}}{}", r#"{"type": "array", "items": "#.repeat(140), "}".repeat(140));
    assert!(one(&deep).unwrap_err().to_string().contains("nested more than 128 deep"));
    let fine = format!("{}{{}}{}", r#"{"type": "array", "items": "#.repeat(100), "}".repeat(100));
    assert!(one(&fine).is_ok());
}

#[test]
fn openapi_v2_has_its_own_reference_prefix_and_quantities() {
    let schema = openapi::compile_v2(&parse(
        r##"{"swagger": "2.0", "definitions": {
            "Limits": {"type": "object", "properties": {
                "cpu": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity"},
                "port": {"$ref": "#/definitions/IntOrString"}},
                "x-kubernetes-group-version-kind": [{"group": "", "kind": "Limits", "version": "v1"}]},
            "IntOrString": {"type": "string", "format": "int-or-string"},
            "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": "string"}}}"##,
    ))
    .unwrap();
    let limits = schema.kind("v1", "Limits").unwrap();
    assert_eq!(limits.outline(1).to_string(), "object\n  cpu: quantity\n  port: integer or string\n");
    let error = openapi::compile_v2(&parse("{}")).unwrap_err().to_string();
    assert_eq!(error, "the document has no \"definitions\"; its types are expected there");
}

#[test]
fn group_version_kinds_must_be_complete() {
    let error = definitions(r#"{"T": {"x-kubernetes-group-version-kind": [{"kind": "T"}]}}"#).unwrap_err();
    let expected = r#"T: x-kubernetes-group-version-kind is [{"kind":"T"}]; it is a list of objects with group, version and kind"#;
    assert_eq!(error.to_string(), expected);
}

#[test]
fn list_types_of_custom_resources_apply_to_patches() {
    let found = custom(
        r#"{"type": "object", "required": ["size"], "properties": {
            "colours": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "lines": {"type": "array", "items": {"type": "string"}},
            "closed": {"type": "object"},
            "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
                "items": {"type": "object", "required": ["port"], "properties": {
                    "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}}}},
            "size": {"type": "integer", "minimum": 1, "x-kubernetes-validations": [{"rule": "self > 0"}]}}}"#,
    );
    let expected = "\
object
  closed: object that keeps unknown fields
  colours: set of string, patch merges
  free: object that keeps unknown fields
  lines: atomic list of string
  ports: list of object by port+protocol=\"TCP\", patch merges
    port: integer, required
    protocol: string, default \"TCP\"
  size: integer, required
";
    assert_eq!(found.unwrap(), expected);
}

#[test]
fn embedded_resources_have_the_metadata_of_all_objects() {
    let found = custom(
        r#"{"type": "object", "properties": {"template": {"type": "object",
            "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}}}"#,
    )
    .unwrap();
    let lines: Vec<_> = found.lines().take(5).collect();
    assert_eq!(
        lines,
        [
            "object",
            "  template: embedded object that keeps unknown fields",
            "    apiVersion: string, required",
            "    kind: string, required",
            "    metadata: object",
        ]
    );
}

#[test]
fn every_version_of_a_definition_is_compiled_with_its_own_schema() {
    let definition = parse(
        r#"{"spec": {"group": "example.com", "names": {"kind": "Widget"}, "versions": [
            {"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string"}}}}},
            {"name": "v2", "schema": {"openAPIV3Schema": {"type": "object", "properties": {"b": {"type": "string"}}}}},
            {"name": "v3"}]}}"#,
    );
    let schema = crd::compile(&definition).unwrap();
    let has = |version: &str, field: &str| schema.kind(version, "Widget").unwrap().field(field).is_some();
    assert!(has("example.com/v1", "a") && !has("example.com/v1", "b"));
    assert!(has("example.com/v2", "b") && !has("example.com/v2", "a"));
    assert!(has("example.com/v3", "metadata"));

    // Metadata has the complete type of built-in objects.
    let type_of = |schema: &Schema, version: &str, kind: &str| {
        schema.kind(version, kind).unwrap().below("metadata").unwrap().outline(9).to_string()
    };
    assert_eq!(type_of(&schema, "example.com/v1", "Widget"), type_of(Schema::builtin(), "v1", "ConfigMap"));
}

#[test]
fn a_definition_without_names_is_rejected() {
    let error = |text: &str| crd::compile(&parse(text)).unwrap_err().to_string();
    let rest = "a definition needs spec.group, spec.names.kind and a name for every version";
    assert_eq!(error("{}"), format!("spec: group must be a string; {rest}"));
    assert_eq!(
        error(r#"{"spec": {"group": "g", "names": {"kind": "K"}, "versions": [{}]}}"#),
        format!("spec.versions[0]: name must be a string; {rest}")
    );
}

#[test]
fn packs_round_trip_and_damage_is_an_error() {
    let schema = openapi::compile_v3(&parse(
        r##"{"components": {"schemas": {"T": {"required": ["f"], "properties": {
            "f": {"type": "array", "items": {"$ref": "#/components/schemas/T"}, "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"], "x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "k"},
            "k": {"type": "string", "default": {"a": [1, -1, 18446744073709551615, 1.5, true, false, "x", {}], "b": null}},
            "m": {"additionalProperties": {"type": "number", "nullable": true, "enum": [1.5]}, "x-kubernetes-map-type": "atomic"},
            "t": {}, "r": {"x-kubernetes-embedded-resource": true, "type": "object"}}}}}}"##,
    ))
    .unwrap();
    let bytes = schema.to_pack();
    let read = Schema::from_pack(bytes.clone()).unwrap();
    assert_eq!(read.to_pack(), bytes);
    let words = |schema: &Schema| schema.named("T").unwrap().outline(3).to_string();
    assert_eq!(words(&read), words(&schema));

    for end in 0..bytes.len() {
        assert!(matches!(Schema::from_pack(bytes[..end].to_vec()), Err(SchemaError::Pack { .. })), "{end}");
    }
    for (at, flip) in (0..bytes.len()).flat_map(|at| [1, 0x7f, 0x80, 0xff].map(|flip| (at, flip))) {
        let mut damaged = bytes.clone();
        damaged[at] ^= flip;
        // Most damage is detected; otherwise the types can still be traversed.
        if let Ok(schema) = Schema::from_pack(damaged) {
            schema.types().for_each(|ty| drop(ty.outline(2).to_string()));
        }
    }
}
