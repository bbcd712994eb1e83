//! An API server inside a program: it stores objects of the program's own kind, and any Kubernetes client can read and write them.

use crate::Outcome;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client, Config, CustomResourceExt, api::PostParams};
use std::sync::Arc;
use tenure_http::{Administrator, listener};
use tenure_server::Server;
use tenure_store::MemoryStore;
use tokio::sync::Notify;
use website_controller::{Website, WebsiteSpec};

#[tokio::main]
pub async fn run() -> Outcome {
    // Over memory here; a directory or etcd are other stores.
    let server = Server::open(Arc::new(MemoryStore::new()), Administrator::Anyone).await?;
    server.start_controllers();
    let socket = listener::bind(([127, 0, 0, 1], 0).into()).await?;
    let address = socket.local_addr()?;
    let stop = Arc::new(Notify::new());
    let stopped = stop.clone();
    let serving =
        tokio::spawn(async move { listener::serve(socket, None, server, stopped.notified()).await });

    let client = Client::try_from(Config::new(format!("http://{address}").parse()?))?;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &Website::crd()).await?;

    let websites: Api<Website> = Api::default_namespaced(client);
    let spec = WebsiteSpec { content: "hello".into(), replicas: 1, host: None };
    websites.create(&PostParams::default(), &Website::new("front", spec)).await?;
    let found = websites.get("front").await?;
    println!("{} is stored at revision {:?}", found.spec.content, found.metadata.resource_version);
    assert_eq!(found.spec.content, "hello");

    stop.notify_one();
    Ok(serving.await?)
}
