//! Deliberate improvements over Kubernetes: each test corresponds to an entry in `docs/differences.md`.

use crate::{
    SPEC,
    story::{Story, value},
};
use tenure_apply::ApplyError;

#[test]
fn managers_that_apply_the_same_zero_share_it() {
    for zero in ["a: ''", "num: 0", "flag: false", "map: {}", "atoms: []", "struct: null"] {
        let spec = format!("{{b: '1', {zero}}}");
        let story = Story::of(SPEC).applies("alice", &spec).zeros_are_left_out().applies("bob", &spec);
        let story = story.zeros_are_left_out();
        assert!(story.refused.is_none(), "{zero}: {:?}", story.refused);
        let sets: Vec<_> = story.state().managers.iter().map(|manager| manager.fields.clone()).collect();
        assert_eq!(sets.len(), 2, "{zero}");
        assert_eq!(sets[0], sets[1], "{zero}");
        let forced = story.forces("alice", &spec).zeros_are_left_out();
        assert_eq!(forced.state().managers.len(), 2, "{zero}: force takes nothing where no value differs");
    }
    Story::of(SPEC)
        .applies("alice", "{map: {}}")
        .zeros_are_left_out()
        .applies("bob", "{map: {k: v}}")
        .refused_with("Apply failed with 1 conflict: conflict with \"alice\": .spec.map");
}

#[test]
fn emptied_parts_are_empty_or_removed() {
    let owned = "{struct: {x: '1', w: '1'}}";
    Story::of(SPEC)
        .applies("alice", owned)
        .applies("alice", "{struct: {}}")
        .ends_with("{struct: {}}", &[("alice", "{f:spec: {f:struct: {}}}")]);
    Story::of(SPEC)
        .applies("alice", owned)
        .applies("alice", "{struct: null}")
        .ends_with("{struct: null}", &[("alice", "{f:spec: {f:struct: {}}}")]);
    Story::of(SPEC)
        .applies("alice", owned)
        .applies("alice", "{}")
        .ends_with("{}", &[("alice", "{f:spec: {}}")]);
    Story::of(SPEC)
        .applies("alice", "{a: '1', struct: {x: '1'}}")
        .applies("alice", "{a: '1'}")
        .ends_with("{a: '1'}", &[("alice", "{f:spec: {f:a: {}}}")]);
    Story::of(SPEC)
        .applies("alice", "{map: {x: '1'}}")
        .applies("bob", "{map: {}}")
        .applies("alice", "{a: '1'}")
        .ends_with(
            "{a: '1', map: {}}",
            &[("bob", "{f:spec: {f:map: {}}}"), ("alice", "{f:spec: {f:a: {}}}")],
        );
}

#[test]
fn managers_at_a_removed_version_are_dropped() {
    Story::of(SPEC)
        .second_version(SPEC)
        .applies("alice", "{a: '1'}")
        .applies_at_v2("bob", "{b: '1'}")
        .version_removed()
        .applies("carol", "{b: '2'}")
        .ends_with("{a: '1', b: '2'}", &[("alice", "{f:spec: {f:a: {}}}"), ("carol", "{f:spec: {f:b: {}}}")]);
}

#[test]
fn the_owner_of_an_atomic_whole_owns_its_parts_once_it_is_granular() {
    let granular = SPEC
        .replace("x-kubernetes-map-type: atomic, ", "")
        .replace("atoms: {type: array", "atoms: {type: array, x-kubernetes-list-type: set");
    Story::of(SPEC)
        .applies("alice", "{whole: {x: '1'}, atoms: [p]}")
        .schema_changes(&granular)
        .applies("bob", "{whole: {w: '1'}, atoms: [q]}")
        .ends_with(
            "{whole: {x: '1', w: '1'}, atoms: [p, q]}",
            &[
                ("alice", "{f:spec: {f:atoms: {'v:\"p\"': {}}, f:whole: {f:x: {}}}}"),
                ("bob", "{f:spec: {f:atoms: {'v:\"q\"': {}}, f:whole: {f:w: {}}}}"),
            ],
        )
        .applies("bob", "{whole: {x: '2'}}")
        .refused_with("Apply failed with 1 conflict: conflict with \"alice\": .spec.whole.x")
        .schema_changes(SPEC)
        .applies("alice", "{whole: {x: '1', w: '1'}, atoms: [p, q]}")
        .ends_with(
            "{whole: {x: '1', w: '1'}, atoms: [p, q]}",
            &[
                ("alice", "{f:spec: {f:atoms: {}, f:whole: {}}}"),
                ("bob", "{f:spec: {f:atoms: {}, f:whole: {}}}"),
            ],
        );
}

