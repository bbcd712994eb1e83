//! A Tenure server in this process, on a free port of the loopback interface.

use std::{io, net::SocketAddr, sync::Arc};
use tenure_http::{
    Administrator,
    listener::{bind, serve},
};
use tenure_profile::Profile;
use tenure_server::{Server, ServerOptions};
use tenure_store::MemoryStore;
use tokio::runtime::Runtime;

/// A running server; it stops when it is dropped.
pub struct LocalServer {
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl LocalServer {
    /// Starts a server with a behaviour, over a store in memory.
    pub fn start(profile: Profile) -> io::Result<LocalServer> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let listener = runtime.block_on(bind(([127, 0, 0, 1], 0).into()))?;
        let address = listener.local_addr()?;
        let mut options = ServerOptions::new(Administrator::Anyone);
        options.profile = profile;
        let opened = runtime.block_on(Server::with_options(Arc::new(MemoryStore::new()), options));
        let server = opened.map_err(|error| io::Error::other(error.to_string()))?;
        runtime.spawn(serve(listener, None, server, std::future::pending()));
        Ok(LocalServer { address, runtime: Some(runtime) })
    }

    /// Returns the address of the server.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
