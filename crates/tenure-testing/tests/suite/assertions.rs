//! Assertions explain themselves.

use crate::{Outcome, map};
use serde_json::json;
use std::time::Duration;
use tenure_testing::TestServer;

#[tokio::test]
async fn a_condition_is_waited_for() -> Outcome {
    let server = TestServer::start().await?;
    let a = server.object("ConfigMap", "default", "a");
    let waiting = {
        let a = a.clone();
        tokio::spawn(async move { a.until(|object| object["data"]["k"] == "2").await })
    };
    tokio::task::yield_now().await;
    server.create(map("a", "1")).await?;
    a.merge(json!({"data": {"k": "2"}})).await?;
    assert_eq!(waiting.await??["data"]["k"], "2");
    Ok(())
}

#[tokio::test]
async fn a_time_out_shows_the_object_and_its_writers() -> Outcome {
    let server = TestServer::builder().seed(1).start().await?;
    server.apply_as("alice", map("a", "1")).await?;
    server.apply_as("bob", map("a", "2")).await?;
    let a = server.object("ConfigMap", "default", "a").within(Duration::from_millis(20));
    let error = format!("{:?}", a.until(|object| object["data"]["k"] == "3").await.unwrap_err());
    for part in [
        "ConfigMap default/a did not satisfy the condition within 20ms",
        "    k: \"2\"",
        "alice (apply) created ConfigMap default/a",
        "bob (apply) changed ConfigMap default/a",
        ".data.k: \"1\" -> \"2\"",
    ] {
        assert!(error.contains(part), "{part:?} is missing in\n{error}");
    }
    assert!(!error.contains("managedFields"), "{error}");
    let absent = server.object("ConfigMap", "default", "x").within(Duration::from_millis(5));
    let error = absent.until(|_| true).await.unwrap_err().to_string();
    assert!(error.ends_with("it does not exist\nnothing has written it"), "{error}");
    let error = a.until_gone().await.unwrap_err().to_string();
    assert!(error.contains("still exists within 20ms"), "{error}");
    Ok(())
}

#[tokio::test]
async fn owners_of_fields_are_reported() -> Outcome {
    let server = TestServer::builder().seed(1).start().await?;
    server.apply_as("alice", map("a", "1")).await?;
    let a = server.object("ConfigMap", "default", "a");
    assert_eq!(a.owners(".data.k").await?, ["alice"]);
    a.expect_owner(".data.k", "alice").await?;
    let error = a.expect_owner(".data.k", "bob").await.unwrap_err().to_string();
    assert_eq!(
        error,
        "ConfigMap default/a: expected bob to own .data.k, which is owned by alice (Apply, 0s); its value is \"1\""
    );
    server.apply_as("bob", map("a", "1")).await?;
    let mut owners = a.owners(".data.k").await?;
    owners.sort();
    assert_eq!(owners, ["alice", "bob"]);
    Ok(())
}

#[tokio::test]
async fn writes_are_logged_with_their_managers() -> Outcome {
    let server = TestServer::start().await?;
    server.apply_as("alice", map("a", "1")).await?;
    let before = server.revision();
    server.expect_no_writes_since(before)?;
    server.apply_as("alice", map("a", "1")).await?;
    server.expect_no_writes_since(before)?;
    server.object("ConfigMap", "default", "a").merge(json!({"data": {"k": "2"}})).await?;
    server.object("ConfigMap", "default", "a").delete().await?;
    let error = server.expect_no_writes_since(before).unwrap_err().to_string();
    let expected = format!(
        "expected no writes after revision {before}, but there were 2:\n  \
         {}: tenure-testing (patch) changed ConfigMap default/a\n      .data.k: \"1\" -> \"2\"\n  \
         {}: tenure-testing (delete) deleted ConfigMap default/a",
        before + 1,
        before + 2
    );
    assert_eq!(error, expected);
    let writes = server.writes();
    let all: Vec<_> = writes.iter().map(|write| (write.manager.as_str(), write.verb.as_str())).collect();
    assert_eq!(all, [("alice", "apply"), ("tenure-testing", "patch"), ("tenure-testing", "delete")]);
    Ok(())
}

#[tokio::test]
async fn the_servers_own_writes_are_logged() -> Outcome {
    let server = TestServer::start().await?;
    let owner = server.create(map("owner", "")).await?;
    let mut dependent = map("dependent", "");
    dependent["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    server.create(dependent).await?;
    server.object("ConfigMap", "default", "owner").delete().await?;
    server.settle().await;
    let writes = server.writes();
    let last = writes.last().ok_or("no writes")?;
    assert_eq!((last.verb.as_str(), last.subject().as_str()), ("reconcile", "ConfigMap default/dependent"));
    assert!(last.after.is_none());
    Ok(())
}

#[tokio::test]
async fn managers_that_fight_are_found() -> Outcome {
    let server = TestServer::start().await?;
    server.apply_as("alice", map("a", "1")).await?;
    server.apply_as("bob", map("a", "2")).await?;
    server.expect_no_fights()?;
    server.apply_as("alice", map("a", "1")).await?;
    let error = server.expect_no_fights().unwrap_err().to_string();
    assert!(error.contains("ConfigMap default/a, field .data.k:"), "{error}");
    let first = error.find("alice set \"1\"").ok_or("alice")?;
    assert!(error.find("bob set \"2\"").is_some_and(|second| second > first), "{error}");
    // An object that is created again has a new history.
    let fork = server.fork();
    fork.apply_as("alice", map("b", "1")).await?;
    fork.apply_as("bob", map("b", "2")).await?;
    fork.object("ConfigMap", "default", "b").delete().await?;
    fork.apply_as("alice", map("b", "1")).await?;
    fork.expect_no_fights()?;
    Ok(())
}
