//! Managers at several versions of one kind, and schemas that change.

use crate::{SPEC, story::Story};

const V1: &str = "{type: object, properties: {old: {type: string}, a: {type: string}}}";
const V2: &str = "{type: object, properties: {new: {type: string}, a: {type: string}}}";

#[test]
fn a_field_that_versions_name_differently_is_one_field() {
    Story::of(V1)
        .second_version(V2)
        .applies("alice", "{old: '1'}")
        .applies_at_v2("bob", "{new: '2'}")
        .refused_with("Apply failed with 1 conflict: conflict with \"alice\": .spec.old")
        .applies_at_v2("bob", "{new: '1'}")
        .applies("alice", "{a: '1'}")
        .ends_with(
            "{old: '1', a: '1'}",
            &[("bob", "{f:spec: {f:new: {}}}"), ("alice", "{f:spec: {f:a: {}}}")],
        );
}

#[test]
fn an_applier_is_one_manager_at_every_version() {
    let story = Story::of(V1)
        .second_version(V2)
        .applies("alice", "{old: '1', a: '1'}")
        .applies_at_v2("alice", "{new: '2'}")
        .applies("alice", "{old: '2'}")
        .ends_with("{old: '2'}", &[("alice", "{f:spec: {f:old: {}}}")]);
    assert_eq!(story.state().managers.len(), 1);
}

#[test]
fn a_part_that_becomes_atomic_is_owned_by_all_owners_of_its_parts() {
    let atomic = SPEC.replace("map: {type: object", "map: {type: object, x-kubernetes-map-type: atomic");
    Story::of(SPEC)
        .applies("alice", "{map: {x: '1'}}")
        .applies("bob", "{map: {y: '1'}}")
        .schema_changes(&atomic)
        .applies("carol", "{map: {z: '1'}}")
        .refused_with(
            "Apply failed with 2 conflicts: conflicts with \"alice\":\n- .spec.map\nconflicts with \"bob\":\n- .spec.map",
        );
}
