//! Decoding of bodies by the types of built-in kinds.

use crate::recordings;
use tenure_builtin::{DecodeError, Decoded, Kinds, registry_at};

fn read(api_version: &str, kind: &str, body: &str) -> Result<Decoded, Box<DecodeError>> {
    let resource = registry_at(recordings::version()).of_kind(api_version, kind).unwrap();
    Kinds::at(recordings::version()).complete(resource, &body.parse().unwrap(), Default::default())
}

#[test]
fn a_wrong_type_is_reported_with_field_and_type() {
    for (kind, body, message) in [
        (
            "ConfigMap",
            r#"{"data":"s"}"#,
            "json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string",
        ),
        (
            "Pod",
            r#"{"spec":{"hostNetwork":"yes"}}"#,
            "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
        ),
        (
            "Pod",
            r#"{"spec":{"containers":{}}}"#,
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            "Pod",
            r#"{"spec":{"priority":1.5}}"#,
            "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            "Pod",
            r#"{"spec":{"priority":99999999999}}"#,
            "json: cannot unmarshal number 99999999999 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            "Pod",
            r#"{"spec":[]}"#,
            "json: cannot unmarshal array into Go struct field Pod.spec of type v1.PodSpec",
        ),
        ("Secret", r#"{"data":{"a":"***"}}"#, "illegal base64 data at input byte 0"),
    ] {
        assert_eq!(read("v1", kind, body).unwrap_err().message, message);
    }
}

#[test]
fn unknown_fields_are_dropped_and_reported() {
    let body =
        r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i:1","zip":1}],"nope":1}}"#;
    let read = read("v1", "Pod", body).unwrap();
    let expected = ["unknown field \"spec.containers[0].zip\"", "unknown field \"spec.nope\""];
    assert_eq!(read.strict_errors, expected);
    assert_eq!(read.value.at(["spec", "nope"]), None);
}

#[test]
fn values_become_canonical() {
    let body = r#"{"metadata":{"name":"c","creationTimestamp":"2024-01-01T01:00:00.5+01:00"},"spec":{"resources":{"requests":{"storage":"0.5Gi"}},"accessModes":null}}"#;
    let read = read("v1", "PersistentVolumeClaim", body).unwrap().value;
    assert_eq!(read.at(["metadata", "creationTimestamp"]), Some(&"2024-01-01T00:00:00Z".into()));
    assert_eq!(read.at(["spec", "resources", "requests", "storage"]), Some(&"512Mi".into()));
    assert_eq!(read.at(["spec", "accessModes"]), None);
}

#[test]
fn a_complete_object_keeps_its_memory() {
    let body = r#"{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}}}"#;
    let once = read("apps/v1", "Deployment", body).unwrap().value;
    let resource = registry_at(recordings::version()).of_kind("apps/v1", "Deployment").unwrap();
    let twice = Kinds::at(recordings::version()).complete(resource, &once, Default::default()).unwrap().value;
    assert!(twice.ptr_eq(&once));
}
