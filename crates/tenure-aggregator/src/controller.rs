//! Follows the APIServices of the store. Each extension server has two tasks, one for its availability and discovery and one for its
//! OpenAPI documents, which can take long; a server that does not answer does not delay the others.

use crate::{
    Aggregator, ApiService,
    aggregator::{api_services, api_services_prefix},
    api_service::API_SERVICES,
    authentication_config::{ClusterAuthentication, NAME, NAMESPACE},
    availability::Availability,
    registration::{Moment, RegistrationChange, changes},
    token_tracking::{TOKEN_TRACKING, token_tracking},
    writer::ApiServiceWriter,
};
use futures::{StreamExt, future::select_all, stream};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tenure_builtin::role::{ENDPOINT_SLICES, ENDPOINTS, SERVICES};
use tenure_catalog::{
    Catalog,
    object::{Stored, key, prefix},
};
use tenure_meta::{ApiError, GroupVersionResource};
use tenure_store::{Changes, Signal, Watch, WatchRequest};
use tenure_value::{Text, Value};
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{interval, sleep, timeout},
};

const CONFIG_MAPS: GroupVersionResource = GroupVersionResource::new("", "v1", "configmaps");
/// How often an extension server is checked that has not changed.
const RESYNC: Duration = Duration::from_secs(30);
/// How often its OpenAPI documents are read.
const OPENAPI_RESYNC: Duration = Duration::from_secs(60);
/// The first and the longest pause after a failure.
const RETRY: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));
/// How many writes are made at once.
const WRITES: usize = 16;
/// How often the certificates of authorities are compared with those that are published.
const AUTHORITIES: Duration = Duration::from_secs(1);

/// The tasks of an extension server.
struct Follower {
    service: Arc<ApiService>,
    changed: Arc<Notify>,
    openapi_changed: Arc<Notify>,
    /// Aborts the tasks when it is dropped.
    _tasks: JoinSet<()>,
}

impl Aggregator {
    /// Follows the APIServices until the server stops.
    pub async fn run(
        self: Arc<Self>,
        writer: Arc<dyn ApiServiceWriter>,
        catalog: Arc<Catalog>,
        mut stop: tokio::sync::watch::Receiver<bool>,
    ) {
        let following = async {
            loop {
                // Whatever ends this, an error of the store or a compacted history, it begins again with the current state.
                if let Err(failure) = self.follow(&writer, &catalog).await {
                    tracing::warn!(%failure, "aggregation controller restarting");
                }
                sleep(RETRY.0).await;
            }
        };
        tokio::select! {
            () = following => {}
            () = self.publish_authentication(&*writer) => {}
            _ = stop.changed() => {}
        }
        self.stop.send_replace(true);
    }

    async fn follow(
        self: &Arc<Self>,
        writer: &Arc<dyn ApiServiceWriter>,
        catalog: &Arc<Catalog>,
    ) -> Result<(), ApiError> {
        let mut definitions = catalog.subscribe();
        let revision = self.load().await?;
        self.register(&**writer, catalog, Moment::Start).await;
        let mut services =
            self.store.watch(WatchRequest::prefix(api_services_prefix()).after(revision)).await?;
        self.mark_local(&**writer).await;
        let mut followers: HashMap<Text, Follower> = HashMap::new();
        self.start_followers(&mut followers, writer);
        // What addresses depend on is of interest only if there are extension servers.
        let mut endpoints: Vec<Watch> = Vec::new();
        loop {
            if followers.is_empty() {
                endpoints.clear();
            } else if endpoints.is_empty() {
                endpoints = self.watch_endpoints().await?;
                followers.values().for_each(|follower| follower.changed.notify_one());
            }
            let endpoint_changed = async {
                match endpoints.is_empty() {
                    true => std::future::pending().await,
                    false => select_all(endpoints.iter_mut().map(|watch| Box::pin(watch.next()))).await.0,
                }
            };
            tokio::select! {
                signal = services.next() => if let Signal::Changes(changes) = signal? {
                    self.see(&changes);
                    self.mark_local(&**writer).await;
                    self.start_followers(&mut followers, writer);
                },
                signal = endpoint_changed => {
                    if let Signal::Changes(changes) = signal? {
                        notify(&followers, &changes);
                    }
                }
                changed = definitions.changed() => match changed {
                    Ok(()) => self.register(&**writer, catalog, Moment::Later).await,
                    Err(_) => return Ok(()),
                },
            }
        }
    }

