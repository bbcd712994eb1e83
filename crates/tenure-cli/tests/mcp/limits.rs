//! The limits of a server hold whatever is asked.

use crate::{
    etcd_process::Etcd,
    harness::{TestCluster, map, text},
    process::run,
};
use std::{fs, process::Command};
use tenure_value::{Limits, Value, json};

const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {password: hunter2}\n";

#[test]
fn a_read_only_server_writes_nothing_whatever_is_asked() {
    let cluster = TestCluster::start();
    cluster.apply("alice", &map("settings", "blue"));
    let state = || cluster.tenure(&["log", "configmap/settings", "-o", "json"]).out;
    let before = state();
    let mut agent = cluster.agent(&["--read-only"]);
    let change = agent.plan("paint", &map("other", "red"));
    let settle = r#"{"task":"paint","yaml":"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: red}",
        "settle":[{"path":".data.colour","how":"take"}]}"#
        .replace('\n', " ");
    let taken = text(&agent.call("plan", &settle), &["digest"]);
    let deleted =
        text(&agent.call("delete", r#"{"objects":[{"kind":"cm","name":"settings"}]}"#), &["digest"]);
    let moved =
        agent.call("transfer", r#"{"object":{"kind":"cm","name":"settings"},"from":["alice"],"to":"bob"}"#);
    let undone = agent.call("undo", r#"{"object":{"kind":"cm","name":"settings"}}"#);
    agent.call(
        "rehearse",
        r#"{"task":"paint","manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"r"}}]}"#,
    );
    for digest in [change, taken, deleted, text(&moved, &["digest"]), text(&undone, &["digest"])] {
        let (reason, message) = agent.refused("apply_plan", &format!(r#"{{"digest":"{digest}"}}"#));
        assert_eq!(reason, "NotAllowed", "{message}");
    }
    assert_eq!(state(), before);
    cluster.tenure(&["blame", "configmap/other"]).fails_with("not found");
    cluster.tenure(&["blame", "configmap/r"]).fails_with("not found");
}

#[test]
fn other_namespaces_and_kinds_are_neither_shown_nor_planned() {
    let cluster = TestCluster::start();
    cluster.apply("alice", &map("settings", "blue"));
    cluster.apply("alice", SECRET);
    cluster.apply("alice", "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n");
    let flags = ["--namespaces", "default", "--kinds", "configmaps,namespaces", "--max-objects", "1"];
    let mut agent = cluster.agent(&flags);
    for (tool, arguments) in [
        ("get", r#"{"object":{"kind":"secret","name":"key"}}"#),
        ("get", r#"{"object":{"kind":"cm","name":"settings","namespace":"other"}}"#),
        ("get", r#"{"object":{"kind":"namespace","name":"other"}}"#),
        ("list", r#"{"kind":"secrets"}"#),
        ("list", r#"{"kind":"cm","all_namespaces":true}"#),
        ("list", r#"{"kind":"cm","namespace":"other"}"#),
        ("blame", r#"{"object":{"kind":"secret","name":"key"}}"#),
        ("why", r#"{"object":{"kind":"secret","name":"key"},"field":".data.password"}"#),
        ("history", r#"{"object":{"kind":"secret","name":"key"}}"#),
        ("undo", r#"{"object":{"kind":"secret","name":"key"}}"#),
        ("transfer", r#"{"object":{"kind":"secret","name":"key"},"from":["alice"],"to":"bob"}"#),
        ("delete", r#"{"objects":[{"kind":"secret","name":"key"}]}"#),
        ("plan", r#"{"task":"a","delete":[{"kind":"secret","name":"key"}]}"#),
        ("plan", r#"{"task":"a","yaml":"apiVersion: v1\nkind: Secret\nmetadata: {name: b}"}"#),
        (
            "plan",
            r#"{"task":"a","yaml":"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: other}"}"#,
        ),
        (
            "plan",
            r#"{"task":"a","manifests":[{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"}}]}]}"#,
        ),
        ("plan", r#"{"task":"a","delete":[{"kind":"cm","name":"settings"},{"kind":"cm","name":"x"}]}"#),
        ("rehearse", r#"{"task":"a","yaml":"apiVersion: v1\nkind: Secret\nmetadata: {name: b}"}"#),
    ] {
        let (reason, message) = agent.refused(tool, arguments);
        assert_eq!(reason, "NotAllowed", "{tool} {arguments}: {message}");
    }
    let read = agent.request("resources/read", r#"{"uri":"tenure://object/secret/default/key"}"#);
    assert!(text(&read, &["error", "message"]).contains("configmaps, namespaces only"), "{read}");
    assert!(agent.call("get", r#"{"object":{"kind":"cm","name":"settings"}}"#).get("object").is_some());
}

#[test]
fn values_of_secrets_are_shown_only_if_a_flag_says_so() {
    let cluster = TestCluster::start();
    cluster.apply("alice", SECRET);
    let arguments = r#"{"object":{"kind":"secret","name":"key"},"fields":[".data.password"]}"#;
    let shown = cluster.agent(&["--show-secrets"]).call("get", arguments);
    assert!(shown.to_string().contains("aHVudGVyMg=="), "{shown}");
    let hidden = cluster.agent(&[]).call("get", arguments);
    assert!(hidden.to_string().contains("***") && !hidden.to_string().contains("aHVudGVyMg"), "{hidden}");
}

#[test]
fn every_call_is_in_the_audit_log_with_the_digest_of_its_plan() {
    let cluster = TestCluster::start();
    let file = cluster.home.path().join("audit.jsonl");
    let mut agent = cluster.agent(&["--audit-log", &file.to_string_lossy()]);
    let digest = agent.plan("keys", SECRET);
    agent.call("apply_plan", &format!(r#"{{"digest":"{digest}"}}"#));
    agent.refused("apply_plan", &format!(r#"{{"digest":"{digest}"}}"#));
    agent.refused("get", r#"{"object":{"kind":"cm"}}"#);
    agent.request("resources/read", r#"{"uri":"tenure://object/secret/default/key"}"#);
    assert!(agent.leave().success());
    let log = fs::read_to_string(&file).expect("the log");
    let line = |line: &str| {
        let entry = json::parse(line.as_bytes(), &Limits::TRUSTED).expect("JSON");
        let digest = entry.get("digest").and_then(Value::as_str).map(|_| "+").unwrap_or_default();
        format!(
            "{} {} {}{digest}",
            text(&entry, &["stage"]),
            text(&entry, &["tool"]),
            text(&entry, &["outcome"])
        )
    };
    let lines: Vec<String> = log.lines().map(line).collect();
    let expected = [
        "result plan ok+",
        "call apply_plan begun+",
        "result apply_plan ok+",
        "result apply_plan NotFound+",
        "result get InvalidArguments",
        "result resources/read ok",
    ];
    assert_eq!(lines, expected);
    assert!(!log.contains("hunter2") && log.matches(&digest).count() >= 4, "{log}");
    // What cannot be logged is not done.
    let mut agent = cluster.agent(&["--audit-log", "/dev/full"]);
    let digest = agent.plan("paint", &map("unlogged", "red"));
    assert_eq!(agent.refused("apply_plan", &format!(r#"{{"digest":"{digest}"}}"#)).0, "Unavailable");
    cluster.tenure(&["blame", "configmap/unlogged"]).fails_with("not found");
}

#[test]
fn a_person_can_undo_what_an_agent_did() {
    let cluster = TestCluster::start();
    cluster.apply("alice", &map("settings", "blue"));
    let mut agent = cluster.agent(&["--full-text"]);
    let settle = r#"{"task":"paint","manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"colour":"red"}}],
        "settle":[{"path":".data.colour","how":"take"}]}"#
        .replace('\n', " ");
    let digest = text(&agent.call("plan", &settle), &["digest"]);
    agent.call("apply_plan", &format!(r#"{{"digest":"{digest}"}}"#));
    assert!(cluster.tenure(&["blame", "configmap/settings"]).out.contains("agent/paint"));
    let undone = cluster.tenure(&["undo", "--yes"]);
    assert_eq!(undone.code, Some(0), "{undone:#?}");
    let blame = cluster.tenure(&["blame", "configmap/settings"]).out;
    assert!(blame.contains("blue") && blame.contains("alice") && !blame.contains("agent/paint"), "{blame}");
    let again = agent
        .request("tools/call", r#"{"name":"get","arguments":{"object":{"kind":"cm","name":"settings"}}}"#);
    let content = again.at(["result", "content"]).and_then(Value::as_array).map(|parts| parts.len());
    assert_eq!(content, Some(2), "{again}");
}

#[test]
fn so_many_objects_are_changed_in_a_minute() {
    let cluster = TestCluster::start();
    let mut agent = cluster.agent_without_time(&["--max-changes-per-minute", "3"]);
    let maps = |names: &[&str]| names.iter().map(|name| map(name, "red")).collect::<Vec<_>>().join("---\n");
    let digest = |plan: &str| format!(r#"{{"digest":"{plan}"}}"#);
    let two = agent.plan("paint", &maps(&["a", "b"]));
    agent.call("apply_plan", &digest(&two));
    // No room for two more: nothing of it is written, and the plan stays.
    let more = agent.plan("paint", &maps(&["c", "d"]));
    for _ in 0..2 {
        let (reason, message) = agent.refused("apply_plan", &digest(&more));
        assert!(
            reason == "TooManyChanges" && message.contains("2 were changed in the last one"),
            "{message}"
        );
    }
    cluster.tenure(&["blame", "configmap/c"]).fails_with("not found");
    // Another task and an undo share the room.
    let one = agent.plan("other", &map("e", "red"));
    agent.call("apply_plan", &digest(&one));
    let undo = text(&agent.call("undo", &digest(&one)), &["digest"]);
    assert_eq!(agent.refused("apply_plan", &digest(&undo)).0, "TooManyChanges");
    // There is never room for so many.
    let four = agent.plan("paint", &maps(&["f", "g", "h", "i"]));
    let refused = agent.call("apply_plan", &digest(&four));
    assert_eq!(text(&refused, &["error", "suggestion"]), "plan fewer objects at once");
}

#[test]
fn a_plan_is_written_together_where_the_server_can() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n";
    let inner = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inner, namespace: team}\ndata: {a: b}\n";
    let etcd = Etcd::start();
    let clusters =
        [(TestCluster::secure(), true), (TestCluster::on_etcd(&etcd), true), (TestCluster::start(), false)];
    for (cluster, is_atomic) in clusters {
        let mut agent = cluster.agent(&[]);
        let both = format!("{}---\n{}", map("one", "red"), map("two", "red"));
        let plan = agent.plan("paint", &both);
        let done = agent.call("apply_plan", &format!(r#"{{"digest":"{plan}"}}"#));
        assert_eq!(done.get("atomic"), Some(&Value::Bool(is_atomic)), "{done}");
        let undo = text(&agent.call("undo", &format!(r#"{{"digest":"{plan}"}}"#)), &["digest"]);
        let undone = agent.call("apply_plan", &format!(r#"{{"digest":"{undo}"}}"#));
        assert_eq!(undone.get("atomic"), Some(&Value::Bool(is_atomic)), "{undone}");
        cluster.tenure(&["blame", "configmap/one"]).fails_with("not found");
        // The second object cannot be written any more; then the first is not, either.
        cluster.apply("person", namespace);
        let plan = agent.plan("paint", &format!("{}---\n{inner}", map("first", "red")));
        let mut kubectl = Command::new("kubectl");
        kubectl.args(["delete", "namespace", "team"]);
        run(cluster.environment(&mut kubectl), "").succeeds_with("deleted");
        let failed = agent.call("apply_plan", &format!(r#"{{"digest":"{plan}"}}"#));
        assert!(failed.get("error").is_some(), "{failed}");
        let first = cluster.tenure(&["blame", "configmap/first"]);
        assert_eq!(first.code == Some(0), !is_atomic, "{first:#?}");
    }
}

#[test]
fn a_plan_that_is_too_large_for_a_transaction_of_etcd_is_written_in_turn() {
    let etcd = Etcd::start();
    let cluster = TestCluster::on_etcd(&etcd);
    let mut agent = cluster.agent(&["--max-objects", "200"]);
    let maps: Vec<String> = (0..130).map(|number| map(&format!("m{number}"), "red")).collect();
    let plan = agent.plan("paint", &maps.join("---\n"));
    let done = agent.call("apply_plan", &format!(r#"{{"digest":"{plan}"}}"#));
    assert_eq!(done.get("atomic"), Some(&Value::Bool(false)), "{done}");
    cluster.tenure(&["blame", "configmap/m129"]).succeeds_with("agent/paint");
    let undo = text(&agent.call("undo", &format!(r#"{{"digest":"{plan}"}}"#)), &["digest"]);
    let undone = agent.call("apply_plan", &format!(r#"{{"digest":"{undo}"}}"#));
    assert_eq!(undone.get("atomic"), Some(&Value::Bool(false)), "{undone}");
    cluster.tenure(&["blame", "configmap/m129"]).fails_with("not found");
}
