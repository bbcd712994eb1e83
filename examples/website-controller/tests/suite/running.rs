//! The controller as it runs: informers, queue and all.

use crate::{Outcome, server, website};
use serde_json::json;
use tenure_testing::Fault;

#[tokio::test]
async fn a_website_is_followed_from_creation_to_deletion() -> Outcome {
    let server = server().await?;
    let controller = tokio::spawn(website_controller::run(server.client()));
    server
        .apply_as("author", website("blog", json!({"content": "hello", "host": "blog.example.com"})))
        .await?;
    let blog = server.object("Website", "default", "blog");
    blog.until(|website| website["status"]["ready"] == false).await?;
    // There is no kubelet: the test says what is ready.
    server
        .object("Deployment", "default", "blog")
        .merge_status(json!({"replicas": 1, "readyReplicas": 1}))
        .await?;
    blog.until(|website| website["status"]["ready"] == true).await?;
    server.object("ConfigMap", "default", "blog").merge(json!({"data": {"index.html": "defaced"}})).await?;
    server.object("ConfigMap", "default", "blog").until(|map| map["data"]["index.html"] == "hello").await?;
    blog.delete().await?;
    blog.until_gone().await?;
    server.object("Deployment", "default", "blog").until_gone().await?;
    controller.abort();
    Ok(())
}

#[tokio::test]
async fn a_running_controller_tries_again() -> Outcome {
    let server = server().await?;
    let controller = tokio::spawn(website_controller::run(server.client()));
    let fault = server.inject(Fault::conflict().manager(website_controller::MANAGER).times(2));
    server.apply_as("author", website("blog", json!({"content": ""}))).await?;
    server.object("Website", "default", "blog").until(|website| website["status"].is_object()).await?;
    assert_eq!(fault.hits(), 2);
    controller.abort();
    Ok(())
}
