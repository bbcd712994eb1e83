//! The composition root. The parts are built in the order of their dependencies (catalog, objects, reader, admission, writer,
//! subresources), so that none can reach back. What a request passes is in `handler_chain.rs`.

use crate::{
    admission::Admission,
    aggregation::AggregatorWriter,
    bootstrap_roles,
    controllers::{
        self, Checkpoint, ControllerDelays, ControllerOptions, Controllers, DefaultObjects, Idlers,
    },
    fight_events,
    flow_control::FlowController,
    read::{ReadLimits, Reader},
    subresources::Subresources,
    write::Writer,
};
use parking_lot::Mutex;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tenure_admission::{AdmissionChain, WebhookClient, WebhookInterceptor};
use tenure_aggregator::{Aggregator, AggregatorOptions};
use tenure_audit::Auditor;
use tenure_authentication::{Authenticator, IdentityOptions};
use tenure_authorization::{Authorization, Authorizer};
use tenure_builtin::allocate::ServiceNetworks;
use tenure_catalog::{
    Catalog, Clock, CollectionSizes, Identifiers, Objects,
    history::{History, HistoryOptions, HistoryReader},
};
use tenure_http::{Administrator, MemoryBudget, Metrics, WebEndpoint, WebService, offload::Offload};
use tenure_meta::ApiError;
use tenure_profile::Profile;
use tenure_store::{Revision, Store};
use tokio::sync::{mpsc, oneshot};

/// What a server is built from besides its store.
#[non_exhaustive]
pub struct ServerOptions {
    /// Who the administrator is.
    pub access: Administrator,
    /// How other users are authenticated.
    pub identity: IdentityOptions,
    /// How requests are authorized.
    pub authorization: Authorization,
    /// The admission plugins that run.
    pub admission: AdmissionChain,
    /// The improvements on Kubernetes that are on.
    pub profile: Profile,
    /// The controllers that run.
    pub controllers: Controllers,
    /// How long controllers wait before they do something.
    pub controller_delays: ControllerDelays,
    /// The addresses of services.
    pub service_addresses: ServiceNetworks,
    /// The clock.
    pub clock: Clock,
    /// The source of uids and generated names.
    pub identifiers: Identifiers,
    /// Lets calls of webhooks time out, for tests.
    pub webhook_interceptor: Option<Arc<WebhookInterceptor>>,
    /// How many requests run at once under priority and fairness; `None` to run all of them at once.
    pub concurrency: Option<u32>,
    /// The memory of requests in flight.
    pub memory: MemoryBudget,
    /// How long a watch that sets no timeout lasts: at least so long, and at most twice.
    pub min_request_timeout: Duration,
    /// How long events are kept after their last write; `None` to keep them.
    pub event_ttl: Option<Duration>,
    /// Records audit events, if requests are audited.
    pub auditor: Option<Arc<Auditor>>,
    /// What the history of objects contains.
    pub history: HistoryOptions,
    /// How extension API servers are reached.
    pub aggregation: AggregatorOptions,
    /// What is served beside the API.
    pub web: Option<Arc<dyn WebEndpoint>>,
}

/// How long a watch lasts at least unless the operator chooses another time.
const DEFAULT_MIN_REQUEST_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// How long events are kept unless the operator chooses another time.
const DEFAULT_EVENT_TTL: Duration = Duration::from_secs(3600);
/// How many requests run at once unless the operator chooses another number: as many as a kube-apiserver runs.
pub const DEFAULT_CONCURRENCY: u32 = 600;

impl ServerOptions {
    /// Returns the options of a server with all admission plugins, the behaviour of Kubernetes and the system's clock.
    pub fn new(access: Administrator) -> ServerOptions {
        let (authorization, concurrency) = match access {
            Administrator::Token(_) => (Authorization::rbac(), Some(DEFAULT_CONCURRENCY)),
            // Everyone is the same user, whom fairness could not tell apart.
            Administrator::Anyone => (Authorization::always_allow(), None),
        };
        ServerOptions {
            access,
            identity: IdentityOptions::default(),
            authorization,
            admission: AdmissionChain::default(),
            profile: Profile::kubernetes(),
            controllers: Controllers::default(),
            controller_delays: ControllerDelays::default(),
            service_addresses: ServiceNetworks::DEFAULT,
            clock: Clock::default(),
            identifiers: Identifiers::default(),
            webhook_interceptor: None,
            concurrency,
            memory: MemoryBudget::default(),
            min_request_timeout: DEFAULT_MIN_REQUEST_TIMEOUT,
            event_ttl: Some(DEFAULT_EVENT_TTL),
            auditor: None,
            history: HistoryOptions::default(),
            aggregation: AggregatorOptions::default(),
            web: None,
        }
    }
}

