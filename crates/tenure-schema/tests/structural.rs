//! Which schemas of custom resources are rejected, with which messages.

use tenure_schema::crd::{RuleOrigin, check_structural, check_structural_at};
use tenure_value::{Limits, Value, json};

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes(), &Limits::TRUSTED).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the violations of a schema, one line each; rules of Tenure are marked.
fn check(schema: &str) -> Vec<String> {
    let violations = check_structural_at(&parse(schema), "");
    let line = |violation: &tenure_schema::crd::Violation| match violation.rule {
        RuleOrigin::Kubernetes => violation.to_string(),
        RuleOrigin::Tenure => format!("(Tenure) {violation}"),
    };
    violations.iter().map(line).collect()
}

/// Checks a schema whose field `x` is given.
fn field(schema: &str) -> Vec<String> {
    check(&format!(r#"{{"type": "object", "properties": {{"x": {schema}}}}}"#))
}

fn list(markers: &str, items: &str) -> Vec<String> {
    field(&format!(r#"{{"type": "array", "items": {items}{markers}}}"#))
}

const KEYED: &str = r#", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]"#;
const SET: &str = r#", "x-kubernetes-list-type": "set""#;

#[test]
fn valid_schemas_are_accepted() {
    let sound = [
        r#"{"type": "object"}"#,
        r#"{"type": "object", "x-kubernetes-preserve-unknown-fields": true}"#,
        r#"{"type": "object", "properties": {"kind": {"type": "string"}, "apiVersion": {"type": "string"},
            "metadata": {"type": "object", "properties": {"name": {"type": "string", "pattern": "a"}}},
            "spec": {"type": "object", "required": ["a"], "additionalProperties": {"type": "string"}}}}"#,
        r#"{"type": "object", "properties": {
            "a": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "b": {"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"minimum": 1}]},
            "c": {"x-kubernetes-preserve-unknown-fields": true},
            "d": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
            "e": {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}], "not": {"pattern": "x"}},
            "f": {"type": "object", "properties": {"p": {"type": "string"}, "q": {"type": "string"}},
                "oneOf": [{"required": ["p"]}, {"required": ["q"], "properties": {"q": {"minLength": 1}}}]},
            "g": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "h": {"type": "array", "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}},
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]},
            "i": {"type": "array", "items": {"type": "object", "required": ["k"],
                    "properties": {"k": {"x-kubernetes-int-or-string": true}, "l": {"type": "string", "default": "x"}}},
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "l"]},
            "j": {"type": "object", "x-kubernetes-map-type": "atomic", "nullable": true}}}"#,
    ];
    for schema in sound {
        assert_eq!(check(schema), [""; 0], "{schema}");
    }
}

