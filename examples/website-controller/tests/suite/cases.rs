//! What a website becomes, one test for each.

use crate::{Outcome, converge, server, website};
use serde_json::{Value, json};

/// Makes a test for each row: the name, the specification, the kind of an object, a path in it and the value there.
macro_rules! cases {
    ($($name:ident: $spec:tt => $kind:literal $path:literal = $value:tt;)*) => {$(
        #[tokio::test]
        async fn $name() -> Outcome {
            becomes(json!($spec), $kind, $path, json!($value)).await
        }
    )*};
}

async fn becomes(spec: Value, kind: &str, path: &str, expected: Value) -> Outcome {
    let server = server().await?;
    server.apply_as("author", website("blog", spec)).await?;
    converge(&server, "blog").await?;
    let found = server.object(kind, "default", "blog").get().await?.ok_or("it does not exist")?;
    assert_eq!(found.pointer(path).unwrap_or(&Value::Null), &expected, "{found:#}");
    // Another round changes nothing.
    let before = server.revision();
    converge(&server, "blog").await?;
    server.expect_no_writes_since(before)?;
    Ok(())
}

cases! {
    content_is_shown: {"content": "hello"} => "ConfigMap" "/data/index.html" = "hello";
    content_may_be_empty: {"content": ""} => "ConfigMap" "/data/index.html" = "";
    content_may_be_long: {"content": "x x x x x x x x x x x x x x x x x x x x x x x x"} => "ConfigMap" "/data/index.html" = "x x x x x x x x x x x x x x x x x x x x x x x x";
    content_may_have_lines: {"content": "a\nb\n"} => "ConfigMap" "/data/index.html" = "a\nb\n";
    content_may_have_any_letters: {"content": "Grüße, 世界"} => "ConfigMap" "/data/index.html" = "Grüße, 世界";
    content_may_look_like_yaml: {"content": "a: b"} => "ConfigMap" "/data/index.html" = "a: b";
    content_may_look_like_json: {"content": "{\"a\": 1}"} => "ConfigMap" "/data/index.html" = "{\"a\": 1}";
    content_may_be_a_number: {"content": "1"} => "ConfigMap" "/data/index.html" = "1";
    content_is_owned: {"content": ""} => "ConfigMap" "/metadata/ownerReferences/0/kind" = "Website";
    content_names_its_owner: {"content": ""} => "ConfigMap" "/metadata/ownerReferences/0/name" = "blog";
    content_is_controlled: {"content": ""} => "ConfigMap" "/metadata/ownerReferences/0/controller" = true;
    content_has_no_finalizer: {"content": ""} => "ConfigMap" "/metadata/finalizers" = null;
    one_replica_by_default: {"content": ""} => "Deployment" "/spec/replicas" = 1;
    no_replica: {"content": "", "replicas": 0} => "Deployment" "/spec/replicas" = 0;
    two_replicas: {"content": "", "replicas": 2} => "Deployment" "/spec/replicas" = 2;
    three_replicas: {"content": "", "replicas": 3} => "Deployment" "/spec/replicas" = 3;
    ten_replicas: {"content": "", "replicas": 10} => "Deployment" "/spec/replicas" = 10;
    a_hundred_replicas: {"content": "", "replicas": 100} => "Deployment" "/spec/replicas" = 100;
    deployments_are_owned: {"content": ""} => "Deployment" "/metadata/ownerReferences/0/kind" = "Website";
    deployments_name_their_owner: {"content": ""} => "Deployment" "/metadata/ownerReferences/0/name" = "blog";
    deployments_block_their_owner: {"content": ""} => "Deployment" "/metadata/ownerReferences/0/blockOwnerDeletion" = null;
    deployments_select_their_pods: {"content": ""} => "Deployment" "/spec/selector/matchLabels/website" = "blog";
    pods_have_the_label: {"content": ""} => "Deployment" "/spec/template/metadata/labels/website" = "blog";
    pods_run_nginx: {"content": ""} => "Deployment" "/spec/template/spec/containers/0/image" = "nginx:1";
    pods_have_one_container: {"content": ""} => "Deployment" "/spec/template/spec/containers/1" = null;
    pods_mount_the_content: {"content": ""} => "Deployment" "/spec/template/spec/volumes/0/configMap/name" = "blog";
    pods_pull_if_absent: {"content": ""} => "Deployment" "/spec/template/spec/containers/0/imagePullPolicy" = "IfNotPresent";
    updates_roll: {"content": ""} => "Deployment" "/spec/strategy/type" = "RollingUpdate";
    revisions_are_kept: {"content": ""} => "Deployment" "/spec/revisionHistoryLimit" = 10;
    websites_get_the_finalizer: {"content": ""} => "Website" "/metadata/finalizers/0" = "example.com/website";
    websites_keep_their_content: {"content": "kept"} => "Website" "/spec/content" = "kept";
    replicas_are_defaulted: {"content": ""} => "Website" "/spec/replicas" = 1;
    status_observes_the_generation: {"content": ""} => "Website" "/status/observedGeneration" = 1;
    status_waits_for_replicas: {"content": "", "replicas": 2} => "Website" "/status/ready" = false;
    status_needs_no_replicas: {"content": "", "replicas": 0} => "Website" "/status/ready" = true;
    status_counts: {"content": ""} => "Website" "/status/readyReplicas" = 0;
    unknown_fields_are_pruned: {"content": "", "replicas": 1} => "Website" "/spec/other" = null;
    times_are_those_of_the_clock: {"content": ""} => "Deployment" "/metadata/creationTimestamp" = "2026-01-01T00:00:00Z";
}

/// Makes a test for each specification that is refused.
macro_rules! refused {
    ($($name:ident: $spec:tt => $why:literal;)*) => {$(
        #[tokio::test]
        async fn $name() -> Outcome {
            let error = server().await?.create(website("blog", json!($spec))).await.unwrap_err().to_string();
            assert!(error.contains($why), "{error}");
            Ok(())
        }
    )*};
}

refused! {
    content_is_required: {} => "spec.content";
    content_is_a_string: {"content": 1} => "spec.content";
    replicas_are_a_number: {"content": "", "replicas": "two"} => "spec.replicas";
    replicas_are_not_negative: {"content": "", "replicas": -1} => "spec.replicas";
    replicas_are_not_too_many: {"content": "", "replicas": 101} => "spec.replicas";
    hosts_are_strings: {"content": "", "host": 1} => "spec.host";
}
