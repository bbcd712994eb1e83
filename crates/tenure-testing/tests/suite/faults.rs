//! Each fault once.

use crate::{MAPS, Outcome, map, next, watch};
use http::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tenure_testing::{Fault, TestServer};

#[tokio::test]
async fn requests_are_refused_as_selected() -> Outcome {
    let server = TestServer::start().await?;
    server.create(map("a", "0")).await?;
    server.create(map("b", "0")).await?;
    let cases = [
        (Fault::conflict(), 409, "Conflict"),
        (Fault::too_many_requests().verb("patch"), 429, "TooManyRequests"),
        (Fault::internal_error().verb("patch"), 500, "InternalError"),
    ];
    for (fault, code, reason) in cases {
        let injected =
            server.inject(fault.kind("ConfigMap").namespace("default").name("a").manager("me").times(2));
        let patch = async |name: &str, manager: &str| {
            let uri = format!("{MAPS}/{name}?fieldManager={manager}");
            let body = Some(("application/merge-patch+json", json!({"data": {"k": "1"}})));
            server.request(Method::PATCH, &uri, body).await
        };
        assert_eq!(patch("b", "me").await?.0, 200);
        assert_eq!(patch("a", "you").await?.0, 200);
        let before = server.revision();
        for _ in 0..2 {
            let (status, response) = patch("a", "me").await?;
            assert_eq!((status.as_u16(), response["reason"].as_str()), (code, Some(reason)), "{response}");
        }
        server.expect_no_writes_since(before)?;
        assert_eq!((patch("a", "me").await?.0.as_u16(), injected.hits()), (200, 2));
    }
    Ok(())
}

#[tokio::test]
async fn a_fault_for_ever_stays_until_it_is_removed() -> Outcome {
    let server = TestServer::start().await?;
    let fault = server.inject(Fault::internal_error().verb("create").kind("configmaps"));
    for _ in 0..3 {
        assert!(server.create(map("a", "")).await.is_err());
    }
    let apply = server.inject(Fault::internal_error().verb("apply"));
    assert!(server.apply(map("a", "")).await.is_err());
    apply.remove();
    server.apply(map("a", "")).await?;
    fault.remove();
    server.create(map("b", "")).await?;
    server.inject(Fault::internal_error());
    server.clear_faults();
    server.create(map("c", "")).await?;
    Ok(())
}

#[tokio::test]
async fn latency_is_waited_for() -> Outcome {
    let server = TestServer::start().await?;
    server.inject(Fault::latency(Duration::from_millis(30)).verb("list").once());
    let start = Instant::now();
    server.request(Method::GET, MAPS, None).await?;
    assert!(start.elapsed() >= Duration::from_millis(30));
    Ok(())
}

