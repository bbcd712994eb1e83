//! Runs the controller in the cluster of the kubeconfig.

use kube::{Client, CustomResourceExt};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("crd") {
        println!("{}", serde_json::to_string_pretty(&website_controller::Website::crd())?);
        return Ok(());
    }
    website_controller::run(Client::try_default().await?).await;
    Ok(())
}
