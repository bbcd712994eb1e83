//! The state of aggregation: the APIServices of the store, and what their extension servers have published.

use crate::{
    ApiService, ProxyClientCertificate, Routing, api_service::API_SERVICES,
    authentication_config::ClusterAuthentication, publication::Publication, registration,
    transport::ProxyTransport,
};
use hyper::header::HeaderValue;
use parking_lot::{Mutex, RwLock};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use tenure_catalog::{Aggregated, AggregatedVersion, Priority, object::Stored, object::prefix};
use tenure_http::{DiscoveryPath, RequestPath};
use tenure_meta::{ApiError, GroupVersionResource, Resource};
use tenure_store::{ListRequest, Revision, Store};
use tenure_transport::Reloadable;
use tenure_value::Text;
use tokio::sync::Semaphore;

/// The most connections whose protocol was changed.
const TUNNELS: usize = 512;

/// How a server aggregates.
#[derive(Clone, Default)]
pub struct AggregatorOptions {
    /// How the addresses of services are found.
    pub routing: Routing,
    /// The certificate by which extension servers recognize this server.
    pub client_certificate: Option<Reloadable<ProxyClientCertificate>>,
    /// Whether APIServices are registered for what the server serves itself.
    pub registers: bool,
    /// What extension servers need to authenticate users as this server does; it is published if it is given.
    pub authentication: Option<ClusterAuthentication>,
}

/// Which groups and versions extension API servers serve.
pub struct Aggregator {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) routing: Routing,
    pub(crate) transport: ProxyTransport,
    pub(crate) options: AggregatorOptions,
    /// The name of this server in `Via`, by which a loop is found.
    pub(crate) via: HeaderValue,
    pub(crate) tunnels: Arc<Semaphore>,
    pub(crate) stop: tokio::sync::watch::Sender<bool>,
    table: RwLock<Arc<Table>>,
    published: Mutex<HashMap<Text, Publication>>,
    aggregated: RwLock<Arc<Aggregated>>,
}

/// The APIServices of the store.
#[derive(Clone, Default)]
pub(crate) struct Table {
    by_name: BTreeMap<Text, Arc<ApiService>>,
    /// Those of extension servers, by group and version.
    proxied: HashMap<(Text, Text), Arc<ApiService>>,
}

impl Table {
    fn new(services: impl IntoIterator<Item = ApiService>) -> Table {
        let by_name: BTreeMap<Text, Arc<ApiService>> =
            services.into_iter().map(|service| (service.name.clone(), Arc::new(service))).collect();
        let proxied = by_name.values().filter(|service| service.proxied().is_some());
        let proxied = proxied
            .map(|service| ((service.group.clone(), service.version.clone()), service.clone()))
            .collect();
        Table { by_name, proxied }
    }

    /// Returns an APIService by its name.
    pub fn get(&self, name: &str) -> Option<&Arc<ApiService>> {
        self.by_name.get(name)
    }

    /// Returns all APIServices, by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<ApiService>> {
        self.by_name.values()
    }
}

impl Aggregator {
    /// Reads the APIServices of a store.
    pub async fn open(
        store: Arc<dyn Store>,
        options: AggregatorOptions,
    ) -> Result<Arc<Aggregator>, ApiError> {
        let transport = ProxyTransport::new(options.client_certificate.clone());
        let aggregator = Aggregator::new(store, options, transport);
        aggregator.load().await?;
        Ok(Arc::new(aggregator))
    }

    fn new(store: Arc<dyn Store>, options: AggregatorOptions, transport: ProxyTransport) -> Aggregator {
        let via = format!("1.1 {}", uuid::Uuid::new_v4());
        Aggregator {
            store,
            routing: options.routing,
            transport,
            options,
            via: HeaderValue::try_from(via).unwrap_or(HeaderValue::from_static("1.1 tenure")),
            tunnels: Arc::new(Semaphore::new(TUNNELS)),
            stop: tokio::sync::watch::Sender::new(false),
            table: RwLock::default(),
            published: Mutex::default(),
            aggregated: RwLock::default(),
        }
    }

    /// Returns the aggregator of a fork of the store, which has the same APIServices until one of the two changes them.
    pub fn fork(&self, store: Arc<dyn Store>) -> Arc<Aggregator> {
        let fork = Aggregator::new(store, self.options.clone(), self.transport.fork());
        *fork.table.write() = self.table();
        *fork.published.lock() = self.published.lock().clone();
        *fork.aggregated.write() = self.aggregated();
        Arc::new(fork)
    }

