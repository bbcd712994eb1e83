//! The fields that kube-apiserver recorded for a first apply equal the fields of the applied object according
//! to its type, except for fields set by the server and fields that identify the object.

use tenure_fields::{FieldSet, fields_v1};
use tenure_schema::Schema;
use tenure_value::Value;

/// The fields that no manager owns.
const IDENTITY: &[u8] =
    br#"{"f:apiVersion":{},"f:kind":{},"f:metadata":{".":{},"f:creationTimestamp":{},"f:generation":{},
    "f:managedFields":{},"f:name":{},"f:namespace":{},"f:resourceVersion":{},"f:selfLink":{},"f:uid":{}}}"#;

#[test]
fn an_applied_object_has_the_recorded_fields() {
    let identity = fields_v1::parse(IDENTITY).unwrap();
    let lines = include_str!("samples/applied.jsonl").lines();
    assert!(lines.clone().count() > 30);
    for line in lines {
        let recorded: Value = line.parse().unwrap();
        let [applied, fields] = ["applied", "fields"].map(|name| recorded.get(name).unwrap());
        let [version, kind] = ["apiVersion", "kind"].map(|name| applied.get(name).unwrap().as_str().unwrap());
        let ty = Schema::builtin().kind(version, kind).unwrap();
        let declared = FieldSet::of(applied, ty).unwrap_or_else(|error| panic!("{error}\nin {applied}"));
        assert_eq!(Ok(declared.difference(&identity)), fields_v1::from_value(fields), "{applied}");
    }
}
