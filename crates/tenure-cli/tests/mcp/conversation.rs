//! The conversation in `docs/agents.md` is the one that `examples/agent-conversation.py` has, and the role there limits an agent as it says.

use crate::{
    harness::{TENURE, TestCluster, installed, text},
    process::run,
};
use std::{fs, path::Path, process::Command};

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the block of a document that begins with a line.
fn block<'d>(document: &'d str, begin: &str) -> &'d str {
    let from = document.find(begin).unwrap_or_else(|| panic!("no {begin:?}")) + begin.len();
    let rest = &document[from..];
    &rest[..rest.find("```").expect("the end of the block")]
}

#[test]
fn the_conversation_in_the_documents_is_what_happens() {
    let cluster = TestCluster::start();
    let mut command = Command::new(installed("mcp-venv").join("bin/python"));
    command.arg(root().join("examples/agent-conversation.py")).env("TENURE", TENURE);
    let output = run(cluster.environment(&mut command), "");
    assert_eq!(output.code, Some(0), "{output:#?}");
    let path = root().join("docs/agents.md");
    let document = fs::read_to_string(&path).expect("docs/agents.md");
    let shown = block(&document, "```text\n");
    let now = output.out.trim_start();
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let (old, new) = (format!("```text\n{shown}```"), format!("```text\n{now}```"));
        fs::write(&path, document.replacen(&old, &new, 1)).expect("docs/agents.md");
    }
    assert!(
        shown == now,
        "docs/agents.md shows another conversation (UPDATE_SNAPSHOTS=1 updates it):\n{now}"
    );
}

#[test]
fn the_role_in_the_documents_limits_an_agent() {
    let cluster = TestCluster::secure();
    let document = fs::read_to_string(root().join("docs/agents.md")).expect("docs/agents.md");
    cluster.apply("admin", block(&document, "```yaml\n"));
    let web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  \
        template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: 'nginx:1'}]}\n";
    cluster.apply("ci", web);
    let mut agent = cluster.agent(&["--as", "agent", "-n", "shop"]);
    let mut plan = |task: &str, spec: &str| {
        let manifest = format!(
            r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web"}},"spec":{{"template":{{"spec":{spec}}}}}}}"#
        );
        agent.call("plan", &format!(r#"{{"task":"{task}","manifests":[{manifest}]}}"#))
    };
    let limits = r#"{"containers":[{"name":"web","resources":{"limits":{"memory":"256Mi"}}}]}"#;
    let ready = plan("limits", limits);
    assert_eq!(text(&ready, &["result"]), "ready", "{ready}");
    // Another field, and another task.
    for (task, spec) in [("limits", r#"{"hostNetwork":true}"#), ("other", limits)] {
        let refused = plan(task, spec);
        assert_eq!(text(&refused, &["result"]), "refused", "{refused}");
        assert!(refused.to_string().contains("may patch only some fields"), "{refused}");
    }
    let digest = text(&ready, &["digest"]);
    let done = agent.call("apply_plan", &format!(r#"{{"digest":"{digest}"}}"#));
    assert_eq!(text(&done, &["result"]), "complete", "{done}");
    let (reason, message) = agent.refused("get", r#"{"object":{"kind":"secret","name":"a"}}"#);
    assert_eq!(reason, "Refused", "{message}");
    let deletion = agent.call("delete", r#"{"objects":[{"kind":"deployment","name":"web"}]}"#);
    let digest = text(&deletion, &["digest"]);
    assert_eq!(agent.refused("apply_plan", &format!(r#"{{"digest":"{digest}"}}"#)).0, "Refused");
}
