//! Priority and fairness at the API: the bootstrap objects, the headers, and a flood that delays nobody else.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use tenure_auth::authentication::TokenFile;
use tenure_http::{Authentication, Response};
use tenure_server::{Authorization, Server, ServerOptions};
use tenure_store::MemoryStore;
use tenure_value::Value;
use tokio::task::JoinSet;

const ADMIN: &str = "administrator-token";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const GROUP: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";

async fn server(seats: u32) -> Arc<Server> {
    let tokens = "flood-token-0123456789,flood,1\nann-token-0123456789,ann,2\n";
    let mut options = ServerOptions::new(Authentication::Token(ADMIN.into()));
    options.identity.token_file = Some(tenure_auth::Reloadable::new(TokenFile::parse(tokens).unwrap()));
    options.authorization = Authorization::AlwaysAllow;
    options.concurrency = Some(seats);
    Server::with_options(Arc::new(MemoryStore::new()), options).await.unwrap()
}

async fn send(server: &Arc<Server>, token: &str, method: Method, path: &str, body: &str) -> Response {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .unwrap();
    server.clone().respond(request).await
}

async fn read(response: Response) -> Value {
    let body = response.body.collect().await.unwrap().to_bytes();
    String::from_utf8_lossy(&body).parse().unwrap()
}

#[tokio::test]
async fn the_bootstrap_objects_exist_and_responses_name_them() {
    let server = server(600).await;
    for (resource, count) in [("flowschemas", 11), ("prioritylevelconfigurations", 8)] {
        let list = read(send(&server, ADMIN, Method::GET, &format!("{GROUP}/{resource}"), "").await).await;
        let items = list.get("items").and_then(Value::as_array).unwrap();
        assert_eq!(items.len(), count, "{list}");
    }
    for (token, schema, level) in
        [(ADMIN, "exempt", "exempt"), ("ann-token-0123456789", "global-default", "global-default")]
    {
        let response = send(&server, token, Method::GET, MAPS, "").await;
        for (header, resource, name) in [
            ("x-kubernetes-pf-flowschema-uid", "flowschemas", schema),
            ("x-kubernetes-pf-prioritylevel-uid", "prioritylevelconfigurations", level),
        ] {
            let object =
                read(send(&server, ADMIN, Method::GET, &format!("{GROUP}/{resource}/{name}"), "").await)
                    .await;
            let uid = object.at(["metadata", "uid"]).and_then(Value::as_str).unwrap();
            assert_eq!(response.headers[header].to_str().unwrap(), uid, "{name}");
        }
    }
}

#[tokio::test]
async fn a_flood_delays_nobody_else() {
    let server = server(12).await;
    for number in 0..300 {
        let map = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m{number}","labels":{{"a":"b"}}}}}}"#
        );
        assert_eq!(send(&server, ADMIN, Method::POST, MAPS, &map).await.code.as_u16(), 201);
    }
    // Lists with a selector pause on their way, so that many run at once.
    let list = format!("{MAPS}?labelSelector=a%3Db");
    let (ended, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut flood = JoinSet::new();
    for _ in 0..360 {
        let (server, list, ended, refused) = (server.clone(), list.clone(), ended.clone(), refused.clone());
        flood.spawn(async move {
            let response = send(&server, "flood-token-0123456789", Method::GET, &list, "").await;
            match response.code.as_u16() {
                200 => ended.fetch_add(1, SeqCst),
                429 => {
                    assert_eq!(response.headers["retry-after"], "1");
                    refused.fetch_add(1, SeqCst)
                }
                code => panic!("{code}"),
            };
        });
    }
    // All of the flood has arrived: it runs, waits or is refused.
    while refused.load(SeqCst) < 360 - 6 * 50 - 12 {
        tokio::task::yield_now().await;
    }
    let before = ended.load(SeqCst);
    let response = send(&server, "ann-token-0123456789", Method::GET, &list, "").await;
    let passed = ended.load(SeqCst) - before;
    assert_eq!(response.code.as_u16(), 200);
    assert!(passed < 60, "{passed} requests of the flood came first");
    while let Some(request) = flood.join_next().await {
        request.unwrap();
    }
}
