//! Priority and fairness at the API: the bootstrap objects, the headers, and a flood that does not delay other clients.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{Method, Request};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use tenure_authentication::credentials::TokenFile;
use tenure_http::{Administrator, RequestBody, Response};
use tenure_server::{Authorization, Server, ServerOptions};
use tenure_store::MemoryStore;
use tenure_value::Value;
use tokio::task::JoinSet;

const ADMIN: &str = "administrator-token";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const GROUP: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";

async fn server(seats: u32) -> Arc<Server> {
    let tokens = "flood-token-0123456789,flood,1\nann-token-0123456789,ann,2\n";
    let mut options = ServerOptions::new(Administrator::Token(ADMIN.into()));
    options.identity.token_file = Some(tenure_transport::Reloadable::new(TokenFile::parse(tokens).unwrap()));
    options.authorization = Authorization::always_allow();
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
        .body(RequestBody::from(Bytes::from(body.to_string())))
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
async fn a_flood_does_not_delay_other_flows() {
    let server = server(12).await;
    for number in 0..300 {
        let map = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m{number}","labels":{{"a":"b"}}}}}}"#
        );
        assert_eq!(send(&server, ADMIN, Method::POST, MAPS, &map).await.code.as_u16(), 201);
    }
    // Lists with a selector that no index answers yield now and then, so that many run at once.
    let list = format!("{MAPS}?labelSelector=a%21%3Dc");
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
    // Every request of the flood has arrived: it runs, waits or is refused.
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

/// Waits until the condition of a schema has a status and a reason.
async fn until_dangling(server: &Arc<Server>, schema: &str, wanted: (&str, &str)) {
    let path = format!("{GROUP}/flowschemas/{schema}");
    let text =
        |object: &Value, name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
    for _ in 0..2000 {
        let object = read(send(server, ADMIN, Method::GET, &path, "").await).await;
        let conditions =
            object.at(["status", "conditions"]).and_then(Value::as_array).cloned().unwrap_or_default();
        if let Some(condition) = conditions.iter().next()
            && (text(condition, "status").as_str(), text(condition, "reason").as_str()) == wanted
        {
            assert_eq!((conditions.len(), text(condition, "type").as_str()), (1, "Dangling"));
            assert!(!text(condition, "lastTransitionTime").is_empty(), "{condition}");
            let managers = object.at(["metadata", "managedFields"]).unwrap().to_string();
            assert!(
                managers.contains(
                    r#""manager":"api-priority-and-fairness-config-consumer-v1","operation":"Apply""#
                ),
                "{managers}"
            );
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{schema} is not {wanted:?}");
}

#[tokio::test]
async fn flow_schemas_report_whether_their_level_exists() {
    let server = server(600).await;
    server.start_controllers();
    for schema in ["exempt", "probes", "catch-all", "global-default"] {
        until_dangling(&server, schema, ("False", "Found")).await;
    }
    let schema = r#"{"metadata":{"name":"mine"},"spec":{"matchingPrecedence":900,"priorityLevelConfiguration":{"name":"later"},
        "rules":[{"subjects":[{"kind":"Group","group":{"name":"mine"}}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}}"#;
    let created = send(&server, ADMIN, Method::POST, &format!("{GROUP}/flowschemas"), schema).await;
    assert_eq!(created.code.as_u16(), 201);
    until_dangling(&server, "mine", ("True", "NotFound")).await;
    let level = r#"{"metadata":{"name":"later"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":5,"limitResponse":{"type":"Reject"}}}}"#;
    let levels = format!("{GROUP}/prioritylevelconfigurations");
    assert_eq!(send(&server, ADMIN, Method::POST, &levels, level).await.code.as_u16(), 201);
    until_dangling(&server, "mine", ("False", "Found")).await;
    assert_eq!(send(&server, ADMIN, Method::DELETE, &format!("{levels}/later"), "").await.code.as_u16(), 200);
    until_dangling(&server, "mine", ("True", "NotFound")).await;
    server.stop();
}
