//! Who owns what: the controller its fields, and others theirs.

use crate::{Outcome, converge, server, website};
use serde_json::{Value, json};
use website_controller::MANAGER;

/// Makes a test for each field: the kind of an object, the path and the owner.
macro_rules! owned {
    ($($name:ident: $kind:literal $path:literal by $owner:expr;)*) => {$(
        #[tokio::test]
        async fn $name() -> Outcome {
            let server = server().await?;
            server.apply_as("author", website("blog", json!({"content": "hello", "replicas": 2}))).await?;
            converge(&server, "blog").await?;
            server.object($kind, "default", "blog").expect_owner($path, $owner).await?;
            server.expect_no_fights()?;
            Ok(())
        }
    )*};
}

owned! {
    the_content: "ConfigMap" ".data.index.html" by MANAGER;
    the_replicas: "Deployment" ".spec.replicas" by MANAGER;
    the_image: "Deployment" ".spec.template.spec.containers[name=\"web\"].image" by MANAGER;
    the_selector: "Deployment" ".spec.selector" by MANAGER;
    the_status: "Website" ".status.ready" by MANAGER;
    the_specification: "Website" ".spec.content" by "author";
    the_wanted_replicas: "Website" ".spec.replicas" by "author";
}

/// Makes a test for each change that is made behind the controller's back: the object, the change, a path and the value in the end.
macro_rules! drift {
    ($($name:ident: $kind:literal $patch:tt => $path:literal = $value:tt;)*) => {$(
        #[tokio::test]
        async fn $name() -> Outcome {
            drifts($kind, json!($patch), $path, json!($value)).await
        }
    )*};
}

drift! {
    content_is_restored: "ConfigMap" {"data": {"index.html": "defaced"}} => "/data/index.html" = "hello";
    removed_content_is_restored: "ConfigMap" {"data": {"index.html": null}} => "/data/index.html" = "hello";
    replicas_are_restored: "Deployment" {"spec": {"replicas": 7}} => "/spec/replicas" = 1;
    the_image_is_restored: "Deployment" {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "evil"}]}}}} => "/spec/template/spec/containers/0/image" = "nginx:1";
    further_content_stays: "ConfigMap" {"data": {"about.html": "me"}} => "/data/about.html" = "me";
    annotations_of_others_stay: "Deployment" {"metadata": {"annotations": {"note": "mine"}}} => "/metadata/annotations/note" = "mine";
    labels_of_others_stay: "Deployment" {"metadata": {"labels": {"team": "blue"}}} => "/metadata/labels/team" = "blue";
    pauses_of_others_stay: "Deployment" {"spec": {"paused": true}} => "/spec/paused" = true;
}

async fn drifts(kind: &str, patch: Value, path: &str, expected: Value) -> Outcome {
    let server = server().await?;
    server.apply_as("author", website("blog", json!({"content": "hello"}))).await?;
    converge(&server, "blog").await?;
    let object = server.object(kind, "default", "blog");
    object.merge(patch).await?;
    converge(&server, "blog").await?;
    let found = object.get().await?.ok_or("it does not exist")?;
    assert_eq!(found.pointer(path).unwrap_or(&Value::Null), &expected, "{found:#}");
    Ok(())
}
