//! `/metrics` counts served resources only, not everything that clients request.

use crate::server::Server;

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
