//! `tenure test-server`: a control plane for tests in any language.

use crate::process::{Started, run};
use serde_json::Value;
use std::process::Command;

/// Starts a server and returns the document that it prints.
fn start(arguments: &[&str]) -> (Started, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(["test-server", "-o", "json"]).args(arguments);
    let server = Started::printing(&mut command, |line| line == "}");
    let document = serde_json::from_str(&server.printed).expect("JSON");
    (server, document)
}

fn curl(arguments: &[&str]) -> Value {
    let mut command = Command::new("curl");
    command.args(["-s", "--max-time", "30", "-H", "Content-Type: application/json"]).args(arguments);
    let output = run(&mut command, "");
    serde_json::from_str(&output.out).unwrap_or_else(|error| panic!("{error}: {output:#?}"))
}

#[test]
fn tests_of_any_language_fork_move_time_and_inject_faults() {
    let (_server, told) = start(&["--seed", "7", "--testing-listen", "127.0.0.1:0"]);
    let text = |name: &str| told[name].as_str().unwrap_or_else(|| panic!("{name} in {told}")).to_string();
    let (url, testing) = (text("url"), text("testing"));
    let maps = format!("{url}/api/v1/namespaces/default/configmaps");
    let made = curl(&[&maps, "-d", r#"{"metadata":{"name":"a"}}"#]);
    assert_eq!(made["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");

    let fork = curl(&["-X", "POST", &format!("{testing}/fork")]);
    let forked = fork["url"].as_str().expect("a url");
    curl(&["-X", "DELETE", &format!("{forked}/api/v1/namespaces/default/configmaps/a")]);
    assert_eq!(curl(&[&format!("{maps}/a")])["metadata"]["name"], "a", "the origin has it still");

    let clock = curl(&[&format!("{testing}/clock"), "-d", r#"{"advance":"1h"}"#]);
    assert_eq!(clock["now"], "2026-01-01T01:00:00Z");
    curl(&[&format!("{testing}/faults"), "-d", r#"{"effect":"tooManyRequests","verb":"list","times":1}"#]);
    assert_eq!(curl(&[&maps])["code"], 429);
    assert_eq!(curl(&[&maps])["kind"], "ConfigMapList");
}

#[test]
fn the_endpoints_are_off_by_default() {
    let (_server, told) = start(&[]);
    assert_eq!(told["testing"], Value::Null);
    let url = told["url"].as_str().expect("a url");
    assert_eq!(curl(&[&format!("{url}/api")])["kind"], "APIVersions");
    let kubeconfig =
        std::fs::read_to_string(told["kubeconfig"].as_str().expect("a path")).expect("a kubeconfig");
    assert!(kubeconfig.contains(url), "{kubeconfig}");
    let mut refused = Command::new(env!("CARGO_BIN_EXE_tenure"));
    refused.args(["test-server", "--listen", "0.0.0.0:0"]);
    run(&mut refused, "").fails_with("is not a loopback address");
}
