//! The way to places within types.

use tenure_schema::Schema;

#[test]
fn lists_are_entered_and_maps_stand_for_all_their_values() {
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
fn a_name_that_leads_nowhere_is_told_with_those_that_do() {
    let pod = Schema::builtin().kind("v1", "Pod").unwrap();
    let told = |names: &str| pod.locate(names).unwrap_err().to_string();
    assert_eq!(
        told("spec.hostname.x"),
        r#".spec.hostname: there is no field "x"; there is nothing below it"#
    );
    assert_eq!(
        told("spec.hostAliases.xyz"),
        r#".spec.hostAliases[]: there is no field "xyz"; there are hostnames, ip"#
    );
    assert_eq!(told("stauts"), r#"there is no field "stauts"; "status" may be meant"#);
}
