//! A test of a client against a real API server in the same process: each case has a fork of its own, in microseconds, and faults
//! happen exactly when they are injected.

use crate::Outcome;
use serde_json::json;
use tenure::prelude::*;

#[tokio::main]
pub async fn run() -> Outcome {
    let settings = |colour: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "settings", "namespace": "default"},
            "data": {"colour": colour},
        })
    };
    let server = TestServer::start().await?;
    server.apply_as("alice", settings("blue")).await?;

    // In this fork the next write of a ConfigMap is answered with a conflict, once.
    let busy = server.fork();
    let fault = busy.inject(Fault::conflict().kind("ConfigMap").once());
    let refused = busy.apply_as("alice", settings("green")).await;
    println!("{}", refused.err().ok_or("the injected fault was expected")?);
    busy.apply_as("alice", settings("green")).await?;
    assert_eq!(fault.hits(), 1);

    // In this one another manager takes the field over.
    let taken = server.fork();
    let object = taken.apply_as("bob", settings("red")).await?;
    let owner = &object["metadata"]["managedFields"][0]["manager"];
    println!("{owner} owns the colour in the fork");
    assert_eq!(owner, "bob");

    // The origin has seen none of it.
    let origin = server.object("ConfigMap", "default", "settings");
    origin.until(|object| object["data"]["colour"] == "blue").await?;
    Ok(())
}