#[tokio::test]
async fn a_response_is_cut_after_the_write() -> Outcome {
    let server = TestServer::start().await?;
    server.inject(Fault::cut_response().once());
    let error = server.create(map("a", "")).await.unwrap_err().to_string();
    assert!(error.contains("connection reset"), "{error}");
    assert!(server.object("ConfigMap", "default", "a").get().await?.is_some(), "it was written");
    // Over a socket the client sees a connection that breaks.
    let socket = server.listen().await?;
    server.inject(Fault::cut_response().once());
    let mut stream = tokio::net::TcpStream::connect(socket.address()).await?;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    stream.write_all(format!("GET {MAPS}/a HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await?;
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    let response = String::from_utf8(response)?;
    let (head, body) = response.split_once("\r\n\r\n").ok_or("no head")?;
    let length = head
        .lines()
        .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
    assert!(
        head.starts_with("HTTP/1.1 200") && length.is_some_and(|length| body.len() < length),
        "{response}"
    );
    Ok(())
}

#[tokio::test]
async fn watches_are_cut_new_ones_and_open_ones() -> Outcome {
    let server = TestServer::start().await?;
    server.create(map("a", "")).await?;
    server.create(map("b", "")).await?;
    server.inject(Fault::cut_watch(1).kind("ConfigMap").once());
    let mut cut = watch(&server, "").await;
    assert_eq!(next(&mut cut).await?.len(), 1);
    assert!(next(&mut cut).await.unwrap_err().contains("connection reset"));
    let mut open = watch(&server, "&resourceVersion=1000000").await;
    let waiting = tokio::spawn(async move { next(&mut open).await });
    tokio::task::yield_now().await;
    server.inject(Fault::cut_watch(0).once());
    assert!(waiting.await?.unwrap_err().contains("connection reset"));
    Ok(())
}

#[tokio::test]
async fn a_watch_delivers_bookmarks_only() -> Outcome {
    let server = TestServer::start().await?;
    let revision = server.revision();
    let fault = server.inject(Fault::bookmarks_only());
    let mut with = watch(&server, &format!("&resourceVersion={revision}&allowWatchBookmarks=true")).await;
    let a = server.create(map("a", "")).await?;
    let events = next(&mut with).await?;
    assert_eq!(events[0]["type"], "BOOKMARK");
    assert_eq!(events[0]["object"]["metadata"]["resourceVersion"], a["metadata"]["resourceVersion"]);
    assert_eq!(events[0]["object"]["data"], Value::Null);
    fault.remove();
    server.create(map("b", "")).await?;
    assert_eq!(next(&mut with).await?[0]["type"], "ADDED");
    Ok(())
}

#[tokio::test]
async fn versions_are_too_old() -> Outcome {
    let server = TestServer::start().await?;
    server.inject(Fault::too_old().times(2));
    let (code, status) = server.request(Method::GET, &format!("{MAPS}?resourceVersion=1"), None).await?;
    assert_eq!((code.as_u16(), status["reason"].as_str()), (410, Some("Expired")));
    let mut watched = watch(&server, "&resourceVersion=1").await;
    let events = next(&mut watched).await?;
    assert_eq!((&events[0]["type"], &events[0]["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(next(&mut watched).await.unwrap_err(), "the end");
    assert_eq!(server.request(Method::GET, MAPS, None).await?.0, 200);
    Ok(())
}

#[tokio::test]
async fn reads_are_stale() -> Outcome {
    let server = TestServer::start().await?;
    let first = server.create(map("a", "1")).await?;
    let revision = server.revision();
    let stale = server.inject(Fault::stale_read().kind("ConfigMap"));
    server.object("ConfigMap", "default", "a").merge(json!({"data": {"k": "2"}})).await?;
    server.create(map("b", "")).await?;
    let (_, read) = server.request(Method::GET, &format!("{MAPS}/a"), None).await?;
    assert_eq!(read, first);
    let (_, list) = server.request(Method::GET, MAPS, None).await?;
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
    stale.remove();
    let (_, read) = server.request(Method::GET, &format!("{MAPS}/a"), None).await?;
    assert_eq!(read["data"]["k"], "2");
    server.inject(Fault::stale_read_at(revision).verb("get").once());
    assert_eq!(server.request(Method::GET, &format!("{MAPS}/a"), None).await?.1, first);
    server.inject(Fault::stale_read_at(1_000_000).verb("get").once());
    assert!(!server.request(Method::GET, &format!("{MAPS}/a"), None).await?.0.is_success());
    Ok(())
}

#[tokio::test]
async fn a_webhook_does_not_answer() -> Outcome {
    let webhook = |policy: &str| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "checks"},
            "webhooks": [{
                "name": "maps.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": policy,
                "clientConfig": {"url": "https://127.0.0.1:1/check"},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
            }],
        })
    };
    // Whether the clock runs or is stopped, the call hangs until the test has moved it by the timeout.
    for server in [TestServer::start().await?, TestServer::builder().seed(1).start().await?] {
        server.apply(webhook("Fail")).await?;
        let fault = server.inject(Fault::webhook_timeout().verb("create").kind("ConfigMap"));
        let creator = server.clone();
        let creating = tokio::spawn(async move { creator.create(map("a", "")).await });
        fault.until_hits(1).await;
        server.advance(Duration::from_secs(5));
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert!(!creating.is_finished(), "the webhook has five more seconds");
        server.advance(Duration::from_secs(5));
        let refused = creating.await?.unwrap_err().to_string();
        assert!(refused.contains("maps.example.com") && refused.contains("no response within"), "{refused}");
        assert_eq!(fault.hits(), 1);
        server.apply(webhook("Ignore")).await?;
        let late = async {
            fault.until_hits(2).await;
            server.advance(Duration::from_secs(10));
        };
        tokio::join!(server.create(map("a", "")), late).0?;
    }
    Ok(())
}
