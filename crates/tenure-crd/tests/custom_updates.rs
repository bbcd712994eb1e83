//! Updates of custom resources, as Kubernetes' own tests expect them: what is validated again, defaults inside metadata, and
//! objects of a version that is not stored.

use tenure_crd::{Definition, Profile, check_create};
use tenure_meta::OpenApiVersion;
use tenure_value::Value;

/// A definition whose versions have these schemas; the first one is stored.
fn definition(schemas: &[(&str, &str)], beside: &str) -> Value {
    let versions: Vec<String> = schemas
        .iter()
        .enumerate()
        .map(|(at, (name, schema))| {
            format!(
                r#"{{"name":"{name}","served":true,"storage":{}{beside},"schema":{{"openAPIV3Schema":{schema}}}}}"#,
                at == 0
            )
        })
        .collect();
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"widgets.example.com"}},
        "spec":{{"group":"example.com","scope":"Cluster","names":{{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"}},
        "versions":[{}]}}}}"#,
        versions.join(",")
    )
    .parse()
    .unwrap()
}

fn compiled(schema: &str, beside: &str) -> Definition {
    let definition = definition(&[("v1", schema)], beside);
    let errors: Vec<String> =
        check_create(&definition, Profile::kubernetes()).iter().map(ToString::to_string).collect();
    assert_eq!(errors, Vec::<String>::new(), "{schema}");
    Definition::read(&definition, Profile::kubernetes()).unwrap()
}

fn object(content: &str) -> Value {
    format!(r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"w"}},{content}}}"#)
        .parse()
        .unwrap()
}

fn texts(errors: Vec<tenure_meta::FieldError>) -> Vec<String> {
    errors.into_iter().map(|error| format!("{}: {}", error.path, error.message)).collect()
}

const KEYED: &str = r#"{"type":"object","properties":{"a":{"type":"string"},"l":{"type":"array","maxItems":2,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
    "items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"integer","maximum":5}}}},
    "s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}"#;

