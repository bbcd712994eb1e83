//! Field selectors of built-in kinds, with the field names of each version.

use crate::{facts::items, server::Server};

#[test]
fn events_are_chosen_by_the_fields_of_either_version() {
    let server = Server::start();
    server.create(
        "/apis/events.k8s.io/v1/namespaces/default/events",
        r#"{"metadata":{"name":"e"},"regarding":{"kind":"Pod","name":"p","namespace":"default"},"reason":"Seen","action":"look","type":"Normal",
        "eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"example.com/c","reportingInstance":"i"}"#,
    );
    for (path, selector, found) in [
        ("/api/v1/events", "source=example.com/c", 1),
        ("/api/v1/events", "reportingComponent=example.com/c,involvedObject.name=p", 1),
        ("/api/v1/events", "source=other", 0),
        ("/apis/events.k8s.io/v1/events", "reportingController=example.com/c,regarding.kind=Pod", 1),
        ("/apis/events.k8s.io/v1/events", "regarding.name=q", 0),
    ] {
        let list = server.get(&format!("{path}?fieldSelector={selector}")).document();
        assert_eq!(items(&list, "items").len(), found, "{path} {selector}: {list}");
        let watched = format!("{path}?watch=1&timeoutSeconds=1&resourceVersion=0&fieldSelector={selector}");
        assert_eq!(server.get(&watched).text().lines().count(), found, "{watched}");
    }
    assert_eq!(server.get("/apis/events.k8s.io/v1/events?fieldSelector=source=x").code, 400);
}
