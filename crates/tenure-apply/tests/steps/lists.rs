//! Keyed lists, sets and their order.

use crate::{SPEC, story::Story};

#[test]
fn keyed_items_merge_by_key_and_are_removed_with_their_last_owner() {
    Story::of(SPEC)
        .applies("alice", "{items: [{name: a, value: '1'}, {name: b, value: '1'}]}")
        .applies("bob", "{items: [{name: b}, {name: c}]}")
        .applies("alice", "{items: [{name: b, value: '1'}]}")
        .ends_with(
            "{items: [{name: b, value: '1'}, {name: c}]}",
            &[
                ("bob", "{f:spec: {f:items: {'k:{\"name\":\"b\"}': {.: {}, f:name: {}}, 'k:{\"name\":\"c\"}': {.: {}, f:name: {}}}}}"),
                ("alice", "{f:spec: {f:items: {'k:{\"name\":\"b\"}': {.: {}, f:name: {}, f:value: {}}}}}"),
            ],
        );
}

#[test]
fn applied_items_keep_their_order_and_others_their_relative_position() {
    for (live, applied, merged) in [
        ("[a, b, c]", "[c, a]", "[b, c, a]"),
        ("[a, b]", "[x, b, w]", "[a, x, b, w]"),
        ("[a, b, c, d]", "[d, b]", "[a, c, d, b]"),
        ("[a]", "[b]", "[a, b]"),
        ("[a, b]", "[b, a]", "[b, a]"),
    ] {
        let story = Story::of(SPEC).applies("alice", &format!("{{set: {live}}}"));
        let story = story.applies("bob", &format!("{{set: {applied}}}"));
        let set = story.state().object.at(["spec", "set"]).cloned();
        assert_eq!(set, Some(crate::story::value(merged)), "{applied} over {live}");
    }
}

#[test]
fn a_key_with_a_default_identifies_items_whether_it_is_set_or_not() {
    Story::of(SPEC)
        .applies("alice", "{ports: [{port: 80, note: a}]}")
        .applies("bob", "{ports: [{port: 80, proto: UDP}, {port: 80, proto: TCP}]}")
        .ends_with(
            "{ports: [{port: 80, proto: UDP}, {port: 80, proto: TCP, note: a}]}",
            &[
                ("alice", "{f:spec: {f:ports: {'k:{\"port\":80,\"proto\":\"TCP\"}': {.: {}, f:note: {}, f:port: {}}}}}"),
                (
                    "bob",
                    "{f:spec: {f:ports: {'k:{\"port\":80,\"proto\":\"TCP\"}': {.: {}, f:port: {}, f:proto: {}}, \
                     'k:{\"port\":80,\"proto\":\"UDP\"}': {.: {}, f:port: {}, f:proto: {}}}}}",
                ),
            ],
        );
}

#[test]
fn duplicate_live_items_are_tolerated_and_replaced_when_applied() {
    let story = Story::of(SPEC)
        .updates("edit", "{items: [{name: a, value: '1'}, {name: b}, {name: a, value: '2'}]}")
        .applies("alice", "{items: [{name: c}]}")
        .ends_with(
            "{items: [{name: a, value: '1'}, {name: b}, {name: a, value: '2'}, {name: c}]}",
            &[
                ("alice", "{f:spec: {f:items: {'k:{\"name\":\"c\"}': {.: {}, f:name: {}}}}}"),
                (
                    "edit Update",
                    "{f:spec: {.: {}, f:items: {.: {}, 'k:{\"name\":\"a\"}': {}, 'k:{\"name\":\"b\"}': {.: {}, f:name: {}}}}}",
                ),
            ],
        );
    let story = story.forces("alice", "{items: [{name: a, value: '3'}, {name: c}]}");
    let items = story.state().object.at(["spec", "items"]).cloned();
    assert_eq!(items, Some(crate::story::value("[{name: a, value: '3'}, {name: b}, {name: c}]")));
}

#[test]
fn nested_lists_and_recursive_types_are_merged_at_every_level() {
    let recursive = "
type: object
properties:
  kids:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items:
      type: object
      required: [name]
      properties:
        name: {type: string}
        kids:
          type: array
          x-kubernetes-list-type: map
          x-kubernetes-list-map-keys: [name]
          items: {type: object, required: [name], properties: {name: {type: string}, toy: {type: string}}}
";
    let story = Story::of(recursive)
        .applies("alice", "{kids: [{name: a, kids: [{name: x, toy: ball}]}]}")
        .applies("bob", "{kids: [{name: a, kids: [{name: w}]}]}")
        .applies("alice", "{kids: [{name: a}]}");
    let spec = story.state().object.get("spec").cloned();
    assert_eq!(spec, Some(crate::story::value("{kids: [{name: a, kids: [{name: w}]}]}")));
}
