//! What OpenAPI and definitions of custom resources say, compiled and told in plain words.

use tenure_schema::{Schema, SchemaError, crd, openapi};
use tenure_value::{Limits, Value, json};

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes(), &Limits::TRUSTED).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Compiles a schema that stands alone.
fn one(text: &str) -> Result<String, SchemaError> {
    let (schema, root) = openapi::compile_one(&parse(text))?;
    Ok(schema.at(root).outline(9).to_string())
}

/// Compiles definitions and tells the one named `T`.
fn definitions(text: &str) -> Result<String, SchemaError> {
    let document = format!(r#"{{"components": {{"schemas": {text}}}}}"#);
    let schema = openapi::compile_v3(&parse(&document))?;
    Ok(schema.named("T").map(|of| of.outline(3).to_string()).unwrap_or_default())
}

/// Compiles the schema of a custom resource's spec and tells it.
fn custom(spec: &str) -> Result<String, SchemaError> {
    let schema = parse(&format!(r#"{{"type": "object", "properties": {{"spec": {spec}}}}}"#));
    let schema = crd::compile_version(&schema, "example.com/v1", "Widget")?;
    let widget = schema.kind("example.com/v1", "Widget").unwrap();
    Ok(widget.below("spec").unwrap().outline(9).to_string())
}

#[test]
fn every_shape_has_its_type() {
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
fn lists_are_told_apart_by_the_newer_markers_else_by_the_older() {
    let of = |markers: &str, items: &str| {
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
        assert_eq!(of(markers, port), words, "{markers}");
    }
    let text = r#"{"type": "string"}"#;
    assert_eq!(of(r#", "x-kubernetes-patch-strategy": "merge""#, text), "l: set of string, patch merges");
    assert_eq!(of("", text), "l: atomic list of string");
}

#[test]
fn what_is_wrong_is_named_with_its_type_and_field() {
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
            r#"T.f: x-kubernetes-list-type is "associative"; it is one of atomic, set, map"#,
        ),
        (
            list(r#""x-kubernetes-list-type": 1"#),
            "T.f: x-kubernetes-list-type is 1; it is one of atomic, set, map",
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
            "T.f: x-kubernetes-list-map-keys is []; it is a list of names of fields",
        ),
        (
            list(r#""x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b"]"#),
            r#"T.f: "b" is to tell the items apart, but they have no such field"#,
        ),
        (
            list(r#""x-kubenetes-list-type": "atomic""#),
            r#"T.f: there is no marker "x-kubenetes-list-type"; it is written "x-kubernetes-list-type""#,
        ),
        (
            list(r#""listMapKey": "a""#),
            r#"T.f: there is no marker "listMapKey"; it is written "x-kubernetes-list-map-keys""#,
        ),
        (
            list(r#""x-kubernetes-list-map-key": "a""#),
            r#"T.f: there is no marker "x-kubernetes-list-map-key"; it is written "x-kubernetes-list-map-keys""#,
        ),
        (
            list(r#""listType": "atomic""#),
            r#"T.f: there is no marker "listType"; it is written "x-kubernetes-list-type""#,
        ),
        (
            list(r#""patchMergeKey": "a""#),
            r#"T.f: there is no marker "patchMergeKey"; it is written "x-kubernetes-patch-merge-key""#,
        ),
        (
            list(r#""x-kubernetes-lits-type": "atomic""#),
            r#"T.f: there is no marker "x-kubernetes-lits-type"; "x-kubernetes-list-type" may be meant"#,
        ),
        (
            list(r#""x-kubernetes-patch-strategy": "merged""#),
            r#"T.f: x-kubernetes-patch-strategy is "merged"; it is merge, replace, retainKeys, or merge,retainKeys"#,
        ),
        (
            list(r#""x-kubernetes-patch-strategy": "merge,replace""#),
            r#"T.f: x-kubernetes-patch-strategy is "merge,replace"; a field is merged or replaced, not both"#,
        ),
        (
            list(r#""x-kubernetes-patch-strategy": "merge,merge""#),
            r#"T.f: x-kubernetes-patch-strategy is "merge,merge"; it says the same thing twice"#,
        ),
        (
            list(r#""x-kubernetes-patch-merge-key": "a", "x-kubernetes-recommended-patch-merge-key": "b,a""#),
            r#"T.f: x-kubernetes-recommended-patch-merge-key is "b,a"; the merge key, "a", comes first in it"#,
        ),
        (
            list(r#""x-kubernetes-recommended-patch-merge-key": "a,""#),
            r#"T.f: x-kubernetes-recommended-patch-merge-key is "a,"; it is names of fields with commas between them"#,
        ),
        (
            list(r#""x-kubernetes-recommended-patch-merge-key": "a,a""#),
            r#"T.f: x-kubernetes-recommended-patch-merge-key is "a,a"; it names a field twice"#,
        ),
        (
            list(r#""x-kubernetes-map-type": "atomic""#),
            r#"T.f: x-kubernetes-map-type is "atomic"; it belongs on an object"#,
        ),
        (
            in_field(r#"{"type": "object", "x-kubernetes-map-type": "apart"}"#),
            r#"T.f: x-kubernetes-map-type is "apart"; it is one of granular, atomic, separate"#,
        ),
        (
            in_field(r#"{"type": "object", "structType": "atomic"}"#),
            r#"T.f: there is no marker "structType"; it is written "x-kubernetes-map-type""#,
        ),
        (
            in_field(r#"{"type": "string", "x-kubernetes-list-type": "set"}"#),
            r#"T.f: x-kubernetes-list-type is "set"; it belongs on a list"#,
        ),
        (
            in_field(r#"{"x-kubernetes-int-or-string": "yes"}"#),
            r#"T.f: x-kubernetes-int-or-string is "yes"; it is true or left out"#,
        ),
        (
            in_field(r#"{"type": "text"}"#),
            r#"T.f: there is no type "text"; types are object, array, string, integer, number and boolean"#,
        ),
        (in_field(r#"{"type": 7}"#), "T.f: type is integer; it should be a string"),
        (
            in_field(r#"{"type": "array", "items": {"properties": []}}"#),
            "T.f[]: properties is list; it should be an object of fields",
        ),
        (
            in_field(r#"{"additionalProperties": {"enum": "a", "type": "string"}}"#),
            "T.f.*: enum is string; it should be a list of values",
        ),
        (in_field("null"), "T.f: the schema is null; it should be an object"),
        (
            in_field(r##"{"$ref": "#/definitions/T"}"##),
            r##"T.f: "#/definitions/T" refers to nothing; a reference has the form "#/components/schemas/NAME" and names a definition of the document"##,
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
    let alias =
        r##"{"T": {"$ref": "#/components/schemas/U", "mapType": "atomic"}, "U": {"type": "object"}}"##;
    let error = definitions(alias).unwrap_err().to_string();
    assert_eq!(error, r#"T: there is no marker "mapType"; it is written "x-kubernetes-map-type""#);
}

#[test]
fn a_reference_stands_for_its_definition_under_the_markers_beside_it() {
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
fn types_may_contain_themselves_but_references_must_end_somewhere() {
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
fn version_two_refers_by_its_own_prefix_and_its_quantities_are_quantities() {
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
    assert_eq!(error, "the document has no \"definitions\"; its types are compiled from there");
}

#[test]
fn the_kinds_of_a_definition_must_be_named_in_full() {
    let error = definitions(r#"{"T": {"x-kubernetes-group-version-kind": [{"kind": "T"}]}}"#).unwrap_err();
    let expected = r#"T: x-kubernetes-group-version-kind is [{"kind":"T"}]; it is a list of objects with group, version and kind"#;
    assert_eq!(error.to_string(), expected);
}

#[test]
fn custom_resources_merge_by_their_list_types_in_patches_too() {
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
  closed: atomic object
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

    // Metadata is that of built-in objects, whole.
    let of = |schema: &Schema, version: &str, kind: &str| {
        schema.kind(version, kind).unwrap().below("metadata").unwrap().outline(9).to_string()
    };
    assert_eq!(of(&schema, "example.com/v1", "Widget"), of(Schema::builtin(), "v1", "ConfigMap"));
}

#[test]
fn a_definition_without_names_is_refused() {
    let error = |text: &str| crd::compile(&parse(text)).unwrap_err().to_string();
    let rest = "a definition has spec.group, spec.names.kind and a name for every version";
    assert_eq!(error("{}"), format!("spec: there is no string \"group\"; {rest}"));
    assert_eq!(
        error(r#"{"spec": {"group": "g", "names": {"kind": "K"}, "versions": [{}]}}"#),
        format!("spec.versions[0]: there is no string \"name\"; {rest}")
    );
}

#[test]
fn a_pack_holds_what_was_compiled_and_damage_is_an_error() {
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
        // Most damage is seen; what is not seen still gives types that can be walked.
        if let Ok(schema) = Schema::from_pack(damaged) {
            schema.types().for_each(|of| drop(of.outline(2).to_string()));
        }
    }
}
