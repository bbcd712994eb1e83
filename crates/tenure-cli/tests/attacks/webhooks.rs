//! Webhooks with oversized responses: the server reads a bounded part, and counts the expanded size.

use super::{
    bodies::list,
    server::{Attack, HealthProbe, JSON, Target},
};
use http_body_util::BodyExt;
use hyper::StatusCode;
use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tenure_http::{GuardedRequest, Response, listener::Handler};
use tenure_value::base64;
use webhook_server::WebhookServer;

#[path = "../../../tenure-server/tests/api/webhook_server.rs"]
mod webhook_server;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
/// The number of concurrent requests that call the webhook.
const AT_ONCE: usize = 8;

/// Responds by the path of the request.
struct Hostile;

fn patched(patch: &str) -> String {
    format!(r#""allowed":true,"patchType":"JSONPatch","patch":"{}""#, base64::encode(patch))
}

impl Handler for Hostile {
    async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
        let (head, body) = request.into_parts();
        let path = head.uri.path().to_owned();
        let body = body.into_stream().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let review: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let uid = review["request"]["uid"].as_str().unwrap_or_default();
        let response = match path.as_str() {
            "/long" => format!(r#""allowed":true,"status":{{"message":"{}"}}"#, "x".repeat(60_000_000)),
            "/values" => format!(r#""allowed":true,"x":[{}]"#, vec!["0"; 2_500_000].join(",")),
            "/lists" => format!(r#""allowed":true,"x":[{}]"#, vec!["[]"; 1_900_000].join(",")),
            "/warnings" => {
                format!(r#""allowed":true,"warnings":[{}]"#, list(100_000, |at| format!("\"warning {at}\"")))
            }
            "/annotations" => {
                let all = list(50_000, |at| format!("\"a{at}\":\"{}\"", "x".repeat(50)));
                format!(r#""allowed":true,"auditAnnotations":{{{all}}}"#)
            }
            "/copies" => patched(&format!(
                r#"[{{"op":"add","path":"/data","value":{{"a":"{}"}}}},{}]"#,
                "x".repeat(100_000),
                list(5_000, |at| format!(r#"{{"op":"copy","from":"/data/a","path":"/data/c{at}"}}"#))
            )),
            "/doubling" => patched(&format!(
                "[{}]",
                list(60, |at| format!(r#"{{"op":"copy","from":"","path":"/metadata/annotations/c{at}"}}"#))
            )),
            "/operations" => patched(&format!(
                "[{}]",
                list(60_000, |_| r#"{"op":"test","path":"/kind","value":"ConfigMap"}"#.into())
            )),
            "/deep" => patched(&format!(
                r#"[{{"op":"add","path":"/data","value":{}1{}}}]"#,
                r#"{"a":"#.repeat(250),
                "}".repeat(250)
            )),
            "/large" => patched(&format!(
                r#"[{{"op":"add","path":"/data","value":{{"a":"{}"}}}}]"#,
                "x".repeat(3_500_000)
            )),
            _ => r#""allowed":true"#.into(),
        };
        let text = format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{{"uid":"{uid}",{response}}}}}"#
        );
        Response::new(StatusCode::OK, "application/json", text)
    }
}

#[test]
fn answers_of_webhooks_are_bounded() {
    let target = Target::in_memory();
    let webhook = WebhookServer::start("hook.default.svc", Arc::new(Hostile));
    let health = HealthProbe::start(target.address.clone());
    let start = target.resident();
    let mut failures = Vec::new();
    for (name, may_succeed) in [
        ("long", false),
        ("values", false),
        ("lists", false),
        ("warnings", true),
        ("annotations", true),
        ("copies", false),
        ("doubling", false),
        ("operations", false),
        ("deep", false),
        ("large", false),
    ] {
        let configuration = format!(
            r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{{"name":"{name}"}},
            "webhooks":[{{"name":"{name}.example.com","clientConfig":{},"admissionReviewVersions":["v1"],"sideEffects":"None","timeoutSeconds":30,
            "rules":[{{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}}]}}]}}"#,
            webhook.client(&format!("/{name}"))
        );
        let (code, text) = target
            .send(&Attack::new("configure", ("POST", WEBHOOKS), JSON, configuration).bytes())
            .expect("an answer");
        assert_eq!(code, 201, "{text}");
        target.reset_peak();
        let before = target.resident();
        let answers: Vec<Option<(u16, String)>> = thread::scope(|scope| {
            let send = |at: usize| {
                let body = format!(
                    r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}-{at}","annotations":{{"a":"b"}}}}}}"#
                );
                let attack = Attack::new("create", ("POST", MAPS), JSON, body);
                let target = &target;
                scope.spawn(move || target.send(&attack.bytes()))
            };
            let running: Vec<_> = (0..AT_ONCE).map(send).collect();
            running.into_iter().map(|thread| thread.join().expect("a request")).collect()
        });
        let grown = target.peak().saturating_sub(before);
        for answer in answers {
            match answer {
                Some((code, _)) if (code < 300) == may_succeed => {}
                Some((code, text)) => {
                    failures.push(format!("{name}: {code} {}", text.chars().take(400).collect::<String>()));
                }
                None => failures.push(format!("{name}: no answer")),
            }
        }
        // Each response of six megabytes takes ten times as much as a document, and ten are read at once.
        if grown > 700 << 20 {
            failures.push(format!("{name}: {} MiB of memory", grown >> 20));
        }
        let (code, text) = target
            .send(&Attack::new("remove", ("DELETE", &format!("{WEBHOOKS}/{name}")), JSON, "").bytes())
            .expect("an answer");
        assert_eq!(code, 200, "{text}");
    }
    failures.extend(health.stop());
    // What was freed is given back after some seconds.
    let (limit, deadline) = (start + (256 << 20), Instant::now() + Duration::from_secs(30));
    let mut end = target.resident();
    while end > limit && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(100));
        end = target.resident();
    }
    if end > limit {
        failures.push(format!("the memory did not return: {} MiB, {} MiB", start >> 20, end >> 20));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
