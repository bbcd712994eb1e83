//! An apply that changed nothing is remembered, and answered without a merge when it is repeated. Nobody can tell, except by
//! the metric and the processor time: whatever has changed in between has its effect.

use crate::{
    http::Response,
    server::{APPLY, MERGE_PATCH, Server, version},
};
use tenure_value::Value;

const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/default/deployments/d";
const CONFIG: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  replicas: 2\n  \
    selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      \
    containers: [{name: c, image: a}]\n";

/// Returns how many applies were answered from memory.
fn repeats(server: &Server) -> u64 {
    let text = server.get("/metrics").text();
    let count = text.lines().find_map(|line| line.strip_prefix("tenure_repeated_applies_total "));
    count.and_then(|count| count.parse().ok()).expect("the metric is served")
}

/// Applies as `alice` and returns the response and whether it came from memory.
fn apply(server: &Server, path: &str, config: &str) -> (Response, bool) {
    let before = repeats(server);
    let response = server.apply(path, "alice", config);
    (response, repeats(server) > before)
}

/// Starts a server that remembers an apply of a Deployment.
fn remembering() -> (Server, Value) {
    let server = Server::start();
    assert_eq!(server.apply(DEPLOYMENT, "alice", CONFIG).code, 201);
    let (first, from_memory) = apply(&server, DEPLOYMENT, CONFIG);
    assert_eq!((first.code, from_memory), (200, false));
    let (second, from_memory) = apply(&server, DEPLOYMENT, CONFIG);
    assert_eq!((second.code, from_memory), (200, true));
    assert_eq!(second.document(), first.document());
    (server, first.document())
}

#[test]
fn what_the_server_sets_aside_does_not_matter() {
    // Generated manifests have empty values that an apply leaves out, and a status that the endpoint does not write.
    let generated = CONFIG.replace("metadata: {name: d}", "metadata: {name: d, creationTimestamp: null}");
    let generated = format!("{generated}status: {{}}\n");
    let server = Server::start();
    let codes: Vec<(u16, bool)> = (0..4)
        .map(|_| apply(&server, DEPLOYMENT, &generated))
        .map(|(response, from_memory)| (response.code, from_memory))
        .collect();
    assert_eq!(codes, [(201, false), (200, false), (200, true), (200, true)]);
}

#[test]
fn what_an_apply_depends_on_is_compared() {
    let (server, _) = remembering();
    let cases = [
        ("the configuration", "fieldManager=alice", CONFIG.replace("replicas: 2", "replicas: 3"), 200),
        ("the configuration changed back", "fieldManager=alice", CONFIG.to_owned(), 200),
        ("the manager", "fieldManager=bob", CONFIG.to_owned(), 200),
        ("another value of the other manager", "fieldManager=bob", CONFIG.replace('2', "4"), 409),
        ("force", "fieldManager=bob&force=true", CONFIG.replace('2', "4"), 200),
        ("the owner, who is in conflict now", "fieldManager=alice", CONFIG.to_owned(), 409),
    ];
    for (what, query, config, code) in cases {
        let before = repeats(&server);
        let response = server.patch(&format!("{DEPLOYMENT}?{query}"), APPLY, &config);
        assert_eq!((response.code, repeats(&server)), (code, before), "{what}: {}", response.text());
    }
}

#[test]
fn an_object_that_was_changed_or_replaced_is_merged_again() {
    let (server, first) = remembering();
    assert_eq!(server.patch(DEPLOYMENT, MERGE_PATCH, r#"{"spec":{"replicas":5}}"#).code, 200);
    let (conflict, from_memory) = apply(&server, DEPLOYMENT, CONFIG);
    assert_eq!((conflict.code, from_memory), (409, false), "{}", conflict.text());
    assert_eq!(server.delete(DEPLOYMENT).code, 200);
    let (created, from_memory) = apply(&server, DEPLOYMENT, CONFIG);
    assert_eq!((created.code, from_memory), (201, false));
    assert_ne!(version(&created.document()), version(&first));
}

#[test]
fn a_policy_decides_about_repeated_applies_too() {
    let (server, _) = remembering();
    let group = "/apis/admissionregistration.k8s.io/v1";
    server.create(
        &format!("{group}/validatingadmissionpolicies"),
        r#"{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"operations":["UPDATE"],"apiGroups":["apps"],
            "apiVersions":["v1"],"resources":["deployments"]}]},"validations":[{"expression":"object.spec.replicas > 2"}]}}"#,
    );
    let binding = r#"{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"]}}"#;
    server.create(&format!("{group}/validatingadmissionpolicybindings"), binding);
    let (refused, from_memory) = apply(&server, DEPLOYMENT, CONFIG);
    assert_eq!((refused.code, from_memory), (422, false), "{}", refused.text());
}

#[test]
fn a_namespace_that_warns_does_so_for_repeated_applies() {
    let (server, _) = remembering();
    let labels = r#"{"metadata":{"labels":{"pod-security.kubernetes.io/warn":"restricted"}}}"#;
    assert_eq!(server.patch("/api/v1/namespaces/default", MERGE_PATCH, labels).code, 200);
    let (warned, from_memory) = apply(&server, DEPLOYMENT, CONFIG);
    assert_eq!((warned.code, from_memory), (200, false));
    assert!(warned.header("warning").unwrap_or_default().contains("would violate PodSecurity"));
}

#[test]
fn a_configuration_with_duplicate_keys_is_warned_about_every_time() {
    let (server, _) = remembering();
    let twice = CONFIG.replace("  replicas: 2\n", "  replicas: 1\n  replicas: 2\n");
    for _ in 0..3 {
        let (response, from_memory) = apply(&server, DEPLOYMENT, &twice);
        let warning = response.header("warning").unwrap_or_default();
        assert!(response.code == 200 && !from_memory, "{}", response.text());
        assert!(warning.contains("already set in map"), "{warning}");
    }
}

#[test]
fn a_changed_definition_reads_the_configuration_anew() {
    let definition = |fields: &str| {
        format!(
            r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"sites.example.com"}},
            "spec":{{"group":"example.com","scope":"Namespaced","names":{{"plural":"sites","kind":"Site"}},"versions":[{{"name":"v1",
            "served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object",
            "properties":{{"title":{{"type":"string"}}{fields}}}}}}}}}}}}}]}}}}"#
        )
    };
    let server = Server::start();
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.create(definitions, &definition(""));
    let path = "/apis/example.com/v1/namespaces/default/sites/s";
    let config =
        r#"{"apiVersion":"example.com/v1","kind":"Site","metadata":{"name":"s"},"spec":{"title":"a"}}"#;
    server.wait_until("the kind is served", || server.apply(path, "alice", config).code == 201);
    assert!(!apply(&server, path, config).1);
    assert!(apply(&server, path, config).1, "custom resources are remembered as well");
    let changed = definition(r#","size":{"type":"integer","default":3}"#);
    let response = server.patch(&format!("{definitions}/sites.example.com"), MERGE_PATCH, &changed);
    assert_eq!(response.code, 200, "{}", response.text());
    let (response, from_memory) = apply(&server, path, config);
    assert_eq!((response.code, from_memory), (200, false), "{}", response.text());
    assert_eq!(response.document().at(["spec", "size"]), Some(&Value::from(3)));
}
