//! How a change of a type affects the merging of its lists and maps.

use tenure_schema::{
    Schema, crd,
    merging::{MergeChange, changes},
};

const LIST: &str = r#"{"type": "array", "items": {"type": "object", "required": ["name"],
    "properties": {"name": {"type": "string"}, "zone": {"type": "string", "default": "a"}}}MARKS}"#;

fn list(marks: &str) -> String {
    LIST.replace("MARKS", marks)
}

fn schema(spec: &str) -> Schema {
    let text = format!(
        r#"{{"spec": {{"group": "g", "names": {{"kind": "K"}}, "versions": [{{"name": "v1", "schema":
        {{"openAPIV3Schema": {{"type": "object", "properties": {{"spec": {spec}}}}}}}}}]}}}}"#
    );
    crd::compile(&text.parse().unwrap()).unwrap()
}

fn described(old: &str, new: &str) -> Vec<String> {
    let (old, new) = (schema(old), schema(new));
    let kind = |schema| Schema::kind(schema, "g/v1", "K").unwrap();
    let short = |change: &MergeChange| format!("{}: {} -> {}", change.path, change.before, change.after);
    changes(kind(&old), kind(&new)).iter().map(short).collect()
}

#[test]
fn exactly_the_changes_of_merging_are_reported() {
    let atomic = list("");
    let keyed = list(r#", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]"#);
    let both = list(r#", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "zone"]"#);
    let object = |marks: &str| format!(r#"{{"type": "object", "properties": {{"l": {atomic}}}{marks}}}"#);
    let map = |values: &str, marks: &str| {
        format!(r#"{{"type": "object", "additionalProperties": {values}{marks}}}"#)
    };
    let whole = r#", "x-kubernetes-map-type": "atomic""#;
    let anything = r#"{"x-kubernetes-preserve-unknown-fields": true}"#;
    for (old, new, expected) in [
        (&atomic, &atomic, vec![]),
        (&atomic, &keyed, vec![".spec: replaced as a whole -> merged by name"]),
        (&keyed, &atomic, vec![".spec: merged by name -> replaced as a whole"]),
        (&keyed, &both, vec![r#".spec: merged by name -> merged by name and zone ("a" where absent)"#]),
        (&object(""), &object(whole), vec![".spec: merged by field -> replaced as a whole"]),
        (
            &map(&atomic, ""),
            &map(&keyed, whole),
            vec![
                ".spec: merged by field -> replaced as a whole",
                ".spec.*: replaced as a whole -> merged by name",
            ],
        ),
        (&anything.to_owned(), &keyed, vec![".spec: replaced as a whole -> merged by name"]),
        (&anything.to_owned(), &object(""), vec![]),
        (&keyed, &anything.to_owned(), vec![".spec: merged by name -> replaced as a whole"]),
        (&atomic, &object(""), vec![]),
    ] {
        assert_eq!(described(old, new), expected, "from {old} to {new}");
    }
}

#[test]
fn recursive_types_terminate() {
    let definition = Schema::builtin().kind("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
    assert_eq!(changes(definition, definition), []);
}