    /// Takes over changed APIServices.
    fn see(&self, changes: &Changes) {
        let prefix = api_services_prefix();
        for change in changes {
            let name =
                std::str::from_utf8(&change.key).ok().and_then(|key| key.strip_prefix(prefix.as_str()));
            let Some(name) = name else { continue };
            let current = change.current.as_ref().and_then(|entry| Stored::read(entry).ok());
            self.set(name, current.map(|stored| ApiService::read(&stored.object)));
        }
    }

    /// Starts the tasks of new extension servers, ends those of removed ones, and tells the others what has changed.
    fn start_followers(
        self: &Arc<Self>,
        followers: &mut HashMap<Text, Follower>,
        writer: &Arc<dyn ApiServiceWriter>,
    ) {
        let table = self.table();
        followers.retain(|name, _| table.get(name).is_some_and(|service| service.proxied().is_some()));
        for service in table.all().filter(|service| service.proxied().is_some()) {
            match followers.get_mut(&service.name) {
                Some(follower) if follower.service == *service => {}
                Some(follower) => {
                    // The task that determined the availability needs no notification.
                    if !follower.service.is_reached_as(service) || !self.store.leads() {
                        follower.changed.notify_one();
                    }
                    follower.openapi_changed.notify_one();
                    follower.service = service.clone();
                }
                None => {
                    let follower = self.start_follower(service, writer);
                    followers.insert(service.name.clone(), follower);
                }
            }
        }
    }

    fn start_follower(
        self: &Arc<Self>,
        service: &Arc<ApiService>,
        writer: &Arc<dyn ApiServiceWriter>,
    ) -> Follower {
        let (changed, openapi_changed) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let mut tasks = JoinSet::new();
        let (aggregator, name, notify) = (self.clone(), service.name.clone(), changed.clone());
        let writer = writer.clone();
        tasks.spawn(async move { aggregator.follow_availability(&*writer, &name, &notify).await });
        let (aggregator, name, notify) = (self.clone(), service.name.clone(), openapi_changed.clone());
        tasks.spawn(async move { aggregator.follow_openapi(&name, &notify).await });
        Follower { service: service.clone(), changed, openapi_changed, _tasks: tasks }
    }

    async fn watch_endpoints(&self) -> Result<Vec<Watch>, ApiError> {
        let mut watches = Vec::new();
        for GroupVersionResource { group, version, resource: name } in [SERVICES, ENDPOINTS, ENDPOINT_SLICES]
        {
            if let Some(resource) = tenure_builtin::registry().find(group, version, name) {
                watches.push(self.store.watch(WatchRequest::prefix(prefix(resource, ""))).await?);
            }
        }
        Ok(watches)
    }

    /// Keeps the condition and the discovery of an extension server.
    async fn follow_availability(&self, writer: &dyn ApiServiceWriter, name: &Text, changed: &Notify) {
        let mut pause = RETRY.0;
        while let Some(service) = self.table().get(name).cloned() {
            let mut is_retried = false;
            let mut is_available = service.is_available;
            // Of the servers that share a store the leader writes conditions.
            if self.store.leads() {
                let availability = self.check(&service).await;
                (is_available, is_retried) = (availability.status == "True", availability.is_retried());
                if let Err(failure) = self.write_condition(writer, name, &availability).await {
                    tracing::debug!(%failure, %name, "cannot write the condition of an APIService, retrying");
                    is_retried = true;
                }
            }
            // A server that fails its checks may still tell what it serves.
            match self.fetch_discovery(&service).await {
                Ok(discovery) => self.update(name, |published| {
                    (published.discovery, published.is_current) = (Some(discovery), true)
                }),
                Err(why) => {
                    tracing::debug!(why, %name, "cannot read the discovery of an extension API server");
                    is_retried |= is_available;
                    self.update(name, |published| {
                        (published.discovery, published.is_current) = (None, false)
                    });
                }
            }
            let time = if is_retried { pause } else { RESYNC };
            pause = if is_retried { RETRY.1.min(pause * 2) } else { RETRY.0 };
            // Either ends the wait.
            let _ = timeout(time, changed.notified()).await;
        }
    }