/// The Kubernetes API over a store.
pub struct Server {
    /// The counters of the server.
    pub metrics: Arc<Metrics>,
    pub(crate) auditor: Option<Arc<Auditor>>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) authorizer: Arc<Authorizer>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) aggregator: Arc<Aggregator>,
    pub(crate) objects: Arc<Objects>,
    pub(crate) reader: Arc<Reader>,
    pub(crate) writer: Arc<Writer>,
    pub(crate) history: Arc<HistoryReader>,
    pub(crate) subresources: Arc<Subresources>,
    pub(crate) default_objects: Arc<DefaultObjects>,
    pub(crate) controllers: ControllerOptions,
    /// Who waits for the controllers, which take the receiver when they start.
    pub(crate) idlers: (mpsc::UnboundedSender<oneshot::Sender<Revision>>, Mutex<Option<Idlers>>),
    /// What the controllers of a fork begin with.
    pub(crate) checkpoint: Arc<Checkpoint>,
    pub(crate) flow_control: Option<Arc<FlowController>>,
    pub(crate) web: Option<WebService>,
    pub(crate) memory: MemoryBudget,
    pub(crate) offload: Arc<Offload>,
    pub(crate) stop: tokio::sync::watch::Sender<bool>,
}

impl Server {
    /// Opens a server over a store with the default options.
    pub async fn open(store: Arc<dyn Store>, access: Administrator) -> Result<Arc<Server>, ApiError> {
        Server::with_options(store, ServerOptions::new(access)).await
    }

    /// Opens a server over a store. The namespaces that every client expects are created if they do not exist.
    pub async fn with_options(
        store: Arc<dyn Store>,
        options: ServerOptions,
    ) -> Result<Arc<Server>, ApiError> {
        let ServerOptions {
            access,
            identity,
            authorization,
            admission,
            profile,
            controllers,
            controller_delays,
            service_addresses,
            clock,
            identifiers,
            webhook_interceptor,
            concurrency,
            memory,
            min_request_timeout,
            event_ttl,
            auditor,
            history,
            aggregation,
            web,
        } = options;
        let offload = Arc::new(Offload::default());
        let sizes = Arc::new(CollectionSizes::new(store.clone()));
        let stop = tokio::sync::watch::Sender::new(false);
        let metrics = Arc::new(Metrics::default());
        let authenticator = Authenticator::open(access, identity, store.clone(), clock.clone()).await?;
        let authenticator = Arc::new(authenticator);
        let authorizer = Authorizer::open(store.clone(), &authorization.at(profile.version())).await?;
        let catalog = Catalog::open(store.clone(), profile).await?;
        let aggregator = Aggregator::open(store.clone(), aggregation).await?;
        let webhooks = WebhookClient::default().with_interceptor(webhook_interceptor);
        let objects = Objects::new(store.clone(), catalog.clone(), clock, identifiers, webhooks);
        let reader = Reader::new(
            objects.clone(),
            metrics.clone(),
            ReadLimits { memory: memory.clone(), offload: offload.clone(), sizes: sizes.clone() },
            stop.subscribe(),
            min_request_timeout,
        );
        let admission = Admission::new(objects.clone(), authorizer.clone(), admission);
        let history = Arc::new(History::new(history));
        let (authorized, recorded) = (authorizer.clone(), history.clone());
        let writer = Writer::new(reader.clone(), admission, authorized, profile, recorded, service_addresses);
        let history = HistoryReader::new(objects.clone(), history, offload.clone(), stop.subscribe());
        let subresources = Subresources::new(writer.clone(), authenticator.clone());
        writer.create_initial_namespaces().await?;
        // These are independent of each other, and their writes share the commits of the store.
        let addresses = async {
            writer.services.migrate().await?;
            controllers::create_default_service_cidr(&writer, service_addresses).await
        };
        let roles = async {
            if authorizer.has_rbac() {
                bootstrap_roles::restore(&writer).await?;
                // Aggregated roles grant nothing before their rules are collected.
                controllers::aggregate_roles(&writer).await?;
            }
            Ok(())
        };
        let flow_control = async {
            let Some(seats) = concurrency else { return Ok(None) };
            let flow_control = FlowController::open(store, sizes.clone(), seats).await?;
            flow_control.restore(&writer).await?;
            Ok(Some(flow_control))
        };
        let ((), (), flow_control) = tokio::try_join!(addresses, roles, flow_control)?;
        // From here on webhooks and policies have a say.
        writer.admission.refresh().await?;
        let default_objects = Arc::new(DefaultObjects::new(service_addresses));
        Ok(Arc::new(Server {
            metrics,
            auditor,
            authenticator,
            authorizer,
            catalog,
            aggregator,
            objects,
            reader,
            writer,
            history,
            subresources,
            default_objects,
            controllers: ControllerOptions { controllers, delays: controller_delays, event_ttl },
            idlers: idlers(),
            checkpoint: Arc::default(),
            flow_control,
            web: web.map(|endpoint| WebService::new(endpoint, memory.clone(), offload.clone())),
            memory,
            offload,
            stop,
        }))
    }

