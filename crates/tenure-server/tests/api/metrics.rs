//! `/metrics` counts served resources only, not everything that clients request.

use crate::{http::Request, server::Server};
use tenure_value::Value;

#[test]
fn only_served_resources_become_labels() {
    let server = Server::start();
    assert_eq!(server.get("/api/v1/namespaces/default/configmaps").code, 200);
    for path in ["/apis/x%22%0A/v1/y", "/apis/apps/v1/bogus", "/api/v1/namespaces/default/bo%22gus"] {
        assert_eq!(server.get(path).code, 404, "{path}");
    }
    let text = server.get("/metrics").text();
    assert!(text.contains(r#"verb="list",group="",resource="configmaps",code="200""#), "{text}");
    assert!(text.contains(r#"verb="other",group="",resource="",code="404""#), "{text}");
    assert!(!text.contains("gus") && !text.contains("x\\\""), "{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("not a sample: {line}"));
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn the_health_of_the_server_is_a_metric() {
    let server = Server::start();
    for path in ["/readyz", "/readyz", "/livez"] {
        assert_eq!(server.get(path).code, 200);
    }
    let text = server.get("/metrics/slis").text();
    for line in [
        r#"kubernetes_healthcheck{name="ping",type="livez"} 1"#,
        r#"kubernetes_healthcheck{name="store",type="readyz"} 1"#,
        r#"kubernetes_healthchecks_total{name="store",status="success",type="readyz"} 2"#,
    ] {
        assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    }
    assert_eq!(server.get("/metrics/other").code, 404);
}

#[test]
fn metrics_can_be_counted_anew() {
    let server = Server::start();
    assert_eq!(server.get("/api/v1/namespaces/default/configmaps").code, 200);
    let reset = server.send(&Request::new("DELETE", "/metrics"));
    assert_eq!((reset.code, reset.text().as_str()), (200, "metrics reset\n"));
    assert!(!server.get("/metrics").text().contains("configmaps"));
    assert_eq!(server.send(&Request::new("DELETE", "/metrics/slis")).code, 200);
    assert_eq!(server.send(&Request::new("DELETE", "/version")).code, 405);
    assert_eq!(server.send(&Request::new("POST", "/metrics")).code, 200);
}

#[test]
fn the_state_of_the_server_is_shown_as_text_and_as_a_document() {
    let server = Server::start();
    let ask = |accept: &str| server.send(&Request::new("GET", "/statusz").header("Accept", accept));
    for accept in ["text/plain", "*/*"] {
        let text = ask(accept).text();
        assert!(text.contains("apiserver statusz") && text.contains("Up: 0 hr 00 min"), "{text}");
    }
    let document = ask("application/json;v=v1beta1;g=config.k8s.io;as=Statusz").document();
    assert_eq!(document.get("kind").and_then(Value::as_str), Some("Statusz"));
    assert!(document.get("uptimeSeconds").and_then(Value::as_i64).is_some_and(|up| up < 600));
    for accept in ["text/html", "application/json"] {
        assert_eq!(ask(accept).code, 406, "{accept}");
    }
}