    /// Keeps the OpenAPI documents of an extension server.
    async fn follow_openapi(&self, name: &Text, changed: &Notify) {
        let mut pause = RETRY.0;
        while let Some(service) = self.table().get(name).cloned() {
            let mut time = OPENAPI_RESYNC;
            if service.is_available {
                let known = self.publication(name).openapi;
                match self.fetch_openapi(&service, &known).await {
                    Ok(openapi) => {
                        self.update(name, |published| published.openapi = openapi);
                        pause = RETRY.0;
                    }
                    Err(why) => {
                        tracing::debug!(why, %name, "cannot read the OpenAPI of an extension API server, retrying");
                        time = pause;
                        pause = OPENAPI_RESYNC.min(pause * 2);
                    }
                }
            }
            let _ = timeout(time, changed.notified()).await;
        }
    }

    /// Returns an APIService as it is stored.
    async fn stored(&self, name: &str) -> Result<Option<Stored>, ApiError> {
        let Some(resource) = api_services() else { return Ok(None) };
        let entry = self.store.get(key(resource, "", name).as_bytes()).await?;
        entry.map(|entry| Stored::read(&entry)).transpose()
    }

    /// Writes a condition unless the APIService has it.
    async fn write_condition(
        &self,
        writer: &dyn ApiServiceWriter,
        name: &str,
        availability: &Availability,
    ) -> Result<(), ApiError> {
        let Some(stored) = self.stored(name).await? else { return Ok(()) };
        let Some(status) = availability.status_of(&stored.object, writer.now()) else { return Ok(()) };
        let shown = stored.shown();
        let object = shown.as_object().cloned().unwrap_or_default().with("status", status);
        writer.update_status(API_SERVICES, &object.into()).await
    }

    /// Gives the APIServices of what this server serves the condition that they have.
    async fn mark_local(&self, writer: &dyn ApiServiceWriter) {
        if !self.options.registers || !self.store.leads() {
            return;
        }
        let table = self.table();
        let local = table.all().filter(|service| service.service.is_none() && !service.is_available);
        let names: Vec<Text> = local.map(|service| service.name.clone()).collect();
        let write = |name: Text| async move {
            if let Err(failure) = self.write_condition(writer, &name, &Availability::local()).await
                && failure.code() != 409
            {
                tracing::warn!(%failure, %name, "cannot write the condition of an APIService");
            }
        };
        stream::iter(names).map(write).buffer_unordered(WRITES).collect::<Vec<()>>().await;
    }

    /// Registers what this server serves.
    async fn register(&self, writer: &dyn ApiServiceWriter, catalog: &Catalog, moment: Moment) {
        if !self.options.registers || !self.store.leads() {
            return;
        }
        let table = self.table();
        let stored = |name: &str| table.get(name).map(|service| &**service);
        let changes = changes(&catalog.snapshot(), stored, table.all().map(|service| &**service), moment);
        let write = |change: RegistrationChange| async move {
            let written = match change {
                RegistrationChange::Create(object) => writer.create(API_SERVICES, "", &object).await,
                RegistrationChange::Update(name, object) => {
                    self.replace_registration(writer, &name, &object).await
                }
                RegistrationChange::Delete(name) => writer.delete(API_SERVICES, &name).await,
            };
            // Another server may have been faster.
            if let Err(failure) = written
                && !matches!(failure.code(), 404 | 409)
            {
                tracing::warn!(%failure, "cannot register an APIService");
            }
        };
        stream::iter(changes).map(write).buffer_unordered(WRITES).collect::<Vec<()>>().await;
    }