#[test]
fn keyed_lists_and_sets_need_identifiable_items() {
    let object = r#"{"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}"#;
    let cases = [
        (
            list(r#", "x-kubernetes-list-type": "bogus""#, object),
            r#".properties[x].x-kubernetes-list-type: Unsupported value: "bogus": supported values: "atomic", "set", "map""#,
        ),
        (
            list(r#", "x-kubernetes-list-type": "map""#, object),
            ".properties[x].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            list(r#", "x-kubernetes-list-map-keys": ["k"]"#, object),
            ".properties[x].x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty",
        ),
        (
            list(r#", "x-kubernetes-list-map-keys": ["k"], "x-kubernetes-list-type": "atomic""#, object),
            r#".properties[x].x-kubernetes-list-type: Invalid value: "atomic": must be map if x-kubernetes-list-map-keys is non-empty"#,
        ),
        (
            list(r#", "x-kubernetes-list-map-keys": ["n"], "x-kubernetes-list-type": "map""#, object),
            r#".properties[x].x-kubernetes-list-map-keys: Invalid value: ["n"]: entries must all be names of item properties"#,
        ),
        (
            list(r#", "x-kubernetes-list-map-keys": ["k", "k"], "x-kubernetes-list-type": "map""#, object),
            r#".properties[x].x-kubernetes-list-map-keys: Invalid value: ["k","k"]: must not contain duplicate entries"#,
        ),
        (
            list(KEYED, r#"{"type": "string"}"#),
            r#".properties[x].items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map"#,
        ),
        (
            list(KEYED, r#"{"type": "object", "required": ["k"], "properties": {"k": {"type": "object"}}}"#),
            r#".properties[x].items.properties[k].type: Invalid value: "object": must be a scalar type if parent array's x-kubernetes-list-type is map"#,
        ),
        (
            list(KEYED, r#"{"type": "object", "properties": {"k": {"type": "string"}}}"#),
            ".properties[x].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ),
        (
            list(
                KEYED,
                r#"{"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "nullable": true}}}"#,
            ),
            ".properties[x].items.properties[k].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
        ),
        (
            list(
                KEYED,
                r#"{"type": "object", "nullable": true, "required": ["k"], "properties": {"k": {"type": "string"}}}"#,
            ),
            ".properties[x].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map",
        ),
        (
            list(SET, r#"{"type": "string", "nullable": true}"#),
            ".properties[x].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set",
        ),
        (
            list(SET, r#"{"type": "object"}"#),
            ".properties[x].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
        ),
        (
            list(SET, r#"{"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}"#),
            ".properties[x].items.x-kubernetes-list-type: Invalid value: \"set\": must be atomic as item of a list with x-kubernetes-list-type=set",
        ),
        (field(r#"{"type": "array"}"#), ".properties[x].items: Required value: must be specified"),
        (
            field(r#"{"type": "array", "items": [{"type": "string"}]}"#),
            ".properties[x].items: Forbidden: items must be a schema object and not an array",
        ),
        (
            field(r#"{"type": "object", "x-kubernetes-list-type": "set"}"#),
            r#".properties[x].type: Invalid value: "object": must be array if x-kubernetes-list-type is specified"#,
        ),
        (
            field(r#"{"x-kubernetes-list-type": "set", "x-kubernetes-preserve-unknown-fields": true}"#),
            ".properties[x].type: Required value: must be array if x-kubernetes-list-type is specified",
        ),
        (
            field(r#"{"type": "string", "x-kubernetes-map-type": "atomic"}"#),
            r#".properties[x].type: Invalid value: "string": must be object if x-kubernetes-map-type is specified"#,
        ),
        (
            field(r#"{"type": "object", "x-kubernetes-map-type": "bogus"}"#),
            r#".properties[x].x-kubernetes-map-type: Unsupported value: "bogus": supported values: "atomic", "granular""#,
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, [expected]);
    }
}

#[test]
fn lists_that_kubernetes_cannot_apply_are_rejected_by_our_own_rule() {
    let found = list(SET, r#"{"type": "object", "x-kubernetes-map-type": "atomic"}"#);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("(Tenure) .properties[x].items.type: Invalid value: \"object\": "),
        "{found:?}"
    );
    let found =
        list(SET, r#"{"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"}"#);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("(Tenure) .properties[x].items.type: Invalid value: \"array\": "),
        "{found:?}"
    );
    let found = list(
        KEYED,
        r#"{"type": "object", "required": ["k"], "properties": {"k": {"x-kubernetes-preserve-unknown-fields": true}}}"#,
    );
    assert_eq!(
        found,
        [
            "(Tenure) .properties[x].items.properties[k].type: Invalid value: null: this property identifies items, so it must have a scalar type"
        ]
    );
}

#[test]
fn every_type_is_declared_exactly_once() {
    let cases = [
        (check("{}"), ".type: Required value: must not be empty at the root"),
        (
            check(r#"{"type": "array", "items": {"type": "string"}}"#),
            r#".type: Invalid value: "array": must be object at the root"#,
        ),
        (
            check(r#"{"type": "object", "additionalProperties": {"type": "string"}}"#),
            ".additionalProperties: Forbidden: must not be used at the root",
        ),
        (field("{}"), ".properties[x].type: Required value: must not be empty for specified object fields"),
        (
            field(r#"{"type": "array", "items": {}}"#),
            ".properties[x].items.type: Required value: must not be empty for specified array items",
        ),
        (
            field(r#"{"type": "null"}"#),
            r#".properties[x].type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string""#,
        ),
        (
            field(r#"{"type": "text"}"#),
            r#".properties[x].type: Unsupported value: "text": supported values: "array", "boolean", "integer", "number", "object", "string""#,
        ),
        (
            field(r#"{"type": "string", "anyOf": [{"type": "string"}]}"#),
            ".properties[x].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            field(r#"{"type": "string", "not": {"default": false}}"#),
            ".properties[x].not.default: Forbidden: must be undefined to be structural",
        ),
        (
            field(r#"{"type": "string", "allOf": [{"oneOf": [{"nullable": true}]}]}"#),
            ".properties[x].allOf[0].oneOf[0].nullable: Forbidden: must be false to be structural",
        ),
        (
            field(r#"{"type": "string", "allOf": [{"description": "d"}]}"#),
            ".properties[x].allOf[0].description: Forbidden: must be empty to be structural",
        ),
        (
            field(
                r#"{"type": "array", "items": {"type": "string"}, "not": {"items": {"x-kubernetes-int-or-string": true}}}"#,
            ),
            ".properties[x].not.items.x-kubernetes-int-or-string: Forbidden: must be false to be structural",
        ),
        (
            field(
                r#"{"type": "object", "properties": {"metadata": {"type": "object"}}, "anyOf": [{"properties": {"metadata": {}}}]}"#,
            ),
            ".properties[x].anyOf[0].properties[metadata]: Forbidden: must not be specified in a nested context",
        ),
        (
            check(r#"{"type": "object", "anyOf": [{"properties": {"a": {"minLength": 1}}}]}"#),
            ".properties[a]: Required value: because it is defined in .anyOf[0].properties[a]",
        ),
        (
            check(r#"{"type": "object", "not": {"items": {"minLength": 1}}}"#),
            ".items: Required value: because it is defined in .not.items",
        ),
        (
            field(
                r#"{"x-kubernetes-int-or-string": true, "anyOf": [{"type": "string"}, {"type": "number"}]}"#,
            ),
            ".properties[x].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            field(r#"{"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true}"#),
            ".properties[x].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
        ),
        (
            field(r#"{"type": "object", "x-kubernetes-preserve-unknown-fields": false}"#),
            ".properties[x].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found.first().map(String::as_str), Some(expected), "{found:?}");
    }
}

#[test]
fn metadata_is_implicit() {
    let more = ".properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified";
    let cases = [
        (
            check(
                r#"{"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}"#,
            ),
            more,
        ),
        (
            check(
                r#"{"type": "object", "properties": {"metadata": {"type": "object", "required": ["name"]}}}"#,
            ),
            more,
        ),
        (
            check(r#"{"type": "object", "properties": {"kind": {"type": "integer"}}}"#),
            r#".properties[kind].type: Invalid value: "integer": must be string"#,
        ),
        (
            check(r#"{"type": "object", "properties": {"metadata": {"type": "string"}}}"#),
            r#".properties[metadata].type: Invalid value: "string": must be object"#,
        ),
        (
            check(
                r#"{"type": "object", "properties": {"metadata": {"type": "object", "x-kubernetes-embedded-resource": true}}}"#,
            ),
            ".properties[metadata].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ),
        (
            field(r#"{"type": "string", "x-kubernetes-embedded-resource": true}"#),
            r#".properties[x].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"#,
        ),
        (
            field(
                r#"{"type": "object", "x-kubernetes-embedded-resource": true, "additionalProperties": {"type": "string"}, "x-kubernetes-preserve-unknown-fields": true}"#,
            ),
            ".properties[x].additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found.first().map(String::as_str), Some(expected), "{found:?}");
    }
}

#[test]
fn unsupported_keywords_are_rejected() {
    let cases = [
        (r#"{"type": "string", "$ref": "x"}"#, ".properties[x].$ref: Forbidden: $ref is not supported"),
        (
            r#"{"type": "object", "patternProperties": {"a": {}}}"#,
            ".properties[x].patternProperties: Forbidden: patternProperties is not supported",
        ),
        (
            r#"{"type": "object", "definitions": {"a": {}}}"#,
            ".properties[x].definitions: Forbidden: definitions is not supported",
        ),
        (
            r#"{"type": "array", "items": {"type": "string"}, "uniqueItems": true}"#,
            ".properties[x].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            r#"{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}"#,
            ".properties[x].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(field(schema), [expected]);
    }
}

#[test]
fn a_schema_with_unsupported_keywords_is_not_checked_further() {
    let found = check(r#"{"properties": {"x": {"type": "string", "$ref": "y"}, "z": {}}}"#);
    assert_eq!(found, [".properties[x].$ref: Forbidden: $ref is not supported"]);
}

#[test]
fn paths_start_at_the_given_root() {
    assert_eq!(check_structural(&parse("{}"))[0].path, "openAPIV3Schema.type");
    assert_eq!(check_structural(&parse("[]"))[0].path, "openAPIV3Schema");
    let at = check_structural_at(&parse("{}"), "spec.validation.openAPIV3Schema");
    assert_eq!(at[0].path, "spec.validation.openAPIV3Schema.type");
}
