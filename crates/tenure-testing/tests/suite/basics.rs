//! A server in the process: objects, definitions, controllers and users.

use crate::{Outcome, map};
use http::Method;
use serde_json::json;
use std::fs;
use tenure_testing::Profile;
use tenure_testing::TestServer;

#[tokio::test]
async fn a_server_has_what_every_cluster_has() -> Outcome {
    let server = TestServer::start().await?;
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        assert!(server.object("Namespace", "", name).get().await?.is_some(), "{name}");
    }
    assert!(server.object("Service", "default", "kubernetes").get().await?.is_some());
    assert!(server.object("ClusterRole", "", "cluster-admin").get().await?.is_some());
    let (code, version) = server.request(Method::GET, "/version", None).await?;
    assert!(code.is_success() && version["major"] == "1", "{version}");
    Ok(())
}

#[tokio::test]
async fn objects_are_created_changed_and_deleted() -> Outcome {
    let server = TestServer::start().await?;
    let created = server.create(map("a", "1")).await?;
    assert!(created["metadata"]["uid"].is_string());
    let again = server.create(map("a", "1")).await.unwrap_err().to_string();
    assert!(again.contains("already exists"), "{again}");
    let a = server.object("configmaps", "default", "a");
    assert_eq!(a.merge(json!({"data": {"k": "2"}})).await?["data"]["k"], "2");
    a.delete().await?;
    assert_eq!(a.get().await?, None);
    let unknown = server.object("Website", "default", "a").get().await.unwrap_err().to_string();
    assert!(unknown.contains("no kind \"Website\" is served"), "{unknown}");
    Ok(())
}

#[tokio::test]
async fn dependents_and_namespaces_are_collected() -> Outcome {
    let server = TestServer::start().await?;
    let owner = server.create(map("owner", "")).await?;
    let mut dependent = map("dependent", "");
    dependent["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
    }]);
    server.create(dependent).await?;
    server.settle().await;
    let dependent = server.object("ConfigMap", "default", "dependent");
    assert!(dependent.get().await?.is_some());
    server.object("ConfigMap", "default", "owner").delete().await?;
    server.settle().await;
    assert_eq!(dependent.get().await?, None);

    server.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "work"}})).await?;
    let mut inside = map("inside", "");
    inside["metadata"]["namespace"] = "work".into();
    server.create(inside).await?;
    server.object("Namespace", "", "work").delete().await?;
    server.object("Namespace", "", "work").until_gone().await?;
    assert_eq!(server.object("ConfigMap", "work", "inside").get().await?, None);
    Ok(())
}

#[tokio::test]
async fn manifests_come_from_directories_in_any_order() -> Outcome {
    let directory = tempfile::TempDir::new()?;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "lamps.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "lamps", "singular": "lamp", "kind": "Lamp"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {"lit": {"type": "boolean"}}}},
            }}}],
        },
    });
    let objects = "apiVersion: example.com/v1\nkind: Lamp\nmetadata: {name: desk, namespace: home}\nspec: {lit: true}\n---\n\
                   apiVersion: v1\nkind: Namespace\nmetadata: {name: home}\n";
    fs::write(directory.path().join("a.yaml"), objects)?;
    fs::create_dir(directory.path().join("crds"))?;
    fs::write(directory.path().join("crds/lamps.json"), definition.to_string())?;
    fs::write(directory.path().join("README.md"), "not a manifest")?;
    let server = TestServer::builder().manifests(directory.path()).start().await?;
    let desk = server.object("Lamp", "home", "desk").get().await?.ok_or("no lamp")?;
    assert_eq!(desk["spec"]["lit"], true);

    fs::write(directory.path().join("b.yaml"), "apiVersion: v1\nkind: Lamp\nmetadata: {name: x}\n")?;
    let error = TestServer::builder().manifests(directory.path()).start().await.unwrap_err().to_string();
    assert!(error.contains("b.yaml: no kind Lamp of v1 is served"), "{error}");
    Ok(())
}

#[tokio::test]
async fn it_behaves_as_kubernetes_by_default() -> Outcome {
    // In Kubernetes the fields of a binding have no owner; in Tenure the scheduler owns them.
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"},
    });
    for (profile, owners) in [(Profile::kubernetes(), 0), (Profile::tenure(), 1)] {
        let server = TestServer::builder().profile(profile).start().await?;
        server.create(pod.clone()).await?;
        let uri = "/api/v1/namespaces/default/pods/p/binding?fieldManager=scheduler";
        let (code, response) =
            server.request(Method::POST, uri, Some(("application/json", binding.clone()))).await?;
        assert!(code.is_success(), "{response}");
        assert_eq!(server.object("Pod", "default", "p").owners(".spec.nodeName").await?.len(), owners);
    }
    Ok(())
}

#[tokio::test]
async fn service_accounts_are_there_where_wanted() -> Outcome {
    let server = TestServer::builder().service_accounts().start().await?;
    for namespace in ["default", "kube-system"] {
        server.object("ServiceAccount", namespace, "default").until(|_| true).await?;
    }
    server.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}})).await?;
    server.object("ServiceAccount", "new", "default").until(|_| true).await?;
    Ok(())
}
