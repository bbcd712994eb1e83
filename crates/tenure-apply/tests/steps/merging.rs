//! Leaves, structs, maps and untyped values: merging, giving up, conflicts and force.

use crate::{SPEC, story::Story};

#[test]
fn apply_merges_leaves_and_the_applier_owns_them() {
    Story::of(SPEC)
        .applies("alice", "{a: '1', num: 2}")
        .applies("alice", "{a: '1', num: 3}")
        .ends_with("{a: '1', num: 3}", &[("alice", "{f:spec: {f:a: {}, f:num: {}}}")]);
}

#[test]
fn omitted_fields_are_removed_unless_others_own_them() {
    Story::of(SPEC)
        .applies("alice", "{a: '1', b: '1'}")
        .applies("bob", "{b: '1'}")
        .applies("alice", "{}")
        .ends_with("{b: '1'}", &[("bob", "{f:spec: {f:b: {}}}"), ("alice", "{f:spec: {}}")]);
}

#[test]
fn equal_values_are_shared_and_a_change_conflicts_with_every_owner() {
    Story::of(SPEC)
        .applies("alice", "{a: '1'}")
        .applies("bob", "{a: '1'}")
        .applies("carol", "{a: '2'}")
        .refused_with(
            "Apply failed with 2 conflicts: conflicts with \"alice\":\n- .spec.a\nconflicts with \"bob\":\n- .spec.a",
        )
        .forces("carol", "{a: '2'}")
        .ends_with("{a: '2'}", &[("carol", "{f:spec: {f:a: {}}}")]);
}

#[test]
fn a_conflict_has_path_owners_and_both_values() {
    let story = Story::of(SPEC).updates("edit", "{num: 1}").applies("bob", "{num: 2}");
    let Some(tenure_apply::ApplyError::Conflicts(conflicts)) = &story.refused else { panic!("no conflict") };
    let conflict = conflicts.iter().next().expect("a conflict");
    assert_eq!(conflict.path.to_string(), ".spec.num");
    assert_eq!((conflict.live.clone(), conflict.proposed.clone()), (Some(1.into()), Some(2.into())));
    let owner = &conflict.owners[0];
    assert_eq!(owner.identity().to_string(), "\"edit\" using x.io/v1");
    assert_eq!(owner.time.map(|time| time.unix()), Some(1));
    assert_eq!(conflicts.causes()[0].message, "conflict with \"edit\" using x.io/v1");
}

#[test]
fn force_of_a_path_takes_only_that_path() {
    Story::of(SPEC)
        .applies("alice", "{a: '1', struct: {x: '1', w: '1'}}")
        .forces_over("bob", &["spec.struct"], "{a: '2', struct: {x: '2', w: '2'}}")
        .refused_with("Apply failed with 1 conflict: conflict with \"alice\": .spec.a")
        .forces_over("bob", &["spec.struct"], "{struct: {x: '2', w: '2'}}")
        .ends_with(
            "{a: '1', struct: {x: '2', w: '2'}}",
            &[("alice", "{f:spec: {f:a: {}}}"), ("bob", "{f:spec: {f:struct: {f:w: {}, f:x: {}}}}")],
        );
}

#[test]
fn atomic_parts_are_owned_and_replaced_as_one() {
    Story::of(SPEC)
        .applies("alice", "{whole: {x: '1', w: '1'}, atoms: [p, q]}")
        .applies("bob", "{whole: {z: '1'}}")
        .refused_with("Apply failed with 1 conflict: conflict with \"alice\": .spec.whole")
        .forces("bob", "{whole: {z: '1'}, atoms: [r]}")
        .ends_with("{whole: {z: '1'}, atoms: [r]}", &[("bob", "{f:spec: {f:atoms: {}, f:whole: {}}}")]);
}

#[test]
fn untyped_values_merge_by_their_own_structure() {
    Story::of(SPEC)
        .applies("alice", "{free: {x: {w: 1}, l: [1, 2]}}")
        .applies("bob", "{free: {x: {z: 2}}}")
        .ends_with(
            "{free: {x: {w: 1, z: 2}, l: [1, 2]}}",
            &[
                ("alice", "{f:spec: {f:free: {f:l: {}, f:x: {.: {}, f:w: {}}}}}"),
                ("bob", "{f:spec: {f:free: {f:x: {.: {}, f:z: {}}}}}"),
            ],
        )
        .applies("bob", "{free: {l: [3]}}")
        .refused_with("Apply failed with 1 conflict: conflict with \"alice\": .spec.free.l");
}

#[test]
fn an_update_owns_what_it_changes_and_removed_fields_have_no_owner() {
    Story::of(SPEC)
        .applies("alice", "{a: '1', b: '1', num: 1}")
        .updates("edit", "{a: '2', num: 1}")
        .ends_with(
            "{a: '2', num: 1}",
            &[("alice", "{f:spec: {f:num: {}}}"), ("edit Update", "{f:spec: {f:a: {}}}")],
        );
}

#[test]
fn an_update_that_changes_nothing_changes_no_owner_and_no_time() {
    let before = Story::of(SPEC).applies("alice", "{a: '1'}");
    let state = before.state().clone();
    assert_eq!(*before.updates("edit", "{a: '1'}").state(), state);
}

#[test]
fn a_manager_that_owns_nothing_disappears() {
    Story::of(SPEC)
        .applies("alice", "{a: '1'}")
        .updates("edit", "{a: '2'}")
        .updates("other", "{a: '3'}")
        .ends_with("{a: '3'}", &[("other Update", "{f:spec: {f:a: {}}}")]);
}

#[test]
fn the_time_of_an_applier_moves_with_the_object_only() {
    let story = Story::of(SPEC).applies("alice", "{a: '1'}").applies("bob", "{a: '1'}");
    let times: Vec<_> =
        story.state().managers.iter().map(|manager| manager.time.map(|time| time.unix())).collect();
    assert_eq!(times, [None, Some(1)], "bob changed nothing, so no time is known of him");
    let story = story.applies("alice", "{a: '1'}").forces("alice", "{a: '2'}");
    let times: Vec<_> =
        story.state().managers.iter().map(|manager| manager.time.map(|time| time.unix())).collect();
    assert_eq!(times, [Some(4)]);
}

#[test]
fn fields_that_an_endpoint_resets_are_neither_written_nor_owned() {
    Story::of(SPEC)
        .applies("alice", "{a: '1'}")
        .endpoint("status", &["spec.a"])
        .applies("bob", "{a: '2', b: '2'}")
        .ends_with("{a: '1', b: '2'}", &[("alice", "{f:spec: {f:a: {}}}"), ("bob", "{f:spec: {f:b: {}}}")]);
}
