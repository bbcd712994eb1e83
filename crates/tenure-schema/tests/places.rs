//! Resolution of type paths.

use tenure_schema::Schema;

#[test]
fn lists_are_entered_implicitly_and_maps_denote_all_values() {
    let pod = Schema::builtin().kind("v1", "Pod").unwrap();
    for (names, path) in [
        ("", ""),
        (".spec", ".spec"),
        ("spec.containers", ".spec.containers"),
        ("spec.containers[]", ".spec.containers[]"),
        ("spec.containers[*].ports.name", ".spec.containers[].ports[].name"),
        ("metadata.labels.app", ".metadata.labels.*"),
        ("metadata.annotations.*", ".metadata.annotations.*"),
    ] {
        assert_eq!(pod.locate(names).map(|found| found.path.to_string()), Ok(path.to_owned()), "{names}");
    }
    assert!(pod.locate("spec.containers").unwrap().field.is_some());
}

#[test]
fn unknown_fields_are_reported_with_suggestions() {
    let pod = Schema::builtin().kind("v1", "Pod").unwrap();
    let error = |names: &str| pod.locate(names).unwrap_err().to_string();
    assert_eq!(error("spec.hostname.x"), r#".spec.hostname: unknown field "x"; it has no fields"#);
    assert_eq!(
        error("spec.hostAliases.xyz"),
        r#".spec.hostAliases[]: unknown field "xyz"; it has hostnames, ip"#
    );
    assert_eq!(error("stauts"), r#"unknown field "stauts"; did you mean "status"?"#);
}
