//! With a seed everything repeats.

use crate::{Outcome, map};
use serde_json::{Value, json};
use tenure_testing::{TestError, TestServer};

async fn conversation(seed: u64) -> Result<Vec<Value>, TestError> {
    let server = TestServer::builder().seed(seed).start().await?;
    let mut seen = vec![server.create(map("a", "1")).await?];
    for _ in 0..2 {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "job-"}});
        seen.push(server.create(object).await?);
    }
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]},
    });
    seen.push(server.create(service).await?);
    server.object("ConfigMap", "default", "a").delete().await?;
    seen.push(server.create(map("a", "2")).await?);
    seen.extend(server.object("Namespace", "", "kube-system").get().await?);
    Ok(seen)
}

#[tokio::test]
async fn objects_repeat_with_the_seed() -> Outcome {
    let first = conversation(7).await?;
    assert_eq!(first, conversation(7).await?);
    let other = conversation(8).await?;
    for (at, path) in [(0, "uid"), (1, "name")] {
        assert_ne!(first[at]["metadata"][path], other[at]["metadata"][path]);
    }
    assert_ne!(first[0]["metadata"]["uid"], first[4]["metadata"]["uid"], "another object has another uid");
    Ok(())
}

/// These values may be part of the recorded objects of users: a change of the generator breaks their tests.
#[tokio::test]
async fn what_a_seed_gives_stays() -> Outcome {
    let server = TestServer::builder().seed(7).start().await?;
    let created = server.create(map("a", "1")).await?;
    let named = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "job-"}});
    let named = server.create(named).await?;
    assert_eq!(
        (created["metadata"]["uid"].as_str(), named["metadata"]["name"].as_str()),
        (Some(UID), Some(NAME))
    );
    Ok(())
}

const UID: &str = "684a8497-2e88-4915-9adf-ee54cf2b78e9";
const NAME: &str = "job-xntd6";

#[tokio::test]
async fn without_a_seed_nothing_repeats() -> Outcome {
    let (one, other) = (TestServer::start().await?, TestServer::start().await?);
    let (a, b) = (one.create(map("a", "")).await?, other.create(map("a", "")).await?);
    assert_ne!(a["metadata"]["uid"], b["metadata"]["uid"]);
    Ok(())
}
