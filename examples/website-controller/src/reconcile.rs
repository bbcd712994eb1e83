//! The reconciler: from a website to its objects.

use crate::website::{Website, WebsiteStatus};
use futures::StreamExt;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
    runtime::{
        Controller,
        controller::Action,
        finalizer::{self, Event, finalizer},
        watcher,
    },
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// The manager of everything that the controller applies.
pub const MANAGER: &str = "website-controller";
/// The finalizer of websites.
pub const FINALIZER: &str = "example.com/website";
/// The namespace in which hosts are published.
pub const REGISTRY: &str = "dns";

/// What the reconciler needs.
pub struct Context {
    /// The cluster.
    pub client: Client,
}

/// Why a website could not be reconciled; it is tried again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A request failed.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// The finalizer could not be set or removed, or the work it guards failed.
    #[error("finalizer: {0}")]
    Finalizer(#[source] Box<finalizer::Error<Error>>),
}

/// Runs the controller until the process ends.
pub async fn run(client: Client) {
    let websites: Api<Website> = Api::all(client.clone());
    let (deployments, maps) = (Api::<Deployment>::all(client.clone()), Api::<ConfigMap>::all(client.clone()));
    Controller::new(websites, watcher::Config::default())
        .owns(deployments, watcher::Config::default())
        .owns(maps, watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(50)), Arc::new(Context { client }))
        .for_each(async |_| ())
        .await;
}

/// Brings the objects of a website in line with it.
pub async fn reconcile(website: Arc<Website>, context: Arc<Context>) -> Result<Action, Error> {
    let namespace = website.namespace().unwrap_or_default();
    let websites: Api<Website> = Api::namespaced(context.client.clone(), &namespace);
    let work = |event| async {
        match event {
            Event::Apply(website) => apply(&website, &context.client).await,
            Event::Cleanup(website) => clean_up(&website, &context.client).await,
        }
    };
    finalizer(&websites, FINALIZER, website, work).await.map_err(|error| Error::Finalizer(Box::new(error)))
}

async fn apply(website: &Website, client: &Client) -> Result<Action, Error> {
    let namespace = website.namespace().unwrap_or_default();
    let name = website.name_any();
    let force = PatchParams::apply(MANAGER).force();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    maps.patch(&name, &force, &Patch::Apply(content(website))).await?;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    let deployed = deployments.patch(&name, &force, &Patch::Apply(deployment(website))).await?;
    publish(website, client).await?;
    let ready = deployed.status.and_then(|status| status.ready_replicas).unwrap_or(0);
    let status = WebsiteStatus {
        observed_generation: website.meta().generation.unwrap_or(0),
        ready_replicas: ready,
        ready: ready >= website.spec.replicas,
    };
    if website.status.as_ref() != Some(&status) {
        let websites: Api<Website> = Api::namespaced(client.clone(), &namespace);
        let status = json!({"apiVersion": "example.com/v1", "kind": "Website", "status": status});
        websites.patch_status(&name, &force, &Patch::Apply(status)).await?;
    }
    Ok(Action::await_change())
}

/// Publishes the host of a website, or takes it back if it has none any more.
async fn publish(website: &Website, client: &Client) -> Result<(), Error> {
    let records: Api<ConfigMap> = Api::namespaced(client.clone(), REGISTRY);
    match &website.spec.host {
        Some(host) => {
            let record = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": record(website)}, "data": {"host": host},
            });
            records
                .patch(&self::record(website), &PatchParams::apply(MANAGER).force(), &Patch::Apply(record))
                .await?;
        }
        None => take_back(website, client).await?,
    }
    Ok(())
}

async fn clean_up(website: &Website, client: &Client) -> Result<Action, Error> {
    // What the website owns is collected; the record is in another namespace, where it cannot be owned.
    take_back(website, client).await?;
    Ok(Action::await_change())
}

async fn take_back(website: &Website, client: &Client) -> Result<(), Error> {
    let records: Api<ConfigMap> = Api::namespaced(client.clone(), REGISTRY);
    match records.delete(&record(website), &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        done => Ok(done.map(drop)?),
    }
}

/// Returns the name of the record of a website's host.
fn record(website: &Website) -> String {
    format!("{}.{}", website.name_any(), website.namespace().unwrap_or_default())
}

fn metadata(website: &Website) -> Value {
    json!({"name": website.name_any(), "ownerReferences": [website.controller_owner_ref(&())]})
}

fn content(website: &Website) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(website), "data": {"index.html": website.spec.content},
    })
}

fn deployment(website: &Website) -> Value {
    let name = website.name_any();
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(website),
        "spec": {
            "replicas": website.spec.replicas,
            "selector": {"matchLabels": {"website": name}},
            "template": {
                "metadata": {"labels": {"website": name}},
                "spec": {
                    "containers": [{
                        "name": "web", "image": "nginx:1", "volumeMounts": [{"name": "content", "mountPath": "/usr/share/nginx/html"}],
                    }],
                    "volumes": [{"name": "content", "configMap": {"name": name}}],
                },
            },
        },
    })
}
