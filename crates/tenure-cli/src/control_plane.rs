//! Runs a control plane: builds the server, creates the objects that every client expects, and serves until a signal.

use crate::{memory, signal::terminated};
use std::{
    net::SocketAddr,
    sync::Arc,
    thread,
    time::{Duration, Instant, SystemTime},
};
use tenure_builtin::Kinds;
use tenure_http::{
    ConnectionLimits,
    listener::{self},
};
use tenure_profile::KubernetesVersion;
use tenure_server::{Server, ServerOptions};
use tenure_store::Store;
use tenure_transport::{Reloadable, Reloader, serving::Tls};
use tokio::{net::TcpListener, runtime::Runtime};

/// The parts of a control plane.
pub struct ControlPlane {
    /// Where objects are stored.
    pub store: Arc<dyn Store>,
    /// TLS of the listener; without it the server speaks plain HTTP.
    pub tls: Option<Reloadable<Tls>>,
    /// The files that are read again when they change.
    pub reloader: Reloader,
    /// The options of the server.
    pub options: ServerOptions,
    /// The limits on connections.
    pub connections: ConnectionLimits,
    /// The address that the service `kubernetes` points to.
    pub advertised: SocketAddr,
    /// The authority to publish in every namespace, together with the service account `default`, if they are created.
    pub default_objects: Option<String>,
}

impl ControlPlane {
    /// Serves until SIGTERM or SIGINT. `ready` is called when the first request can be answered.
    pub async fn serve(
        self,
        listener: TcpListener,
        ready: impl FnOnce() -> Result<(), String>,
    ) -> Result<(), String> {
        if !listener::has_date(SystemTime::now()) {
            return Err("the clock of this machine is not between 1970 and 9999; set it".into());
        }
        let stop = terminated().map_err(|error| format!("cannot handle signals: {error}"))?;
        let ControlPlane { store, tls, reloader, options, connections, advertised, default_objects } = self;
        let auditor = options.auditor.clone();
        let started = async {
            let server = Server::with_options(store, options).await?;
            server.announce(advertised);
            if let Some(authority) = default_objects {
                server.provide_default_objects(&authority);
            }
            server.create_default_objects().await?;
            server.start_controllers();
            Ok(server)
        };
        let server =
            started.await.map_err(|error: tenure_meta::ApiError| format!("cannot start: {error}"))?;
        tokio::spawn(reloader.run());
        tokio::spawn(memory::release());
        let prepared = server.clone();
        tokio::spawn(async move { prepared.prepare_lists().await });
        ready()?;
        let stopping = server.clone();
        let stop = async move {
            stop.await;
            stopping.stop();
        };
        listener::serve_within(listener, tls, server, connections, stop).await;
        if let Some(auditor) = auditor {
            auditor.close().await;
        }
        tracing::info!("stopped");
        Ok(())
    }
}

/// Begins to read the rules of the built-in kinds, so that other things can be opened meanwhile. Whoever needs them waits for them.
pub fn read_kinds(version: KubernetesVersion) {
    tokio::task::spawn_blocking(move || Kinds::at(version));
}

/// How long workers may take to end what they do when a server has stopped.
const REST_TIME: Duration = Duration::from_secs(2);

/// Ends a runtime whose server has stopped. Tasks that the stop woke end first: one that looks at a timer of a runtime that has ended
/// would panic.
pub fn end(runtime: Runtime) {
    let metrics = runtime.metrics();
    // A worker that is parked was unparked as often as not.
    let rests = |worker: usize| !metrics.worker_park_unpark_count(worker).is_multiple_of(2);
    let deadline = Instant::now() + REST_TIME;
    while !(0..metrics.num_workers()).all(rests) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    drop(runtime);
}
