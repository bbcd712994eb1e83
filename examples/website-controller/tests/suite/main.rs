//! The tests of the controller. Each has a control plane of its own: a fork of one that has the definition of `Website` and the
//! namespace of the registry.

mod cases;
mod deletion;
mod disturbed;
mod ownership;
mod running;

use kube::{Api, Client, runtime::controller::Action};
use serde_json::{Value, json};
use std::sync::Arc;
use tenure_testing::{TestError, TestServer};
use tokio::sync::OnceCell;
use website_controller::{Context, Error, Website, reconcile};

/// What a test returns: any error fails it, with its text.
type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Returns a control plane for one test.
async fn server() -> Result<TestServer, TestError> {
    static BASE: OnceCell<TestServer> = OnceCell::const_new();
    let start = || async {
        let registry = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dns"}});
        TestServer::builder().seed(1).definition::<Website>().object(registry).start().await
    };
    Ok(BASE.get_or_try_init(start).await?.fork())
}

/// Returns a website of the namespace `default`.
fn website(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": name, "namespace": "default"}, "spec": spec})
}

/// Reconciles a website once, as it is now.
async fn reconcile_once(client: &Client, name: &str) -> Result<Action, Error> {
    let websites: Api<Website> = Api::default_namespaced(client.clone());
    let website = websites.get(name).await?;
    reconcile(Arc::new(website), Arc::new(Context { client: client.clone() })).await
}

/// Reconciles a website until a round changes nothing, as a controller does that sees its own changes.
async fn converge(server: &TestServer, name: &str) -> Result<(), Error> {
    let client = server.client();
    for _ in 0..10 {
        let before = server.revision();
        reconcile_once(&client, name).await?;
        if server.revision() == before {
            break;
        }
    }
    Ok(())
}
