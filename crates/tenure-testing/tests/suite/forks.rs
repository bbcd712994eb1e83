//! Forks, snapshots and views of the past.

use crate::{Outcome, map};
use serde_json::{Value, json};
use tenure_testing::{Fault, TestServer};

fn definition(plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": plural, "singular": plural, "kind": format!("Kind{plural}")},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

#[tokio::test]
async fn forks_do_not_see_each_other() -> Outcome {
    let origin = TestServer::start().await?;
    origin.create(map("a", "origin")).await?;
    let (left, right) = (origin.fork(), origin.fork());
    assert_eq!(left.revision(), origin.revision());
    left.object("ConfigMap", "default", "a").merge(json!({"data": {"k": "left"}})).await?;
    right.object("ConfigMap", "default", "a").delete().await?;
    origin.create(map("b", "origin")).await?;
    let value = |object: Option<Value>| object.map(|object| object["data"]["k"].clone());
    let read = async |server: &TestServer, name: &str| -> Result<_, tenure_testing::TestError> {
        Ok(value(server.object("ConfigMap", "default", name).get().await?))
    };
    assert_eq!(read(&left, "a").await?, Some(json!("left")));
    assert_eq!(read(&right, "a").await?, None);
    assert_eq!(read(&origin, "a").await?, Some(json!("origin")));
    assert_eq!((read(&left, "b").await?, read(&right, "b").await?), (None, None));
    Ok(())
}

#[tokio::test]
async fn definitions_and_roles_of_a_fork_are_its_own() -> Outcome {
    let origin = TestServer::builder().object(definition("apples")).start().await?;
    let fork = origin.fork();
    fork.apply(definition("pears")).await?;
    fork.create(json!({"apiVersion": "example.com/v1", "kind": "Kindpears", "metadata": {"name": "p"}}))
        .await?;
    fork.create(json!({"apiVersion": "example.com/v1", "kind": "Kindapples", "metadata": {"name": "a"}}))
        .await?;
    let unknown = origin
        .create(json!({"apiVersion": "example.com/v1", "kind": "Kindpears", "metadata": {"name": "p"}}))
        .await;
    assert!(unknown.unwrap_err().to_string().contains("no kind Kindpears"));

    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "jane"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    });
    fork.create(binding).await?;
    for (server, code) in [(&fork, 200), (&origin, 403)] {
        let request = http::Request::get("/api/v1/namespaces/default/configmaps");
        let request = request.body(http_body_util::Empty::<bytes::Bytes>::new())?;
        let response = server.service().as_user("jane", &[]).respond(request).await;
        assert_eq!(response.status(), code);
    }
    Ok(())
}

#[tokio::test]
async fn a_snapshot_is_returned_to() -> Outcome {
    let server = TestServer::start().await?;
    server.create(map("a", "1")).await?;
    let snapshot = server.snapshot();
    let a = server.object("ConfigMap", "default", "a");
    let second = a.merge(json!({"data": {"k": "2"}})).await?;
    server.create(map("b", "")).await?;
    server.restore(&snapshot);
    assert_eq!(server.revision(), snapshot.revision());
    assert_eq!(a.get().await?.ok_or("a")?["data"]["k"], "1");
    assert_eq!(server.object("ConfigMap", "default", "b").get().await?, None);
    // The same revision has other content now, so cached content is not shown.
    let other = a.merge(json!({"data": {"k": "other"}})).await?;
    assert_eq!(other["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"]);
    assert_eq!(a.get().await?.ok_or("a")?["data"]["k"], "other");
    // A client that is ahead lists again.
    let uri = "/api/v1/configmaps?watch=1&resourceVersion=1000000";
    let (code, status) = server.request(http::Method::GET, uri, None).await?;
    assert_eq!((code.as_u16(), status["reason"].clone()), (410, json!("Expired")));
    // The state can be loaded into another server, too.
    let another = TestServer::start().await?;
    another.restore(&snapshot);
    assert_eq!(another.object("ConfigMap", "default", "a").get().await?.ok_or("a")?["data"]["k"], "1");
    Ok(())
}

