//! The test server: a whole control plane in the process, its forks, snapshots and views of the past.

use crate::{
    TestError,
    clock::TestClock,
    fault::{Effect, Fault, Faults, InjectedFault, Taken},
    record::RecordingStore,
    request_info::{RequestInfo, called, find_resource},
};
use http::HeaderValue;
use parking_lot::{Mutex, RwLock};
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tenure_meta::ApiError;
use tenure_server::{ForkOptions, Identifiers, Server};
use tenure_store::{MemoryStore, Revision, Store};

/// A control plane inside a test.
///
/// Clones are handles of the same server; [`fork`](TestServer::fork) makes another one. The controllers of the server (garbage
/// collection, namespaces and the like) start with the first write, on the runtime that sends it, and end with the last handle.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use tenure_testing::TestServer;
///
/// let server = TestServer::start().await?;
/// assert!(server.object("Namespace", "", "kube-system").get().await?.is_some());
/// # Ok::<(), tenure_testing::TestError>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct TestServer {
    pub(crate) inner: Arc<Inner>,
}

/// The state of a server to return to; see [`TestServer::snapshot`].
#[derive(Clone, Debug)]
pub struct Snapshot(TestServer);

pub(crate) struct Inner {
    /// Replaced when a snapshot is restored.
    current: RwLock<Arc<Running>>,
    pub clock: TestClock,
    pub faults: Faults,
    /// The credentials of the administrator.
    pub authorization: HeaderValue,
    /// The servers that stale reads are answered from, by the faults that want them.
    stale: Mutex<HashMap<u64, Arc<Server>>>,
    /// The revision, if this is a view of the past.
    pub view_of: Option<u64>,
    is_restored: AtomicBool,
    /// Whether the controllers may have something to do.
    pub has_work: AtomicBool,
    /// The revision up to which the controllers are known to have done everything.
    idle_at: AtomicU64,
}

/// A server over a store.
pub(crate) struct Running {
    pub server: Arc<Server>,
    pub store: Arc<RecordingStore>,
    identifiers: Identifiers,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.server.stop();
    }
}

impl Inner {
    pub fn running(&self) -> Arc<Running> {
        self.current.read().clone()
    }

    /// Starts the controllers if they may have something to do. They are started once.
    pub fn start_controllers(&self, running: &Running) {
        if self.view_of.is_none() && self.has_work.load(Relaxed) {
            running.server.start_controllers();
        }
    }

    /// Whether a list or a watch starts from a version that a restore has undone.
    pub fn is_ahead(&self, info: &RequestInfo) -> bool {
        self.is_restored.load(Relaxed)
            && matches!(info.verb.as_str(), "list" | "watch")
            && info.resource_version.is_some_and(|version| version > self.running().store.known().get())
    }

    /// Returns the server that a stale read is answered from.
    pub async fn stale_view(&self, taken: &Taken) -> Result<Arc<Server>, ApiError> {
        let known = match taken.is_last {
            true => self.stale.lock().remove(&taken.id),
            false => self.stale.lock().get(&taken.id).cloned(),
        };
        let Effect::StaleRead { revision: Some(revision) } = taken.effect else {
            return known.ok_or_else(|| ApiError::internal("the state of a stale read is gone"));
        };
        match known {
            Some(server) => Ok(server),
            None => {
                let view = self.at(revision, &self.clock.fork()).await?;
                if !taken.is_last {
                    self.stale.lock().insert(taken.id, view.server.clone());
                }
                Ok(view.server.clone())
            }
        }
    }

    /// Returns a server over the state of a revision.
    async fn at(&self, revision: u64, clock: &TestClock) -> Result<Arc<Running>, ApiError> {
        let running = self.running();
        let store = running.store.store.at(Revision::from_number(revision))?;
        let past = running.fork(store, clock, &Faults::default());
        // Definitions and roles may have been others.
        past.server.refresh().await?;
        Ok(past)
    }
}

impl Running {
    /// Wraps a server.
    pub fn new(server: Arc<Server>, store: Arc<RecordingStore>, identifiers: Identifiers) -> Running {
        Running { server, store, identifiers }
    }

    /// Returns a server over a fork of the store.
    fn fork(&self, store: MemoryStore, clock: &TestClock, faults: &Faults) -> Arc<Running> {
        self.fork_with(store, clock, faults, self.identifiers.fork())
    }

    fn fork_with(
        &self,
        store: MemoryStore,
        clock: &TestClock,
        faults: &Faults,
        identifiers: Identifiers,
    ) -> Arc<Running> {
        let store = RecordingStore::new(store.with_clock(clock.for_store()));
        let (faults, clock) = (faults.clone(), clock.for_server());
        let mut options = ForkOptions::new(clock.clone(), identifiers.clone());
        options.webhook_interceptor =
            Some(Arc::new(move |review, time_limit| faults.webhook(&clock, review, time_limit)));
        let server = self.server.fork(store.clone(), options);
        Arc::new(Running { server, store, identifiers })
    }
}

