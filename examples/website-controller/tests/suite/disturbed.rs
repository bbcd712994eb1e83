//! The controller among faults: each request fails in each way once, and the website becomes what it should.

use crate::{Outcome, converge, reconcile_once, server, website};
use serde_json::json;
use std::time::Duration;
use tenure_testing::Fault;

/// Makes a module for each fault, with a test for each request.
macro_rules! faults {
    ($($fault:ident: $make:expr;)*) => {$(
        mod $fault {
            use super::*;

            requests! {
                of_the_finalizer: |fault: Fault| fault.verb("patch").kind("Website");
                of_the_content: |fault: Fault| fault.verb("apply").kind("ConfigMap").namespace("default");
                of_the_deployment: |fault: Fault| fault.verb("apply").kind("Deployment");
                of_the_record: |fault: Fault| fault.verb("apply").kind("ConfigMap").namespace("dns");
                of_anything_by_the_controller: |fault: Fault| fault.manager(website_controller::MANAGER);
                of_many_requests: |fault: Fault| fault.verb("patch").times(4);
            }

            fn fault() -> Fault {
                $make
            }
        }
    )*};
}

macro_rules! requests {
    ($($name:ident: $select:expr;)*) => {$(
        #[tokio::test]
        async fn $name() -> Outcome {
            survives($select(fault().once())).await
        }
    )*};
}

faults! {
    conflicts: Fault::conflict();
    overload: Fault::too_many_requests();
    failures: Fault::internal_error();
    cuts: Fault::cut_response();
    slowness: Fault::latency(Duration::from_micros(100));
}

async fn survives(fault: Fault) -> Outcome {
    let server = server().await?;
    server
        .apply_as("author", website("blog", json!({"content": "hello", "host": "blog.example.com"})))
        .await?;
    let fault = server.inject(fault);
    let client = server.client();
    for _ in 0..12 {
        // A controller tries again, whatever the error.
        let before = server.revision();
        if reconcile_once(&client, "blog").await.is_ok() && server.revision() == before {
            break;
        }
    }
    assert!(fault.hits() > 0, "the fault has not happened");
    let content = server.object("ConfigMap", "default", "blog").get().await?.ok_or("no content")?;
    assert_eq!(content["data"]["index.html"], "hello");
    for (kind, namespace, name) in [("Deployment", "default", "blog"), ("ConfigMap", "dns", "blog.default")] {
        assert!(server.object(kind, namespace, name).get().await?.is_some(), "{kind} {name}");
    }
    let website = server.object("Website", "default", "blog").get().await?.ok_or("no website")?;
    assert_eq!(website["status"]["observedGeneration"], 1);
    Ok(())
}

#[tokio::test]
async fn a_stale_read_does_no_harm() -> Outcome {
    let server = server().await?;
    server.apply_as("author", website("blog", json!({"content": "old"}))).await?;
    converge(&server, "blog").await?;
    let stale = server.inject(Fault::stale_read().kind("Website"));
    server.apply_as("author", website("blog", json!({"content": "new"}))).await?;
    converge(&server, "blog").await?;
    assert!(stale.hits() > 0);
    stale.remove();
    converge(&server, "blog").await?;
    let content = server.object("ConfigMap", "default", "blog").get().await?.ok_or("no content")?;
    assert_eq!(content["data"]["index.html"], "new");
    Ok(())
}
