//! Undo of past changes: fields that were not changed since are restored, fields that were are conflicts.

use tenure_apply::{Manager, Managers, Operation, State};
use tenure_fields::{Path, fields_v1};
use tenure_history::undo::{OnConflict, owners, plan};
use tenure_ownership::Difference;
use tenure_schema::Schema;
use tenure_value::Value;

/// Live object, before the change, after it; the expected object, edits and conflicts.
type Case<'a> = (&'a str, &'a str, &'a str, &'a str, &'a [&'a str], &'a [&'a str]);

const CONTAINERS: &str = r#"{"spec":{"template":{"spec":{"containers":"#;

#[test]
fn a_change_is_undone_unless_it_was_changed_again() {
    let pods = |items: &str| format!("{CONTAINERS}{items}}}}}}}}}");
    let (a, b, c) =
        (r#"{"name":"a","image":"1"}"#, r#"{"name":"b","image":"1"}"#, r#"{"name":"b","image":"2"}"#);
    let lists = [
        pods(&format!("[{a},{b}]")),
        pods(&format!("[{a},{c}]")),
        pods(&format!("[{a}]")),
        pods(&format!(r#"[{{"name":"z","image":"9"}},{a},{c}]"#)),
        pods(&format!(r#"[{{"name":"z","image":"9"}},{a},{b}]"#)),
    ];
    let image = r#".spec.template.spec.containers[name="b"].image"#;
    let item = r#".spec.template.spec.containers[name="b"]"#;
    let cases: [Case<'_>; 8] = [
        (
            r#"{"spec":{"replicas":5}}"#,
            r#"{"spec":{"replicas":3}}"#,
            r#"{"spec":{"replicas":5}}"#,
            r#"{"spec":{"replicas":3}}"#,
            &[".spec.replicas"],
            &[],
        ),
        // Another client changed another field, which stays.
        (
            r#"{"spec":{"paused":true,"replicas":5}}"#,
            r#"{"spec":{"replicas":3}}"#,
            r#"{"spec":{"replicas":5}}"#,
            r#"{"spec":{"paused":true,"replicas":3}}"#,
            &[".spec.replicas"],
            &[],
        ),
        // The field was changed again.
        (
            r#"{"spec":{"replicas":7}}"#,
            r#"{"spec":{"replicas":3}}"#,
            r#"{"spec":{"replicas":5}}"#,
            r#"{"spec":{"replicas":7}}"#,
            &[],
            &[".spec.replicas"],
        ),
        // It was undone already.
        (
            r#"{"spec":{"replicas":3}}"#,
            r#"{"spec":{"replicas":3}}"#,
            r#"{"spec":{"replicas":5}}"#,
            r#"{"spec":{"replicas":3}}"#,
            &[],
            &[],
        ),
        // The server's own fields stay.
        (
            r#"{"metadata":{"generation":9},"spec":{"replicas":5}}"#,
            r#"{"metadata":{"generation":1},"spec":{}}"#,
            r#"{"metadata":{"generation":2},"spec":{"replicas":5}}"#,
            r#"{"metadata":{"generation":9},"spec":{}}"#,
            &[".spec.replicas"],
            &[],
        ),
        // List items are identified by their keys.
        (&lists[3], &lists[0], &lists[1], &lists[4], &[image], &[]),
        (&lists[2], &lists[0], &lists[2], &lists[0], &[item], &[]),
        (&lists[1], &lists[2], &lists[0], &lists[1], &[], &[item]),
    ];
    let ty = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
    for (live, before, after, expected, edits, conflicts) in cases {
        let read = |text: &str| -> Value { text.parse().unwrap() };
        let plan = plan(&read(live), &read(before), &read(after), ty, OnConflict::Keep);
        let edited: Vec<String> = plan.edits.iter().map(|edit| edit.path.quoted().to_string()).collect();
        let conflicting: Vec<String> =
            plan.conflicts.iter().map(|one| one.path.quoted().to_string()).collect();
        assert_eq!(plan.object, read(expected), "{live}");
        assert_eq!(
            (edited, conflicting),
            (
                edits.iter().map(|s| s.to_string()).collect(),
                conflicts.iter().map(|s| s.to_string()).collect()
            ),
            "{live}"
        );
    }
}

#[test]
fn a_conflict_is_overwritten_on_request() {
    let read =
        |replicas: i64| -> Value { format!(r#"{{"spec":{{"replicas":{replicas}}}}}"#).parse().unwrap() };
    let ty = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
    let plan = plan(&read(7), &read(3), &read(5), ty, OnConflict::Overwrite);
    assert_eq!((plan.object, plan.edits.len(), plan.conflicts.len()), (read(3), 1, 1));
}

#[test]
fn restored_fields_go_back_to_their_former_owners() {
    let manager = |name: &str, fields: &str| Manager {
        name: name.into(),
        operation: Operation::Update,
        api_version: "apps/v1".into(),
        subresource: "".into(),
        time: None,
        fields: fields_v1::parse(fields.as_bytes()).unwrap(),
    };
    let replicas = r#"{"f:spec":{"f:replicas":{}}}"#;
    let both = r#"{"f:spec":{"f:paused":{},"f:replicas":{}}}"#;
    let paused = r#"{"f:spec":{"f:paused":{}}}"#;
    let before = State { object: Value::Null, managers: Managers::new([manager("alice", both)]) };
    let written = Managers::new([manager("alice", paused), manager("undoer", replicas)]);
    let path = Path::parse(".spec.replicas").unwrap();
    let restored = [Difference { path, before: None, after: None }];
    assert_eq!(owners(&written, &before, &restored, "undoer"), Managers::new([manager("alice", both)]));
}