impl TestServer {
    pub(crate) fn of(
        running: Arc<Running>,
        clock: TestClock,
        faults: Faults,
        authorization: HeaderValue,
    ) -> TestServer {
        let idle_at = AtomicU64::new(running.store.known().get());
        TestServer {
            inner: Arc::new(Inner {
                current: RwLock::new(running),
                clock,
                faults,
                authorization,
                stale: Mutex::default(),
                view_of: None,
                is_restored: AtomicBool::new(false),
                has_work: AtomicBool::new(false),
                idle_at,
            }),
        }
    }

    /// Returns an independent server with the same objects, history and time. Both share memory until one of them writes. Faults are
    /// not copied, and the fork's log of writes is empty.
    pub fn fork(&self) -> TestServer {
        let running = self.inner.running();
        self.fork_as(self.inner.clock.fork(), running.identifiers.fork())
    }

    /// Returns a fork with another clock and other identifiers.
    pub(crate) fn fork_as(&self, clock: TestClock, identifiers: Identifiers) -> TestServer {
        let (running, faults) = (self.inner.running(), Faults::default());
        let store = running.store.store.fork();
        let has_work =
            self.inner.has_work.load(Relaxed) && store.known().get() > self.inner.idle_at.load(Relaxed);
        let forked = running.fork_with(store, &clock, &faults, identifiers);
        let fork = TestServer::of(forked, clock, faults, self.inner.authorization.clone());
        fork.inner.has_work.store(has_work, Relaxed);
        fork
    }

    /// Takes a snapshot of everything: objects, history and time.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot(self.fork())
    }

    /// Returns to a snapshot, of this server or of another. Open watches end; a client that continues from a version which the
    /// restored server does not know gets the error that its version is too old, and lists again. Faults stay.
    pub fn restore(&self, snapshot: &Snapshot) {
        let Snapshot(from) = snapshot;
        let (source, inner) = (from.inner.running(), &self.inner);
        inner.clock.follow(&from.inner.clock);
        let restored = source.fork(source.store.store.fork(), &inner.clock, &inner.faults);
        inner.is_restored.store(true, Relaxed);
        inner.idle_at.store(from.inner.idle_at.load(Relaxed), Relaxed);
        inner.has_work.store(true, Relaxed);
        let former = std::mem::replace(&mut *inner.current.write(), restored);
        former.server.stop();
    }

    /// Returns a read-only server that shows the state of a revision, with the definitions that were served then.
    pub async fn at(&self, revision: u64) -> Result<TestServer, TestError> {
        let (clock, faults) = (self.inner.clock.fork(), Faults::default());
        let past = self.inner.at(revision, &clock).await?;
        let mut view = TestServer::of(past, clock, faults, self.inner.authorization.clone());
        if let Some(inner) = Arc::get_mut(&mut view.inner) {
            inner.view_of = Some(revision);
        }
        Ok(view)
    }

    /// Returns the revision of the newest write, which its object has as its `resourceVersion`.
    pub fn revision(&self) -> u64 {
        self.inner.running().store.known().get()
    }

    /// Returns the server itself, for what has no method here. It knows no faults. Restoring a snapshot replaces it.
    pub fn server(&self) -> Arc<Server> {
        self.inner.running().server.clone()
    }

    /// Returns the clock of the server.
    pub fn clock(&self) -> &TestClock {
        &self.inner.clock
    }

    /// Moves the clock of the server forward: events, tokens and history expire, watches send bookmarks and end, and calls of webhooks
    /// time out.
    pub fn advance(&self, by: Duration) {
        self.inner.has_work.store(true, Relaxed);
        self.inner.clock.advance(by);
    }

    /// Waits until the server's controllers have nothing to do: dependents of deleted owners are gone, deleted namespaces are empty.
    /// Forks that are made from now on begin with what these controllers know, so that their first write does not read all objects.
    pub async fn settle(&self) {
        let running = self.inner.running();
        if self.inner.view_of.is_some() {
            return;
        }
        self.inner.has_work.store(true, Relaxed);
        self.inner.start_controllers(&running);
        if let Some(revision) = running.server.controllers_idle().await {
            self.inner.idle_at.fetch_max(revision.get(), Relaxed);
        }
    }

    /// Injects a fault.
    pub fn inject(&self, fault: impl Into<Fault>) -> InjectedFault {
        let mut fault = fault.into();
        // Requests are about a kind or a plural; a short name is translated once.
        if let Some(kind) = &mut fault.kind
            && let Some(handler) = find_resource(self.server().catalog(), kind)
            && !called(&handler.resource.kind, &handler.resource.name, &handler.resource.group, kind)
        {
            *kind = handler.resource.kind.to_string();
        }
        let now = matches!(fault.effect(), Effect::StaleRead { revision: None });
        let view = now.then(|| {
            let running = self.inner.running();
            running.fork(running.store.store.fork(), &self.inner.clock.fork(), &Faults::default())
        });
        let mut stale = self.inner.stale.lock();
        let injected = self.inner.faults.inject(fault);
        if let Some(view) = view {
            stale.insert(injected.id, view.server.clone());
        }
        injected
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.inner.faults.clear();
        self.inner.stale.lock().clear();
    }
}

impl Snapshot {
    /// Returns the revision of the snapshot.
    pub fn revision(&self) -> u64 {
        self.0.revision()
    }
}

impl fmt::Debug for TestServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestServer")
            .field("revision", &self.revision())
            .field("clock", &self.inner.clock)
            .finish_non_exhaustive()
    }
}