    /// Replaces the spec and the label of an APIService.
    async fn replace_registration(
        &self,
        writer: &dyn ApiServiceWriter,
        name: &str,
        object: &Value,
    ) -> Result<(), ApiError> {
        let Some(stored) = self.stored(name).await? else { return Ok(()) };
        let live = stored.shown().as_object().cloned().unwrap_or_default();
        let fields = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
        let metadata = fields(live.get("metadata"));
        let mut labels = fields(metadata.get("labels"));
        for (label, value) in fields(object.at(["metadata", "labels"])).iter() {
            labels = labels.with(label.clone(), value.clone());
        }
        let spec = object.get("spec").cloned().unwrap_or_default();
        let object = live.with("metadata", metadata.with("labels", labels)).with("spec", spec);
        writer.update(API_SERVICES, "", &object.into()).await
    }

    /// Keeps the config map by which extension servers authenticate users.
    async fn publish_authentication(&self, writer: &dyn ApiServiceWriter) {
        let Some(authentication) = &self.options.authentication else { return std::future::pending().await };
        let (mut due, mut published) = (interval(AUTHORITIES), None);
        let mut checked = 0_u64;
        loop {
            tokio::select! {
                _ = due.tick() => checked += 1,
                Some(used) = authentication.token_uses.next() => {
                    self.record_use(writer, used).await;
                    continue;
                }
            }
            let authorities = (authentication.client_ca.get(), authentication.request_header_ca.get());
            // It may have been deleted or changed.
            let is_due = checked.is_multiple_of(60) || published.as_ref() != Some(&authorities);
            if !is_due || !self.store.leads() {
                continue;
            }
            match self.write_authentication(writer, authentication).await {
                Ok(()) => published = Some(authorities),
                Err(failure) => {
                    tracing::warn!(%failure, "cannot write the config maps of authentication, retrying")
                }
            }
        }
    }

    async fn write_authentication(
        &self,
        writer: &dyn ApiServiceWriter,
        authentication: &ClusterAuthentication,
    ) -> Result<(), ApiError> {
        self.write_config_map(writer, NAME, |live| authentication.data(live)).await?;
        let now = writer.now();
        self.write_config_map(writer, TOKEN_TRACKING, |live| token_tracking(live, &now)).await
    }

    /// Gives a config map in the system's namespace the data that a function makes of the live one, if it makes any.
    async fn write_config_map(
        &self,
        writer: &dyn ApiServiceWriter,
        name: &str,
        make: impl FnOnce(Option<&Value>) -> Option<Value>,
    ) -> Result<(), ApiError> {
        let GroupVersionResource { group, version, resource: plural } = CONFIG_MAPS;
        let Some(resource) = tenure_builtin::registry().find(group, version, plural) else { return Ok(()) };
        let entry = self.store.get(key(resource, NAMESPACE, name).as_bytes()).await?;
        let stored = entry.map(|entry| Stored::read(&entry)).transpose()?;
        let live = stored.as_ref().map(Stored::shown);
        let Some(data) = make(live.as_ref()) else { return Ok(()) };
        match live {
            Some(live) => {
                let object = live.as_object().cloned().unwrap_or_default().with("data", data);
                writer.update(CONFIG_MAPS, NAMESPACE, &object.into()).await
            }
            None => {
                let metadata = [("name", name), ("namespace", NAMESPACE)]
                    .map(|(name, value)| (name, Value::from(value)));
                let object = Value::object([
                    ("apiVersion", Value::from("v1")),
                    ("kind", "ConfigMap".into()),
                    ("metadata", Value::object(metadata)),
                    ("data", data),
                ]);
                writer.create(CONFIG_MAPS, NAMESPACE, &object).await
            }
        }
    }
}

/// Tells the tasks of the extension servers whose service or endpoints have changed.
fn notify(followers: &HashMap<Text, Follower>, changes: &Changes) {
    for follower in followers.values() {
        let Some(service) = follower.service.proxied() else { continue };
        // The name of an endpoint slice begins with that of its service, but only by convention.
        let namespace = format!("/{}/", service.namespace);
        let concerns = |key: &[u8]| std::str::from_utf8(key).is_ok_and(|key| key.contains(&namespace));
        if changes.iter().any(|change| concerns(&change.key)) {
            follower.changed.notify_one();
        }
    }
}
