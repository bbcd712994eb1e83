//! The clock of a test.

use crate::{Outcome, map, next, watch};
use http::Method;
use serde_json::{Value, json};
use std::time::Duration;
use tenure_testing::TestServer;

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn creation_times_follow_the_clock() -> Outcome {
    let server = TestServer::builder().seed(1).start().await?;
    assert_eq!(server.create(map("a", "")).await?["metadata"]["creationTimestamp"], "2026-01-01T00:00:00Z");
    server.advance(HOUR + Duration::from_secs(5));
    let b = server.create(map("b", "")).await?;
    assert_eq!(b["metadata"]["creationTimestamp"], "2026-01-01T01:00:05Z");
    assert_eq!(b["metadata"]["managedFields"][0]["time"], "2026-01-01T01:00:05Z");
    assert_eq!(server.clock().text(), "2026-01-01T01:00:05Z");
    let fork = server.fork();
    fork.advance(HOUR);
    assert_eq!(
        (fork.clock().text().as_str(), server.clock().text().as_str()),
        ("2026-01-01T02:00:05Z", "2026-01-01T01:00:05Z")
    );
    Ok(())
}

#[tokio::test]
async fn events_expire() -> Outcome {
    let server = TestServer::start().await?;
    let event = |name: &str| {
        json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"},
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "Tested", "type": "Normal",
        })
    };
    server.create(event("early")).await?;
    server.advance(HOUR / 2);
    server.create(event("late")).await?;
    server.advance(HOUR / 2 + Duration::from_secs(60));
    server.object("events", "default", "early").until_gone().await?;
    assert!(server.object("events", "default", "late").get().await?.is_some());
    server.advance(HOUR);
    server.object("events", "default", "late").until_gone().await?;
    Ok(())
}

#[tokio::test]
async fn tokens_expire() -> Outcome {
    let server = TestServer::start().await?;
    server
        .create(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"}}))
        .await?;
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}});
    let uri = "/api/v1/namespaces/default/serviceaccounts/robot/token";
    let (_, issued) = server.request(Method::POST, uri, Some(("application/json", request))).await?;
    let token = issued["status"]["token"].as_str().ok_or("no token")?.to_string();
    let whoami = async || -> Result<u16, Box<dyn std::error::Error>> {
        let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews");
        let request = request
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json");
        let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).to_string();
        Ok(server.service().respond(request.body(body)?).await.status().as_u16())
    };
    assert_eq!(whoami().await?, 201);
    server.advance(Duration::from_secs(599));
    assert_eq!(whoami().await?, 201);
    // As in Kubernetes, clocks may differ by a minute.
    server.advance(Duration::from_secs(62));
    assert_eq!(whoami().await?, 401);
    Ok(())
}

#[tokio::test]
async fn leases_are_renewed_by_the_time_of_the_server() -> Outcome {
    let server = TestServer::builder().seed(1).start().await?;
    let lease = |time: &str| -> Value {
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader", "namespace": "default"},
            "spec": {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": time},
        })
    };
    // A leader elector under test reads the clock of the server.
    let now = server.clock().text().replace('Z', ".000000Z");
    server.apply(lease(&now)).await?;
    server.advance(Duration::from_secs(16));
    let held = server.object("Lease", "default", "leader").get().await?.ok_or("no lease")?;
    assert_eq!(held["spec"]["renewTime"], "2026-01-01T00:00:00.000000Z");
    assert!(server.clock().now().duration_since(std::time::UNIX_EPOCH)?.as_secs() > 1_767_225_600 + 15);
    Ok(())
}

#[tokio::test]
async fn watches_send_bookmarks_and_end_by_the_clock() -> Outcome {
    for server in [TestServer::start().await?, TestServer::builder().seed(1).start().await?] {
        let from = format!("&resourceVersion={}&allowWatchBookmarks=true", server.revision());
        let mut short = watch(&server, &format!("{from}&timeoutSeconds=300")).await;
        let mut long = watch(&server, &from).await;
        let made = server.create(map("a", "")).await?;
        for watched in [&mut short, &mut long] {
            assert_eq!(next(watched).await?[0]["type"], "ADDED");
        }
        server.advance(Duration::from_secs(60));
        for watched in [&mut short, &mut long] {
            let events = next(watched).await?;
            let version = &events[0]["object"]["metadata"]["resourceVersion"];
            assert_eq!(
                (&events[0]["type"], version),
                (&json!("BOOKMARK"), &made["metadata"]["resourceVersion"])
            );
        }
        server.advance(Duration::from_secs(240));
        assert_eq!(next(&mut short).await.unwrap_err(), "the end");
        assert_eq!(next(&mut long).await?[0]["type"], "BOOKMARK");
        // A watch without a timeout lasts for half an hour to an hour.
        server.advance(HOUR);
        assert_eq!(next(&mut long).await.unwrap_err(), "the end");
    }
    Ok(())
}

#[tokio::test]
async fn a_view_of_the_past_has_a_clock_of_its_own() -> Outcome {
    let server = TestServer::builder().seed(1).start().await?;
    let view = server.at(server.revision()).await?;
    view.advance(HOUR);
    assert_eq!(view.clock().text(), "2026-01-01T01:00:00Z");
    assert_eq!(view.server().objects().clock.now().seconds, 1_767_225_600 + 3600);
    assert_eq!(server.clock().text(), "2026-01-01T00:00:00Z");
    Ok(())
}

#[tokio::test]
async fn history_is_compacted_by_the_clock() -> Outcome {
    let server = TestServer::start().await?;
    server.create(map("a", "")).await?;
    let revision = server.revision();
    server.create(map("b", "")).await?;
    assert!(server.at(revision).await.is_ok());
    server.advance(24 * HOUR);
    server.create(map("c", "")).await?;
    let error = server.at(revision).await.unwrap_err().to_string();
    assert!(error.contains(&revision.to_string()), "{error}");
    Ok(())
}
