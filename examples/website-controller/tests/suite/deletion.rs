//! What happens when a website is deleted or taken back.

use crate::{Outcome, converge, server, website};
use serde_json::json;

/// Makes a test for each host.
macro_rules! hosts {
    ($($name:ident: $host:literal;)*) => {$(
        #[tokio::test]
        async fn $name() -> Outcome {
            published_and_taken_back($host).await
        }
    )*};
}

hosts! {
    a_plain_host: "blog.example.com";
    a_host_of_one_label: "blog";
    a_deep_host: "a.b.c.d.e.example.com";
    a_host_with_digits: "web2.example.com";
    a_host_with_dashes: "my-blog.example.com";
}

async fn published_and_taken_back(host: &str) -> Outcome {
    let server = server().await?;
    server.apply_as("author", website("blog", json!({"content": "hello", "host": host}))).await?;
    converge(&server, "blog").await?;
    let record = server.object("ConfigMap", "dns", "blog.default");
    assert_eq!(record.get().await?.ok_or("no record")?["data"]["host"], host);
    let blog = server.object("Website", "default", "blog");
    blog.delete().await?;
    let going = blog.get().await?.ok_or("the finalizer keeps it")?;
    assert_eq!(going["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z");
    crate::reconcile_once(&server.client(), "blog").await?;
    assert_eq!((blog.get().await?, record.get().await?), (None, None));
    // The server collects what the website owned.
    server.settle().await;
    for kind in ["ConfigMap", "Deployment"] {
        assert_eq!(server.object(kind, "default", "blog").get().await?, None);
    }
    Ok(())
}

#[tokio::test]
async fn a_host_that_is_removed_is_taken_back() -> Outcome {
    let server = server().await?;
    server.apply_as("author", website("blog", json!({"content": "", "host": "blog.example.com"}))).await?;
    converge(&server, "blog").await?;
    server.apply_as("author", website("blog", json!({"content": ""}))).await?;
    converge(&server, "blog").await?;
    assert_eq!(server.object("ConfigMap", "dns", "blog.default").get().await?, None);
    Ok(())
}

#[tokio::test]
async fn a_host_that_changes_is_published_again() -> Outcome {
    let server = server().await?;
    for host in ["a.example.com", "b.example.com"] {
        server.apply_as("author", website("blog", json!({"content": "", "host": host}))).await?;
        converge(&server, "blog").await?;
        let record = server.object("ConfigMap", "dns", "blog.default").get().await?.ok_or("no record")?;
        assert_eq!(record["data"]["host"], host);
    }
    Ok(())
}

#[tokio::test]
async fn websites_do_not_disturb_each_other() -> Outcome {
    let server = server().await?;
    for name in ["one", "two"] {
        server
            .apply_as(
                "author",
                website(name, json!({"content": name, "host": format!("{name}.example.com")})),
            )
            .await?;
        converge(&server, name).await?;
    }
    server.object("Website", "default", "one").delete().await?;
    crate::reconcile_once(&server.client(), "one").await?;
    server.settle().await;
    assert_eq!(server.object("Deployment", "default", "one").get().await?, None);
    for (kind, namespace, name) in [("Deployment", "default", "two"), ("ConfigMap", "dns", "two.default")] {
        assert!(server.object(kind, namespace, name).get().await?.is_some(), "{kind} {name}");
    }
    Ok(())
}
