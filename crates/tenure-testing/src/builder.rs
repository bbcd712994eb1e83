//! How a test server is set up. Servers with the same settings share a base, which is built once in a process and forked.

use crate::{
    TestError,
    clock::TestClock,
    fault::Faults,
    manifest::{self, Manifest},
    record::RecordingStore,
    server::{Running, TestServer},
};
use http::HeaderValue;
use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tenure_admission::{AdmissionChain, PluginSelection};
use tenure_http::Administrator;
use tenure_meta::ApiError;
use tenure_profile::{KubernetesVersion, Profile};
use tenure_server::{Authorization, ControllerDelays, Controllers, Identifiers, Server, ServerOptions};
use tenure_store::{Compaction, MemoryStore, Store};
use tenure_value::Value;
use tokio::sync::Mutex;

/// The time of the stopped clock of a server with a seed: the first second of 2026.
const START: u64 = 1_767_225_600;
/// How long events are kept, as in Kubernetes.
const EVENT_TTL: Duration = Duration::from_secs(3600);

/// Sets up a [`TestServer`].
#[derive(Clone, Debug, Default)]
pub struct TestServerBuilder {
    base: BaseSettings,
    seed: Option<u64>,
    time: Option<SystemTime>,
    sources: Vec<Source>,
}

/// Where objects are read from.
#[derive(Clone, Debug)]
enum Source {
    Path(PathBuf),
    Document(Manifest),
}

/// What the base of a server depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BaseSettings {
    profile: Profile,
    always_allow: bool,
    service_accounts: bool,
    controllers: Controllers,
    event_ttl: Option<Duration>,
}

impl Default for BaseSettings {
    fn default() -> BaseSettings {
        BaseSettings {
            profile: Profile::kubernetes(),
            always_allow: false,
            service_accounts: false,
            controllers: Controllers::default(),
            event_ttl: Some(EVENT_TTL),
        }
    }
}

impl TestServer {
    /// Starts a server that behaves exactly as Kubernetes. The first start of a process takes some milliseconds; later ones fork it.
    pub async fn start() -> Result<TestServer, TestError> {
        TestServer::builder().start().await
    }

    /// Returns a builder, to choose a seed, definitions and the like.
    pub fn builder() -> TestServerBuilder {
        TestServerBuilder::default()
    }
}

impl TestServerBuilder {
    /// Chooses how the server differs from Kubernetes: by default not at all; [`Profile::tenure`] has every documented improvement.
    /// The version of Kubernetes stays.
    pub fn profile(mut self, profile: Profile) -> TestServerBuilder {
        self.base.profile = profile.at(self.base.profile.version());
        self
    }

    /// Chooses the version of Kubernetes that the server serves.
    pub fn kubernetes(mut self, version: KubernetesVersion) -> TestServerBuilder {
        self.base.profile = self.base.profile.at(version);
        self
    }

    /// Allows every request. By default RBAC decides, and requests without credentials are the administrator's.
    pub fn always_allow(mut self) -> TestServerBuilder {
        self.base.always_allow = true;
        self
    }

    /// Creates the service account `default` in every namespace and lets pods run as it.
    pub fn service_accounts(mut self) -> TestServerBuilder {
        self.base.service_accounts = true;
        self
    }

    /// Chooses which controllers run; by default garbage collection and the deletion of namespaces do.
    pub fn controllers(mut self, controllers: Controllers) -> TestServerBuilder {
        self.base.controllers = controllers;
        self
    }

    /// Chooses how long events are kept after their last write; `None` to keep them.
    pub fn event_ttl(mut self, ttl: Option<Duration>) -> TestServerBuilder {
        self.base.event_ttl = ttl;
        self
    }

    /// Makes uids, generated names and times repeat: they are derived from the seed, and the clock is stopped at the first second
    /// of 2026 until the test moves it.
    pub fn seed(mut self, seed: u64) -> TestServerBuilder {
        self.seed = Some(seed);
        self
    }

    /// Stops the clock at a time until the test moves it.
    pub fn time(mut self, time: SystemTime) -> TestServerBuilder {
        self.time = Some(time);
        self
    }

