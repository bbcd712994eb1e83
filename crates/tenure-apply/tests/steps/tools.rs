//! The functions behind the tools: reports, ownership changes, extraction, adoption and traces.

use crate::{
    SPEC,
    story::{Story, value},
};
use tenure_apply::{
    ApplyRule, Force, Identity, Operation, Timestamp, adopt, extract, ownership, ownership_by_place,
    ownership_changes, release, transfer,
};
use tenure_fields::Path;

#[test]
fn every_leaf_is_reported_with_its_owners_or_none() {
    let story = Story::of(SPEC)
        .applies("alice", "{a: '1', items: [{name: x, value: '1'}], whole: {k: v}}")
        .applies("bob", "{a: '1', map: {}}");
    let state = story.state();
    let described: Vec<String> = ownership(&state.object, &state.managers, story.ty())
        .iter()
        .map(|leaf| {
            let owners: Vec<&str> = leaf.owners.iter().map(|owner| owner.name.as_str()).collect();
            format!("{} {}", leaf.path, owners.join("+"))
        })
        .collect();
    assert_eq!(
        described,
        [
            ".apiVersion ",
            ".kind ",
            ".metadata.name ",
            ".spec.a alice+bob",
            ".spec.items[name=\"x\"].name alice",
            ".spec.items[name=\"x\"].value alice",
            ".spec.map bob",
            ".spec.whole alice",
        ]
    );
}

#[test]
fn ownership_by_place_lists_parents_before_their_children() {
    let story = Story::of(SPEC)
        .applies("alice", "{items: [{name: x, value: '1'}], map: {k: v}}")
        .applies("bob", "{items: [{name: x}], map: {}}");
    let state = story.state();
    let described: Vec<String> = ownership_by_place(&state.object, &state.managers, story.ty())
        .iter()
        .map(|place| {
            let owners: Vec<&str> = place.owners.iter().map(|owner| owner.name.as_str()).collect();
            format!("{} {}", place.path, owners.join("+"))
        })
        .filter(|line| line.starts_with(".spec"))
        .collect();
    assert_eq!(
        described,
        [
            ".spec ",
            ".spec.items ",
            ".spec.items[name=\"x\"] bob+alice",
            ".spec.items[name=\"x\"].name bob+alice",
            ".spec.items[name=\"x\"].value alice",
            ".spec.map bob",
            ".spec.map.k alice",
        ]
    );
    let leaves = ownership(&state.object, &state.managers, story.ty());
    let places = ownership_by_place(&state.object, &state.managers, story.ty());
    assert!(leaves.iter().all(|leaf| places.contains(leaf)), "every leaf is a place");
}

#[test]
fn between_two_states_each_manager_gains_loses_shares_and_sees_removed() {
    let before = Story::of(SPEC).applies("alice", "{a: '1', b: '1', num: 1}");
    let first = before.state().clone();
    let after = before.forces("bob", "{a: '2', num: 1}").applies("alice", "{num: 1}");
    let changes = ownership_changes(&first, after.state(), after.ty());
    let described: Vec<String> = changes
        .iter()
        .map(|change| {
            format!(
                "{}: +{:?} -{:?} x{:?} ={:?}",
                change.owner.name, change.gained, change.lost, change.removed, change.shared
            )
        })
        .collect();
    assert_eq!(
        described,
        [
            "bob: +{\"f:spec\":{\"f:a\":{},\"f:num\":{}}} -{} x{} ={\"f:spec\":{\"f:num\":{}}}",
            "alice: +{} -{\"f:spec\":{\"f:a\":{}}} x{\"f:spec\":{\"f:b\":{}}} ={\"f:spec\":{\"f:num\":{}}}",
        ]
    );
}

#[test]
fn the_last_configuration_of_a_manager_can_be_extracted_and_reapplied() {
    let config = "{a: '1', struct: {}, items: [{name: x, value: '1'}], ports: [{port: 80}], set: [p, q], whole: {k: v}}";
    let story = Story::of(SPEC)
        .applies("alice", config)
        .applies("bob", "{b: '1', items: [{name: w}, {name: x, more: {deep: '1'}}], set: [r]}");
    let state = story.state();
    let identity =
        Identity { name: "alice", operation: Operation::Apply, api_version: "x.io/v1", subresource: "" };
    let fields = state.managers.get(&identity).map(|manager| manager.fields.clone()).expect("alice");
    let extracted = extract(&state.object, &fields, story.ty());
    assert_eq!(extracted.get("spec"), Some(&value(config)));
    assert_eq!(extracted.at(["metadata", "name"]), Some(&value("t")));
}