    /// Asks for the service `kubernetes` in the namespace `default`, which leads to this address. Call this before
    /// [`start_controllers`](Server::start_controllers).
    pub fn announce(&self, address: SocketAddr) {
        self.default_objects.announce(address);
    }

    /// Asks for the service account `default` and the config map `kube-root-ca.crt` in every namespace. Call this before
    /// [`start_controllers`](Server::start_controllers).
    pub fn provide_default_objects(&self, authority: &str) {
        self.default_objects.provide_everywhere(authority);
    }

    /// Creates the default objects of the namespace `default` at once; the controllers keep them. Call this after
    /// [`announce`](Server::announce) and [`provide_default_objects`](Server::provide_default_objects).
    pub async fn create_default_objects(&self) -> Result<(), ApiError> {
        controllers::create_default_objects(&self.writer, &self.default_objects).await
    }

    /// Starts garbage collection, the deletion of namespaces and definitions, and the default objects of namespaces. Only the first
    /// call counts.
    pub fn start_controllers(&self) {
        let Some(idlers) = self.idlers.1.lock().take() else { return };
        let (writer, defaults) = (self.writer.clone(), self.default_objects.clone());
        let (checkpoint, stopping) = (self.checkpoint.clone(), self.stop.subscribe());
        controllers::start(writer, defaults, self.controllers, checkpoint, idlers, stopping);
        let (writer, mut stopping) = (self.writer.clone(), self.stop.subscribe());
        tokio::spawn(async move {
            tokio::select! {
                () = fight_events::follow(&writer) => {}
                _ = stopping.changed() => {}
            }
        });
        let writer = AggregatorWriter { writer: self.writer.clone() };
        let aggregator = self.aggregator.clone();
        tokio::spawn(aggregator.run(Arc::new(writer), self.catalog.clone(), self.stop.subscribe()));
        if let Some(flow_control) = &self.flow_control {
            tokio::spawn(flow_control.clone().follow(self.writer.clone(), self.stop.subscribe()));
        }
    }

    /// Prepares what clients ask for after a start, when they list everything again, and returns for how many collections. Nothing has
    /// to wait for it.
    pub async fn prepare_lists(&self) -> usize {
        self.reader.prepare_indexes().await
    }

    /// Waits until the controllers have seen every change and have no work that is due, and returns the revision up to which that
    /// holds. Forks that are made from now on begin with what the controllers know. Returns `None` at once if the controllers have been
    /// stopped; waits for their start if they have not been started.
    pub async fn controllers_idle(&self) -> Option<Revision> {
        if let Some(flow_control) = &self.flow_control {
            let mut stopping = self.stop.subscribe();
            tokio::select! {
                () = flow_control.settled() => {}
                _ = stopping.wait_for(|stop| *stop) => return None,
            }
        }
        let (sender, receiver) = oneshot::channel();
        self.idlers.0.send(sender).ok()?;
        // An error means that the controllers have ended.
        receiver.await.ok()
    }

    /// Ends all watches and the controllers, so that the server can stop.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// Returns the channel on which tasks wait until the controllers are idle.
pub(crate) fn idlers() -> (mpsc::UnboundedSender<oneshot::Sender<Revision>>, Mutex<Option<Idlers>>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (sender, Mutex::new(Some(receiver)))
}
