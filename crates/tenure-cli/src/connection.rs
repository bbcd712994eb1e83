//! The flags that choose the server, as those of `kubectl`.

use crate::Error;
use clap::Args;
use std::path::PathBuf;
use tenure_client::Cluster;
use tenure_transport::ConnectOptions;

/// The flags that choose the server.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server")]
pub struct Connection {
    /// The kubeconfig file [default: $KUBECONFIG, else ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The cluster of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// The user of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The address of the server, instead of the kubeconfig's.
    #[arg(short = 's', long, value_name = "URL")]
    server: Option<String>,
    /// The namespace of objects without one.
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
}

impl Connection {
    /// Returns the namespace of the command line.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Returns how to find the server.
    pub fn options(&self) -> ConnectOptions {
        ConnectOptions {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
            server: self.server.clone(),
            namespace: self.namespace.clone(),
            ..ConnectOptions::default()
        }
    }

    /// Connects to the server and runs a function with it.
    pub fn run<T>(&self, work: impl AsyncFnOnce(Cluster) -> Result<T, Error>) -> Result<T, Error> {
        // One thread is enough: commands wait for the server most of the time.
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        let options = self.options();
        runtime.block_on(async { work(Cluster::connect(&options).await?).await })
    }
}