#[test]
fn a_list_with_keys_is_unchanged_in_another_order() {
    let definition = compiled(KEYED, "");
    let version = &definition.versions[0];
    let old = object(r#""l":[{"k":"a","v":9},{"k":"b","v":1},{"k":"c"}]"#);
    for (new, expected) in [
        (r#""l":[{"k":"c"},{"k":"a","v":9},{"k":"b","v":1}]"#, vec![]),
        (r#""a":"new","l":[{"k":"b","v":1},{"k":"c"},{"k":"a","v":9}]"#, vec![]),
        (
            r#""l":[{"k":"c"},{"k":"a","v":9},{"k":"b","v":2}]"#,
            vec!["l: Too many: 3: must have at most 2 items"],
        ),
        (
            r#""l":[{"k":"c"},{"k":"a","v":8},{"k":"b","v":1}]"#,
            vec![
                "l[1].v: Invalid value: 8: l[1].v in body should be less than or equal to 5",
                "l: Too many: 3: must have at most 2 items",
            ],
        ),
    ] {
        assert_eq!(texts(version.validate_update(&object(new), &old, &mut Vec::new())), expected, "{new}");
    }
}

#[test]
fn an_object_with_duplicates_may_have_others() {
    let definition = compiled(KEYED, "");
    let version = &definition.versions[0];
    let (without, with) = (object(r#""s":["a"]"#), object(r#""s":["a","a"]"#));
    let new = object(r#""s":["a","a","b","b"]"#);
    assert_eq!(
        texts(version.validate_update(&new, &without, &mut Vec::new())),
        ["s[1]: Duplicate value: \"a\"", "s[3]: Duplicate value: \"b\""]
    );
    assert_eq!(texts(version.validate_update(&new, &with, &mut Vec::new())), Vec::<String>::new());
    assert_eq!(texts(version.validate_create(&with)), ["s[1]: Duplicate value: \"a\""]);
}

#[test]
fn version_and_kind_are_validated_also_if_they_do_not_change() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"string"},"apiVersion":{"type":"string","pattern":"^example.com/v2$"}}}"#;
    let definition = compiled(schema, "");
    for new in [r#""a":"new""#, r#""a":"old""#] {
        let errors =
            definition.versions[0].validate_update(&object(new), &object(r#""a":"old""#), &mut Vec::new());
        assert_eq!(
            texts(errors),
            [
                "apiVersion: Invalid value: \"example.com/v1\": apiVersion in body should match '^example.com/v2$'"
            ]
        );
    }
}

#[test]
fn an_update_of_the_status_validates_the_status() {
    let schema = r#"{"type":"object","properties":{"spec":{"type":"object","properties":{"n":{"type":"integer","maximum":5}}},
        "status":{"type":"object","properties":{"n":{"type":"integer","maximum":5},"replicas":{"type":"integer"}}}}}"#;
    let scale = r#","subresources":{"status":{},"scale":{"specReplicasPath":".spec.n","statusReplicasPath":".status.replicas"}}"#;
    let definition = compiled(schema, scale);
    let version = &definition.versions[0];
    let old = object(r#""spec":{"n":1}"#);
    let new = object(r#""spec":{"n":9},"status":{"n":9,"replicas":-1}"#);
    let replicas = ".status.replicas: Invalid value: -1: should be a non-negative integer";
    assert_eq!(
        texts(version.validate_status_update(&new, &old, &mut Vec::new())),
        ["status.n: Invalid value: 9: n in body should be less than or equal to 5", replicas]
    );
    assert_eq!(
        texts(version.validate_update(&new, &old, &mut Vec::new())),
        [
            "spec.n: Invalid value: 9: spec.n in body should be less than or equal to 5",
            "status.n: Invalid value: 9: status.n in body should be less than or equal to 5",
            replicas
        ]
    );
}

#[test]
fn paths_of_a_scale_are_split_at_their_dots() {
    let scale = |spec: &str| {
        let beside = format!(
            r#","subresources":{{"scale":{{"specReplicasPath":"{spec}","statusReplicasPath":".status.replicas"}}}}"#
        );
        texts(check_create(&definition(&[("v1", r#"{"type":"object"}"#)], &beside), Profile::kubernetes()))
    };
    let field = "spec.subresources.scale.specReplicasPath";
    for (path, expected) in [
        (".spec.replicas", None),
        (".spec.replicas[0]", None),
        (".spec.['a']", None),
        ("spec.replicas", Some("must be a simple json path starting with .")),
        (".spec", Some("should be a json path under .spec")),
        (".status.replicas", Some("should be a json path under .spec")),
    ] {
        let expected: Vec<String> =
            expected.iter().map(|words| format!("{field}: Invalid value: {path:?}: {words}")).collect();
        assert_eq!(scale(path), expected, "{path}");
    }
}

#[test]
fn defaults_inside_metadata_result_in_valid_metadata() {
    let embedded = |metadata: &str| {
        format!(
            r#"{{"type":"object","properties":{{"e":{{"type":"object","x-kubernetes-embedded-resource":true,"properties":{{
            "apiVersion":{{"type":"string","default":"foos/v1"}},"kind":{{"type":"string","default":"Foo"}},"metadata":{metadata}}}}}}}}}"#
        )
    };
    let fields = r#"{"type":"object","properties":{"name":{"type":"string","default":"Bar"},"unknown":{"type":"string","default":"x"}}}"#;
    let whole = r#"{"type":"object","default":{"name":"Bar","unknown":"x"}}"#;
    let object_default = r#"{"type":"object","properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true,
        "properties":{"foo":{"type":"string"}},"default":{"apiVersion":"foos/v1","kind":"Foo","metadata":{"name":"Bar","unknown":"x"}}}}}"#;
    for (schema, given) in [
        (embedded(fields), r#""e":{"metadata":{}}"#),
        (embedded(whole), r#""e":{}"#),
        (object_default.to_string(), r#""a":1"#),
    ] {
        let definition = compiled(&schema, "");
        let completed = definition.versions[0].complete(&object(given)).unwrap().value;
        let expected = r#"{"apiVersion":"foos/v1","kind":"Foo","metadata":{"name":"Bar"}}"#;
        assert_eq!(completed.get("e").unwrap().to_string(), expected, "{schema}");
    }
    for (metadata, words) in [
        (
            r#"{"type":"object","default":{"name":".."}}"#,
            "must result in valid metadata: metadata.name: Invalid value: \"..\"",
        ),
        (
            r#"{"type":"object","default":{"name":7}}"#,
            "must result in valid metadata: metadata: json: cannot unmarshal number",
        ),
        (
            r#"{"type":"object","properties":{"finalizers":{"type":"array","items":{"type":"string"},"default":["?"]}}}"#,
            "must result in valid metadata: metadata.finalizers: Invalid value: \"?\"",
        ),
    ] {
        let errors =
            texts(check_create(&definition(&[("v1", &embedded(metadata))], ""), Profile::kubernetes()));
        assert!(errors.len() == 1 && errors[0].contains(words), "{metadata}: {errors:?}");
    }
}

#[test]
fn embedded_metadata_of_a_wrong_type_is_named() {
    let schema = r#"{"type":"object","properties":{"e":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}}"#;
    let definition = compiled(schema, "");
    let given = object(r#""e":{"apiVersion":"v1","kind":"Foo","metadata":{"name":"a","namespace":42}}"#);
    let error = definition.versions[0].complete(&given).unwrap_err();
    assert_eq!(
        error.message,
        "e.metadata: Invalid value: {\"name\":\"a\",\"namespace\":42}: json: cannot unmarshal number into Go struct field ObjectMeta.namespace of type string"
    );
}

#[test]
fn an_object_reads_back_with_the_defaults_of_the_storage_version() {
    let schema = |defaults: &str| {
        format!(
            r#"{{"type":"object","properties":{{"a":{{"type":"string"{defaults}}},"b":{{"type":"string"}}}}}}"#
        )
    };
    let (stored, served) = (schema(r#","default":"stored""#), schema(r#","default":"served""#));
    let definition =
        Definition::read(&definition(&[("v2", &stored), ("v1", &served)], ""), Profile::kubernetes())
            .unwrap();
    let version = definition.version("v1").unwrap();
    let read = definition.as_read_back(&object(r#""b":"x""#), version);
    assert_eq!(read, object(r#""a":"stored","b":"x""#));
}

#[test]
fn selectable_fields_are_published() {
    let schema = r#"{"type":"object","properties":{"spec":{"type":"object","properties":{"color":{"type":"string"}}}}}"#;
    let definition = compiled(schema, r#","selectableFields":[{"jsonPath":".spec.color"}]"#);
    for dialect in [OpenApiVersion::V2, OpenApiVersion::V3] {
        let components = definition.components(&definition.versions[0], dialect);
        let published = components[0].1.get("x-kubernetes-selectable-fields").unwrap().to_string();
        assert_eq!(published, r#"[{"fieldPath":"spec.color"}]"#);
    }
}

#[test]
fn rules_for_items_of_an_object_cannot_be_evaluated() {
    let schema = r#"{"type":"object","properties":{"l":{"type":"object","maxItems":9,"items":{"type":"object","properties":{"n":{"type":"integer"}},"x-kubernetes-validations":[{"rule":"self.n < 5"}]}}}}"#;
    let definition = Definition::read(&definition(&[("v1", schema)], ""), Profile::kubernetes()).unwrap();
    let (old, new) = (object(r#""l":[{"n":1}]"#), object(r#""l":[{"n":1}],"a":1"#));
    assert_eq!(
        texts(definition.versions[0].validate_update(&new, &old, &mut Vec::new())),
        [
            "l[0]: Invalid value: \"object\": rule compiler initialization error: failed to convert to declType for CEL validation rules"
        ]
    );
}