#[test]
fn an_item_is_removed_if_its_rest_would_be_invalid() {
    Story::of(SPEC)
        .applies("alice", "{hooks: [{name: h, target: t}, {name: i, target: t}]}")
        .applies("bob", "{hooks: [{name: h, policy: Fail}]}")
        .applies("alice", "{hooks: [{name: i, target: t}]}")
        .ends_with(
            "{hooks: [{name: i, target: t}]}",
            &[("alice", "{f:spec: {f:hooks: {'k:{\"name\":\"i\"}': {.: {}, f:name: {}, f:target: {}}}}}")],
        );
    Story::of(SPEC)
        .applies("alice", "{hooks: [{name: h, target: t}, {name: i, target: t}]}")
        .applies("bob", "{hooks: [{name: h, target: t, policy: Fail}]}")
        .applies("alice", "{hooks: [{name: i, target: t}]}")
        .ends_with(
            "{hooks: [{name: h, target: t, policy: Fail}, {name: i, target: t}]}",
            &[
                ("alice", "{f:spec: {f:hooks: {'k:{\"name\":\"i\"}': {.: {}, f:name: {}, f:target: {}}}}}"),
                ("bob", "{f:spec: {f:hooks: {'k:{\"name\":\"h\"}': {.: {}, f:name: {}, f:policy: {}, f:target: {}}}}}"),
            ],
        );
}

#[test]
fn applying_again_changes_nothing_regardless_of_defaults() {
    let config = "{a: '', num: 0, map: {}, atoms: [], set: [], struct: null, items: [{name: x, value: ''}], \
                  ports: [{port: 80, proto: null}, {port: 81}]}";
    let defaulted = "{items: [{name: x}], ports: [{port: 80, proto: TCP}, {port: 81, proto: TCP}]}";
    let story = Story::of(SPEC).applies("alice", config).zeros_are_left_out();
    let story = story.with_spec(defaulted);
    let before = story.state().clone();
    let mut again = story;
    for _ in 0..3 {
        again = again.applies("alice", config).zeros_are_left_out().with_spec(defaulted);
        assert!(again.refused.is_none());
        assert!(again.state().managers.same_fields(&before.managers));
        assert_eq!(again.state().object, before.object);
    }
}

#[test]
fn type_errors_have_path_value_and_expectation() {
    for (spec, message) in [
        ("{bogus: 1}", ".spec.bogus: field not declared in schema"),
        ("{a: 1}", ".spec.a: expected a string, got integer"),
        ("{struct: []}", ".spec.struct: expected an object, got list"),
        ("{items: {}}", ".spec.items: expected a list, got object"),
        (
            "{items: [{value: '1'}]}",
            ".spec.items: element 0: no value for merge key \"name\"; every item of this list needs one",
        ),
        (
            "{items: [null]}",
            ".spec.items: element 0: expected an object, since items are identified by their keys, got null",
        ),
        (
            "{items: [{name: a}, {name: b}, {name: a}]}",
            ".spec.items: duplicate entries for key [name=\"a\"], at 0 and 2; keep one of them",
        ),
        ("{set: [x, x]}", ".spec.set: duplicate entries for key [=\"x\"], at 0 and 1; keep one of them"),
        (
            "{items: [{name: a, more: {deep: true}}]}",
            ".spec.items[name=\"a\"].more.deep: expected a string, got boolean",
        ),
    ] {
        let story = Story::of(SPEC).applies("alice", spec);
        assert!(!matches!(story.refused, Some(ApplyError::Conflicts(_)) | None), "{spec}");
        story.refused_with(message);
    }
}

#[test]
fn managed_fields_in_a_configuration_are_rejected() {
    let config = value("{apiVersion: x.io/v1, kind: Thing, metadata: {name: t, managedFields: []}}");
    let story = Story::of(SPEC).applies_whole("alice", &config);
    story.refused_with("metadata.managedFields must be nil");
}