    /// Returns the APIService of the extension server that a request is for.
    pub fn route(&self, path: &RequestPath) -> Option<Arc<ApiService>> {
        let table = self.table.read();
        if table.proxied.is_empty() {
            return None;
        }
        let find =
            |group: &Text, version: &Text| table.proxied.get(&(group.clone(), version.clone())).cloned();
        match path {
            RequestPath::Resource(path) => find(&path.group, &path.version),
            RequestPath::Discovery(DiscoveryPath::Version(group, version)) => find(group, version),
            RequestPath::Other(path) => {
                let name = path.strip_prefix("/openapi/v3/")?.trim_end_matches('/');
                let (group, version) = name.strip_prefix("apis/")?.split_once('/')?;
                let service = find(&group.into(), &version.into())?;
                // A document that was made here is served from here.
                let openapi = self.published.lock().get(&service.name)?.openapi.version_3.clone();
                matches!(openapi, Some(tenure_catalog::OpenApi3::Served(_))).then_some(service)
            }
            RequestPath::Discovery(_) => None,
        }
    }

    /// Reads the APIServices again.
    pub async fn refresh(&self) -> Result<(), ApiError> {
        self.load().await.map(drop)
    }

    /// Returns what extension servers add to discovery and OpenAPI.
    pub fn aggregated(&self) -> Arc<Aggregated> {
        self.aggregated.read().clone()
    }

    pub(crate) fn table(&self) -> Arc<Table> {
        self.table.read().clone()
    }

    /// Reads all APIServices, and returns the revision that they were read at.
    pub(crate) async fn load(&self) -> Result<Revision, ApiError> {
        let listing = self.store.list(ListRequest::prefix(api_services_prefix())).await?;
        let services: Result<Vec<ApiService>, ApiError> =
            listing.entries.iter().map(|entry| Ok(ApiService::read(&Stored::read(entry)?.object))).collect();
        self.replace(Table::new(services?));
        Ok(listing.revision)
    }

    /// Sets or removes an APIService.
    pub(crate) fn set(&self, name: &str, service: Option<ApiService>) {
        let mut services: BTreeMap<Text, ApiService> =
            self.table().all().map(|service| (service.name.clone(), ApiService::clone(service))).collect();
        match service {
            Some(service) => drop(services.insert(name.into(), service)),
            None => drop(services.remove(name)),
        }
        self.replace(Table::new(services.into_values()));
    }

    fn replace(&self, table: Table) {
        self.published
            .lock()
            .retain(|name, _| table.get(name).is_some_and(|service| service.proxied().is_some()));
        *self.table.write() = Arc::new(table);
        self.publish();
    }

    /// Changes what an extension server has published.
    pub(crate) fn update(&self, name: &Text, change: impl FnOnce(&mut Publication)) {
        if self.table().get(name).is_none_or(|service| service.proxied().is_none()) {
            return;
        }
        let mut published = self.published.lock();
        let known = published.entry(name.clone()).or_default();
        let mut new = known.clone();
        change(&mut new);
        // Documents that were made from what is published stay valid.
        if new != *known {
            *known = new;
            drop(published);
            self.publish();
        }
    }

    /// Returns what an extension server has published.
    pub(crate) fn publication(&self, name: &str) -> Publication {
        self.published.lock().get(name).cloned().unwrap_or_default()
    }

    fn publish(&self) {
        let table = self.table();
        let published = self.published.lock();
        let versions = table.all().filter(|service| service.proxied().is_some()).map(|service| {
            let publication = published.get(&service.name).cloned().unwrap_or_default();
            AggregatedVersion {
                group: service.group.clone(),
                version: service.version.clone(),
                priority: service.priority,
                discovery: publication.discovery_of(&service.version),
                openapi_3: publication.openapi.version_3,
                openapi_2: publication.openapi.version_2,
            }
        });
        let versions: Vec<AggregatedVersion> = versions.collect();
        let changed = priorities(&table);
        let is_plain = versions.is_empty() && changed.is_empty();
        let aggregated =
            if is_plain { Aggregated::default() } else { Aggregated::new(versions, all_priorities(changed)) };
        *self.aggregated.write() = Arc::new(aggregated);
    }
}

/// Returns the priorities of local APIServices that are not the default ones.
fn priorities(table: &Table) -> HashMap<(Text, Text), Priority> {
    let local = table.all().filter(|service| service.service.is_none());
    let changed = local.filter(|service| {
        service.priority
            != registration::priority(&service.group, &service.version).unwrap_or(Priority::CUSTOM)
    });
    changed.map(|service| ((service.group.clone(), service.version.clone()), service.priority)).collect()
}

/// Adds the default priorities.
fn all_priorities(changed: HashMap<(Text, Text), Priority>) -> HashMap<(Text, Text), Priority> {
    let mut all = registration::priorities();
    all.extend(changed);
    all
}

/// Returns the prefix of the keys of APIServices.
pub(crate) fn api_services_prefix() -> String {
    api_services().map(|resource| prefix(resource, "")).unwrap_or_default()
}

/// Returns the resource of APIServices.
pub(crate) fn api_services() -> Option<&'static Resource> {
    let GroupVersionResource { group, version, resource: name } = API_SERVICES;
    tenure_builtin::registry().find(group, version, name).map(|resource| &**resource)
}
