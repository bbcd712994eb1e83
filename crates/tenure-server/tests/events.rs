//! Events expire after their time to live, counted from their last write.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{Method, Request};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::SeqCst},
    },
    time::Duration,
};
use tenure_http::{Administrator, RequestBody};
use tenure_meta::Timestamp;
use tenure_server::{Clock, Server, ServerOptions};
use tenure_store::MemoryStore;

const EVENTS: &str = "/api/v1/namespaces/default/events";

async fn send(server: &Arc<Server>, method: Method, path: &str, body: &str) -> (u16, String) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(RequestBody::from(Bytes::from(body.to_string())))
        .unwrap();
    let response = server.clone().respond(request).await;
    let code = response.code.as_u16();
    let body = response.body.collect().await.unwrap().to_bytes();
    (code, String::from_utf8_lossy(&body).into_owned())
}

fn event(name: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"Event","metadata":{{"name":"{name}"}},"involvedObject":{{"kind":"Pod","name":"p","namespace":"default"}},"reason":"r","message":"m","type":"Normal"}}"#
    )
}

#[tokio::test]
async fn events_expire_and_other_objects_do_not() {
    let now = Arc::new(AtomicI64::new(1_700_000_000));
    let time = now.clone();
    let mut options = ServerOptions::new(Administrator::Anyone);
    options.clock = Clock::new(move || Timestamp { seconds: time.load(SeqCst), nanos: 0 });
    options.event_ttl = Some(Duration::from_secs(2));
    let server = Server::with_options(Arc::new(MemoryStore::new()), options).await.unwrap();
    server.start_controllers();
    let (code, document) = send(&server, Method::POST, EVENTS, &event("old")).await;
    assert_eq!(code, 201, "{document}");
    let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"map"}}"#;
    let (code, document) = send(&server, Method::POST, "/api/v1/namespaces/default/configmaps", map).await;
    assert_eq!(code, 201, "{document}");
    now.fetch_add(2, SeqCst);
    let (code, document) = send(&server, Method::POST, EVENTS, &event("new")).await;
    assert_eq!(code, 201, "{document}");
    now.fetch_add(1, SeqCst);
    for _ in 0..600 {
        if send(&server, Method::GET, &format!("{EVENTS}/old"), "").await.0 == 404 {
            assert_eq!(send(&server, Method::GET, &format!("{EVENTS}/new"), "").await.0, 200);
            let map = "/api/v1/namespaces/default/configmaps/map";
            assert_eq!(send(&server, Method::GET, map, "").await.0, 200);
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the event did not expire");
}