#[tokio::test]
async fn the_past_can_be_read_and_not_written() -> Outcome {
    let server = TestServer::start().await?;
    server.create(map("a", "1")).await?;
    let revision = server.revision();
    server.object("ConfigMap", "default", "a").merge(json!({"data": {"k": "2"}})).await?;
    server.apply(definition("plums")).await?;
    let past = server.at(revision).await?;
    assert_eq!(past.object("ConfigMap", "default", "a").get().await?.ok_or("a")?["data"]["k"], "1");
    assert!(past.object("Kindplums", "default", "x").get().await.is_err(), "it was not defined then");
    let refused = past.create(map("b", "")).await.unwrap_err().to_string();
    assert!(refused.contains(&format!("a view of revision {revision}")), "{refused}");
    let future = server.at(1_000_000).await.unwrap_err().to_string();
    assert!(future.contains("1000000"), "{future}");
    Ok(())
}

#[tokio::test]
async fn faults_and_writes_of_the_origin_are_not_the_forks() -> Outcome {
    let server = TestServer::start().await?;
    server.create(map("a", "")).await?;
    server.inject(Fault::internal_error());
    let fork = server.fork();
    fork.create(map("b", "")).await?;
    assert_eq!(fork.writes().len(), 1);
    assert!(server.create(map("b", "")).await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_fork_knows_the_owners_that_its_origin_knew() -> Outcome {
    let server = TestServer::start().await?;
    let owner = server.create(map("owner", "")).await?;
    let dependent = |name: &str| {
        let mut dependent = map(name, "");
        dependent["metadata"]["ownerReferences"] = json!([
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]},
        ]);
        dependent
    };
    server.create(dependent("early")).await?;
    server.settle().await;
    // The controllers of the origin have not been waited for since.
    server.create(dependent("late")).await?;
    let fork = server.fork();
    fork.create(dependent("of-the-fork")).await?;
    fork.object("ConfigMap", "default", "owner").delete().await?;
    for name in ["early", "late", "of-the-fork"] {
        fork.object("ConfigMap", "default", name).until_gone().await?;
    }
    server.settle().await;
    for name in ["owner", "early", "late"] {
        assert!(server.object("ConfigMap", "default", name).get().await?.is_some());
    }
    // What the fork did is known to its own forks, and not to those of the origin.
    fork.settle().await;
    assert!(fork.fork().object("ConfigMap", "default", "early").get().await?.is_none());
    let other = server.fork();
    other.object("ConfigMap", "default", "owner").delete().await?;
    other.object("ConfigMap", "default", "late").until_gone().await?;
    Ok(())
}

#[tokio::test]
async fn running_work_continues_in_a_fork() -> Outcome {
    let server = TestServer::start().await?;
    let mut held = map("held", "");
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    held["metadata"]["namespace"] = "work".into();
    server.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "work"}})).await?;
    server.create(held).await?;
    server.object("Namespace", "", "work").delete().await?;
    let fork = server.fork();
    fork.object("ConfigMap", "work", "held")
        .until(|object| object["metadata"]["deletionTimestamp"].is_string())
        .await?;
    fork.object("ConfigMap", "work", "held").merge(json!({"metadata": {"finalizers": null}})).await?;
    fork.object("Namespace", "", "work").until_gone().await?;
    assert!(server.object("Namespace", "", "work").get().await?.is_some());
    Ok(())
}

#[tokio::test]
async fn controllers_of_a_fork_write_nothing_of_their_own() -> Outcome {
    for builder in
        [TestServer::builder(), TestServer::builder().seed(3), TestServer::builder().service_accounts()]
    {
        let server = builder.start().await?;
        server.create(map("a", "")).await?;
        server.settle().await;
        let fork = server.fork();
        fork.create(map("b", "")).await?;
        fork.settle().await;
        for (server, name) in [(&server, "a"), (&fork, "b")] {
            let writes = server.writes();
            let names: Vec<&str> = writes.iter().map(|write| write.name.as_str()).collect();
            assert_eq!(names, [name], "{writes:#?}");
        }
    }
    Ok(())
}
