//! Limit ranges of a namespace: new pods get defaults, and values out of bounds are refused.

use crate::{
    facts::items,
    server::{MERGE_PATCH, Server},
};
use tenure_value::Value;

const RANGES: &str = "/api/v1/namespaces/default/limitranges";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(name: &str, resources: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}"}},"spec":{{"containers":[{{"name":"c","image":"i","resources":{resources}}}]}}}}"#
    )
}

fn resources(pod: &Value) -> String {
    let spec = pod.get("spec").expect("a spec");
    items(spec, "containers")[0].get("resources").expect("resources").to_string()
}

#[test]
fn a_limit_range_sets_defaults_and_enforces_bounds() {
    let server = Server::start();
    server.create(
        RANGES,
        r#"{"metadata":{"name":"r"},"spec":{"limits":[{"type":"Container","min":{"cpu":"50m"},"max":{"cpu":"500m"},"default":{"cpu":"500m"},"defaultRequest":{"cpu":"100m"}}]}}"#,
    );
    let made = server.create(PODS, &pod("plain", "{}"));
    assert_eq!(resources(&made), r#"{"limits":{"cpu":"500m"},"requests":{"cpu":"100m"}}"#);
    assert_eq!(made.at(["status", "qosClass"]), Some(&"Burstable".into()));
    let limited = server.create(PODS, &pod("limited", r#"{"limits":{"cpu":"300m"}}"#));
    assert_eq!(resources(&limited), r#"{"limits":{"cpu":"300m"},"requests":{"cpu":"300m"}}"#);
    for (name, given, says) in [
        (
            "small",
            r#"{"requests":{"cpu":"10m"}}"#,
            "minimum cpu usage per Container is 50m, but request is 10m",
        ),
        (
            "large",
            r#"{"limits":{"cpu":"600m"}}"#,
            "maximum cpu usage per Container is 500m, but limit is 600m",
        ),
    ] {
        let refused = server.post(PODS, &pod(name, given));
        assert_eq!(
            (refused.code, refused.field("reason").as_str()),
            (403, "Forbidden"),
            "{}",
            refused.text()
        );
        assert!(refused.text().contains(says), "{}", refused.text());
    }
    let lower = r#"{"spec":{"limits":[{"type":"Container","min":{"cpu":"5m"},"max":{"cpu":"500m"}}]}}"#;
    assert_eq!(server.patch(&format!("{RANGES}/r"), MERGE_PATCH, lower).code, 200);
    server.create(PODS, &pod("small", r#"{"requests":{"cpu":"10m"}}"#));
    server.create_namespace("elsewhere");
    server.create("/api/v1/namespaces/elsewhere/pods", &pod("large", r#"{"limits":{"cpu":"9"}}"#));
}
