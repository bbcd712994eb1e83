//! Namespaces choose the Pod Security level of their pods by labels.

use crate::server::{MERGE_PATCH, Server};
use tenure_value::Value;

const NAMESPACE: &str = "/api/v1/namespaces/default";
const PODS: &str = "/api/v1/namespaces/default/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const POD: &str = r#"{"hostNetwork":true,"containers":[{"name":"c","image":"i"}]}"#;

fn label(server: &Server, mode: &str, level: &str) -> crate::http::Response {
    let labels = format!(r#"{{"metadata":{{"labels":{{"pod-security.kubernetes.io/{mode}":"{level}"}}}}}}"#);
    server.patch(NAMESPACE, MERGE_PATCH, &labels)
}

fn pod(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{POD}}}"#)
}

#[test]
fn pods_beyond_the_level_of_their_namespace_are_refused() {
    let server = Server::start();
    server.create(PODS, &pod("before"));
    let labelled = label(&server, "enforce", "baseline");
    assert_eq!(labelled.code, 200);
    let warnings = labelled.header("warning").unwrap_or_default().to_string();
    assert!(warnings.contains("violate the new PodSecurity enforce level"), "{warnings}");
    let refused = server.post(PODS, &pod("p"));
    assert_eq!(refused.code, 403);
    assert_eq!(
        refused.document().get("message").and_then(Value::as_str),
        Some(
            r#"pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)"#
        )
    );
    let deployment = format!(
        r#"{{"metadata":{{"name":"d"}},"spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},"template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{POD}}}}}}}"#
    );
    let warned = server.post(DEPLOYMENTS, &deployment);
    assert_eq!(warned.code, 201, "a workload is not refused");
    let warning = warned.header("warning").unwrap_or_default().to_string();
    assert!(warning.contains("would violate PodSecurity"), "{warning}");
}

#[test]
fn a_label_that_is_not_a_level_is_refused() {
    let server = Server::start();
    let refused = label(&server, "enforce", "strict");
    assert_eq!(refused.code, 422);
    let message = refused.document().get("message").map(Value::to_string).unwrap_or_default();
    assert!(message.contains("must be one of privileged, baseline, restricted"), "{message}");
}

#[test]
fn evaluations_are_counted() {
    let server = Server::start();
    server.create(PODS, &pod("before"));
    assert_eq!(label(&server, "enforce", "baseline").code, 200);
    assert_eq!(server.post(PODS, &pod("p")).code, 403);
    let text = server.get("/metrics").text();
    let count = |decision: &str, level: &str| {
        let line = format!(
            "pod_security_evaluations_total{{decision=\"{decision}\",mode=\"enforce\",policy_level=\"{level}\",policy_version=\"latest\",\
             request_operation=\"create\",resource=\"pod\",subresource=\"\"}} "
        );
        text.lines().find_map(|row| row.strip_prefix(&line).map(str::to_owned))
    };
    assert_eq!(count("allow", "privileged").as_deref(), Some("1"), "{text}");
    assert_eq!(count("deny", "baseline").as_deref(), Some("1"), "{text}");
    assert!(text.contains("pod_security_exemptions_total{"), "{text}");
}
