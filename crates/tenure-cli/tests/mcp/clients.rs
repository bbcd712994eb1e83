//! The SDKs and the inspector drive every tool and check every result against its schema.

use crate::{
    harness::{TENURE, TestCluster, installed},
    http::Listening,
    process::run,
};
use std::{path::Path, process::Command};
use tenure_value::{Limits, Value, json};

fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/clients").join(name).to_string_lossy().into_owned()
}

fn python() -> Command {
    Command::new(installed("mcp-venv").join("bin/python"))
}

#[test]
fn the_python_sdk_drives_every_tool() {
    let cluster = TestCluster::start();
    let mut command = python();
    command.args([&script("every_tool.py"), "stdio", TENURE, "mcp"]);
    run(cluster.environment(&mut command), "").succeeds_with("12 tools");
}

#[test]
fn the_python_sdk_drives_every_tool_over_http() {
    let cluster = TestCluster::start();
    let server = Listening::start(&cluster, &[]);
    let mut command = python();
    command.args([&script("every_tool.py"), "http", &server.address, &server.token]);
    run(cluster.environment(&mut command), "").succeeds_with("12 tools");
}

#[test]
fn the_typescript_sdk_drives_every_tool() {
    let cluster = TestCluster::start();
    let mut command = Command::new("node");
    command.args([&script("every_tool.cjs"), TENURE, "mcp"]);
    command.env("NODE_PATH", installed("mcp-npm").join("node_modules"));
    run(cluster.environment(&mut command), "").succeeds_with("12 tools");
}

#[test]
fn the_inspector_lists_and_calls_tools() {
    let cluster = TestCluster::start();
    cluster.apply("alice", &crate::harness::map("settings", "blue"));
    let kubeconfig = cluster.server.kubeconfig().to_string_lossy().into_owned();
    let inspect = |further: &[&str]| {
        let mut command = Command::new(installed("mcp-npm").join("node_modules/.bin/mcp-inspector"));
        command.args(["--cli", TENURE, "mcp", "--kubeconfig", &kubeconfig]).args(further);
        let output = run(cluster.environment(&mut command), "");
        assert_eq!(output.code, Some(0), "{output:#?}");
        json::parse(output.out.as_bytes(), &Limits::TRUSTED)
            .unwrap_or_else(|error| panic!("{error}: {}", output.out))
    };
    let listed = inspect(&["--method", "tools/list"]);
    assert_eq!(listed.get("tools").and_then(Value::as_array).map(|tools| tools.len()), Some(12), "{listed}");
    let object = r#"object={"kind":"configmap","name":"settings"}"#;
    let shown = inspect(&["--method", "tools/call", "--tool-name", "get", "--tool-arg", object]);
    let colour = shown.at(["structuredContent", "object", "data", "colour"]);
    assert_eq!(colour, Some(&Value::from("blue")), "{shown}");
    let templates = inspect(&["--method", "resources/templates/list"]);
    assert!(templates.to_string().contains("tenure://plan/{digest}"), "{templates}");
    let prompts = inspect(&["--method", "prompts/list"]);
    assert!(prompts.to_string().contains("explain_conflict"), "{prompts}");
}