#[test]
fn selected_managers_are_merged_into_one() {
    let story = Story::of(SPEC)
        .updates("kubectl-client-side-apply", "{a: '1', b: '1'}")
        .updates("kubectl-edit", "{a: '1', b: '2'}")
        .applies("other", "{num: 1}");
    let managers = &story.state().managers;
    let new_owner =
        Identity { name: "kubectl", operation: Operation::Apply, api_version: "x.io/v1", subresource: "" };
    let adoption =
        adopt(managers, &new_owner, Timestamp::from_unix(9), |manager| manager.name.starts_with("kubectl-"));
    assert!(adoption.left.is_empty());
    let described: Vec<String> = adoption
        .managers
        .iter()
        .map(|manager| format!("{} {} {:?}", manager.name, manager.operation, manager.fields))
        .collect();
    assert_eq!(
        described,
        [
            "other Apply {\"f:spec\":{\"f:num\":{}}}",
            "kubectl Apply {\"f:spec\":{\".\":{},\"f:a\":{},\"f:b\":{}}}",
        ]
    );
    let again = adopt(&adoption.managers, &new_owner, Timestamp::from_unix(99), |manager| {
        manager.name == "kubectl-edit"
    });
    assert_eq!(again.managers, adoption.managers, "no manager is left to adopt");
}

#[test]
fn single_fields_are_transferred_or_released() {
    let story = Story::of(SPEC)
        .applies("alice", "{a: '1', items: [{name: x, value: '1'}, {name: z}]}")
        .applies("bob", "{a: '1', num: 1}");
    let managers = &story.state().managers;
    let described = |managers: &tenure_apply::Managers| -> Vec<String> {
        managers.iter().map(|manager| format!("{} {:?}", manager.name, manager.fields)).collect()
    };
    let new_owner =
        Identity { name: "carol", operation: Operation::Apply, api_version: "x.io/v1", subresource: "" };
    let path = |text: &str| Path::parse(text).expect("a path");
    let now = Timestamp::from_unix(9);
    let paths = [path(".spec.a"), path(r#".spec.items[name="x"]"#)];
    let moved = transfer(managers, &paths, &new_owner, now, |manager| manager.name == "alice");
    assert!(moved.left.is_empty());
    assert_eq!(
        described(&moved.managers),
        [
            "alice {\"f:spec\":{\"f:items\":{\"k:{\\\"name\\\":\\\"z\\\"}\":{\".\":{},\"f:name\":{}}}}}",
            "bob {\"f:spec\":{\"f:a\":{},\"f:num\":{}}}",
            "carol {\"f:spec\":{\"f:a\":{},\"f:items\":{\"k:{\\\"name\\\":\\\"x\\\"}\":{\".\":{},\"f:name\":{},\"f:value\":{}}}}}",
        ]
    );
    let again = transfer(&moved.managers, &paths, &new_owner, Timestamp::from_unix(99), |manager| {
        manager.name == "alice"
    });
    assert_eq!(again.managers, moved.managers, "there is nothing left to move");
    let released = release(managers, &[path(".spec.a"), path(".spec.num")], |manager| manager.name == "bob");
    assert_eq!(described(&released).len(), 1, "a manager without fields is removed");
    let untouched = release(managers, &[path(".spec.b")], |_| true);
    assert_eq!(untouched, *managers);
}

#[test]
fn a_trace_has_the_deciding_rule_of_each_path() {
    let story = Story::of(SPEC)
        .applies("alice", "{a: '1', b: '1', num: 1, set: [p]}")
        .applies("bob", "{b: '1', flag: true, hooks: [{name: h, target: t}]}")
        .applies("carol", "{hooks: [{name: h, policy: Fail}]}");
    let (outcome, trace) = story.traces("bob", "{a: '2', b: '1', map: {k: v}}", Force::All);
    assert!(outcome.is_ok());
    let described: Vec<String> = trace
        .decisions()
        .iter()
        .map(|decision| {
            let rule = match &decision.rule {
                ApplyRule::Taken(from) => format!("taken from {}", from[0].name),
                ApplyRule::Shared(with) => format!("shared with {}", with[0].name),
                ApplyRule::RemovedWith(with) => format!("removed with {}", with[0].name),
                other => format!("{other:?}"),
            };
            format!("{} {rule}", decision.path)
        })
        .collect();
    assert_eq!(
        described,
        [
            ".spec.a taken from alice",
            ".spec.b shared with alice",
            ".spec.map.k Added",
            ".spec.flag Removed",
            ".spec.hooks[name=\"h\"] removed with carol",
            ".spec.hooks[name=\"h\"].name removed with carol",
            ".spec.hooks[name=\"h\"].target Removed",
        ]
    );
    let (outcome, trace) = story.traces("bob", "{a: '2', b: '1'}", Force::No);
    assert!(outcome.is_err());
    let path = ".spec.a".parse().expect("a path");
    assert!(matches!(trace.at(&path), Some(ApplyRule::Contested(owners)) if owners[0].name == "alice"));
}