    /// Applies the objects of a YAML or JSON file, or of all such files in a directory and those below it. Namespaces and definitions
    /// come first, regardless of the order of the files.
    pub fn manifests(mut self, path: impl Into<PathBuf>) -> TestServerBuilder {
        self.sources.push(Source::Path(path.into()));
        self
    }

    /// Applies an object.
    pub fn object(self, object: serde_json::Value) -> TestServerBuilder {
        let place = "an object of the builder".to_string();
        self.document(manifest::from_json(&object), place)
    }

    pub(crate) fn document(mut self, object: Value, place: String) -> TestServerBuilder {
        self.sources.push(Source::Document(Manifest { place, object }));
        self
    }

    /// Starts the server and applies what was added.
    pub async fn start(self) -> Result<TestServer, TestError> {
        let base = base(self.base).await?;
        let identifiers = self.seed.map_or_else(Identifiers::default, Identifiers::seeded);
        let clock = match (self.time, self.seed) {
            (Some(time), _) => TestClock::standing(time),
            (None, Some(_)) => TestClock::standing(UNIX_EPOCH + Duration::from_secs(START)),
            (None, None) => TestClock::running(),
        };
        let server = base.fork_as(clock, identifiers);
        if !self.sources.is_empty() {
            let mut manifests = Vec::new();
            for source in self.sources {
                match source {
                    Source::Path(path) => manifests.extend(manifest::read(&path)?),
                    Source::Document(manifest) => manifests.push(manifest),
                }
            }
            manifest::sort(&mut manifests);
            for manifest in &manifests {
                server.apply_manifest(manifest).await?;
            }
            server.settle().await;
        }
        Ok(server)
    }
}

/// The bases of this process.
static BASES: Mutex<Vec<(BaseSettings, TestServer)>> = Mutex::const_new(Vec::new());

/// Returns the base with some settings, and builds it if it is the first.
async fn base(settings: BaseSettings) -> Result<TestServer, TestError> {
    let mut bases = BASES.lock().await;
    if let Some((_, base)) = bases.iter().find(|(known, _)| *known == settings) {
        return Ok(base.clone());
    }
    let base = build(settings).await?;
    bases.push((settings, base.clone()));
    Ok(base)
}

async fn build(settings: BaseSettings) -> Result<TestServer, TestError> {
    // What every server has is the same in all of them, regardless of the seed.
    let (clock, identifiers) =
        (TestClock::standing(UNIX_EPOCH + Duration::from_secs(START)), Identifiers::seeded(0));
    let token = format!("{}{}", Identifiers::default().uuid(&[]), Identifiers::default().uuid(&[]));
    let authorization = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|error| ApiError::internal(error.to_string()))?;
    let mut options = ServerOptions::new(Administrator::Token(token));
    options.authorization = match settings.always_allow {
        true => Authorization::always_allow(),
        false => Authorization::rbac(),
    };
    options.profile = settings.profile;
    options.controllers = settings.controllers;
    options.controller_delays = ControllerDelays::none();
    options.event_ttl = settings.event_ttl;
    // Kubernetes has no history of objects, and no events about managers that fight.
    options.history.enabled = settings.profile != Profile::kubernetes().at(settings.profile.version());
    options.clock = clock.for_server();
    options.identifiers = identifiers.clone();
    if settings.service_accounts {
        let enabled = vec!["ServiceAccount".to_string()];
        let chain = AdmissionChain::new(&PluginSelection { enabled, disabled: Vec::new() });
        options.admission = chain.map_err(|error| ApiError::internal(error.to_string()))?;
    }
    let store = RecordingStore::new(MemoryStore::new().with_clock(clock.for_store()));
    let server = Server::with_options(store.clone(), options).await?;
    server.announce(SocketAddr::from(([127, 0, 0, 1], 6443)));
    if settings.service_accounts {
        server.provide_default_objects("");
    }
    server.create_default_objects().await?;
    let base = TestServer::of(
        Arc::new(Running::new(server, store, identifiers)),
        clock,
        Faults::default(),
        authorization,
    );
    // Forks begin with what the controllers of this one know: those of the first write what is missing, those of the second have
    // nothing left to do. Their history is empty, since the clocks of most forks would make them forget it.
    let written = base.fork();
    written.settle().await;
    let settled = written.fork();
    settled.settle().await;
    settled.inner.running().store.compact(Compaction::KeepCount(0)).await?;
    Ok(settled.fork())
}
