//! A server in this process, over a store in memory, on a free port.

use crate::http::{Request, Response, send};
use std::{
    net::SocketAddr,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tenure_audit::{AuditOptions, Auditor};
use tenure_http::{
    Administrator,
    listener::{bind, serve},
};
use tenure_server::Profile;
use tenure_server::{Server as ApiServer, ServerOptions};
use tenure_store::{Compaction, ListRequest, MemoryStore, Store};
use tenure_value::Value;
use tokio::runtime::Runtime;

/// Returns the options of a server with every improvement.
pub fn improved(access: Administrator) -> ServerOptions {
    let mut options = ServerOptions::new(access);
    options.profile = Profile::tenure();
    options
}

/// A running server; it stops after its last request when dropped.
pub struct Server {
    pub address: SocketAddr,
    pub store: Arc<MemoryStore>,
    api: Arc<ApiServer>,
    runtime: Option<Runtime>,
}

impl Server {
    /// Starts a server without authentication.
    pub fn start() -> Server {
        Server::with(Administrator::Anyone)
    }

    pub fn with(access: Administrator) -> Server {
        Server::over(Arc::new(MemoryStore::new()), access)
    }

    /// Starts a server with the garbage collection and namespace controllers.
    pub fn living() -> Server {
        Server::start().with_controllers()
    }

    /// Publishes the service `kubernetes` for the server.
    pub fn announced(self) -> Server {
        let address = self.address;
        self.announced_at(address)
    }

    /// Does the same with another address.
    pub fn announced_at(self, address: SocketAddr) -> Server {
        self.api.announce(address);
        self
    }

    /// Creates the default objects of namespaces.
    pub fn with_default_objects(self, authority: &str) -> Server {
        self.api.provide_default_objects(authority);
        self
    }

    /// Creates the default objects of the namespace `default`.
    pub fn with_created_default_objects(self) -> Server {
        let runtime = self.runtime.as_ref().expect("the server runs");
        runtime.block_on(self.api.create_default_objects()).expect("the objects are created");
        self
    }

    /// Prepares the lists of clients, and returns for how many collections.
    pub fn prepare_lists(&self) -> usize {
        let runtime = self.runtime.as_ref().expect("the server runs");
        runtime.block_on(self.api.prepare_lists())
    }

    /// Starts the controllers.
    pub fn with_controllers(self) -> Server {
        let runtime = self.runtime.as_ref().expect("the server runs");
        runtime.block_on(async { self.api.start_controllers() });
        self
    }

    /// Starts a server that records audit events.
    pub fn audited(access: Administrator, audit: AuditOptions) -> Server {
        Server::with_options(Arc::new(MemoryStore::new()), improved(access), Some(audit))
    }

    /// Starts a server over a store that is new or was used by another server.
    pub fn over(store: Arc<MemoryStore>, access: Administrator) -> Server {
        Server::with_options(store, improved(access), None)
    }

    /// Starts a server of a profile.
    pub fn behaving(profile: Profile) -> Server {
        let mut options = ServerOptions::new(Administrator::Anyone);
        options.profile = profile;
        Server::with_options(Arc::new(MemoryStore::new()), options, None)
    }

    /// Starts a server with options.
    pub fn configured(options: ServerOptions) -> Server {
        Server::with_options(Arc::new(MemoryStore::new()), options, None)
    }

    pub fn with_options(
        store: Arc<MemoryStore>,
        mut options: ServerOptions,
        audit: Option<AuditOptions>,
    ) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime starts");
        let listener = runtime.block_on(bind(([127, 0, 0, 1], 0).into())).expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        if let Some(audit) = audit {
            options.auditor = Some(runtime.block_on(Auditor::start(audit)).expect("the sinks open"));
        }
        let api = runtime.block_on(ApiServer::with_options(store.clone(), options)).expect("the store opens");
        runtime.spawn(serve(listener, None, api.clone(), std::future::pending()));
        Server { address, store, api, runtime: Some(runtime) }
    }

    /// Returns the store, for a later server.
    pub fn store(&self) -> Arc<MemoryStore> {
        self.store.clone()
    }

    /// Returns the keys under a prefix of the store.
    pub fn keys(&self, prefix: &str) -> Vec<String> {
        let runtime = self.runtime.as_ref().expect("the server runs");
        let listing = runtime.block_on(self.store.list(ListRequest::prefix(prefix.to_string())));
        let keys = listing.expect("a store in memory lists").entries;
        keys.iter().map(|entry| String::from_utf8_lossy(&entry.key).into_owned()).collect()
    }

    /// Returns the values under a prefix of the store, as far as they are text.
    pub fn values(&self, prefix: &str) -> Vec<String> {
        let runtime = self.runtime.as_ref().expect("the server runs");
        let listing = runtime.block_on(self.store.list(ListRequest::prefix(prefix.to_string())));
        let entries = listing.expect("a store in memory lists").entries;
        entries.iter().map(|entry| String::from_utf8_lossy(&entry.value.bytes()).into_owned()).collect()
    }

    pub fn send(&self, request: &Request) -> Response {
        send(self.address, request)
    }

    pub fn get(&self, path: &str) -> Response {
        self.send(&Request::new("GET", path))
    }

    pub fn post(&self, path: &str, body: &str) -> Response {
        self.send(&Request::new("POST", path).body("application/json", body))
    }

    pub fn put(&self, path: &str, body: &str) -> Response {
        self.send(&Request::new("PUT", path).body("application/json", body))
    }

    pub fn patch(&self, path: &str, media_type: &str, body: &str) -> Response {
        self.send(&Request::new("PATCH", path).body(media_type, body))
    }

    pub fn apply(&self, path: &str, manager: &str, body: &str) -> Response {
        self.patch(&format!("{path}?fieldManager={manager}"), APPLY, body)
    }

    pub fn delete(&self, path: &str) -> Response {
        self.send(&Request::new("DELETE", path))
    }

    /// Deletes an object with options; this must succeed.
    pub fn delete_with(&self, path: &str, options: &str) {
        let response = self.send(&Request::new("DELETE", path).body("application/json", options));
        assert_eq!(response.code, 200, "DELETE {path} {options}: {}", response.text());
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < Duration::from_secs(30), "timed out: {what}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the controllers have nothing to do.
    pub fn wait_until_idle(&self) {
        let runtime = self.runtime.as_ref().expect("the server runs");
        runtime.block_on(self.api.controllers_idle()).expect("the controllers run");
    }

    /// Waits until an object is gone.
    #[track_caller]
    pub fn wait_until_gone(&self, path: &str) {
        self.wait_until(&format!("{path} is gone"), || self.get(path).code == 404);
    }

    /// Creates an object; this must succeed.
    pub fn create(&self, path: &str, body: &str) -> Value {
        let response = self.post(path, body);
        assert_eq!(response.code, 201, "POST {path} {body}: {}", response.text());
        response.document()
    }

    pub fn create_namespace(&self, name: &str) {
        self.create("/api/v1/namespaces", &format!(r#"{{"metadata":{{"name":"{name}"}}}}"#));
    }

    /// Compacts the store to its current revision.
    pub fn forget_history(&self) {
        let runtime = self.runtime.as_ref().expect("the server runs");
        runtime.block_on(self.store.compact(Compaction::KeepCount(0))).expect("a store in memory compacts");
    }

    /// Returns the revision of the store, which every write increments.
    pub fn revision(&self) -> String {
        version(&self.get("/api/v1/namespaces/default/configmaps").document())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

pub const APPLY: &str = "application/apply-patch+yaml";
pub const JSON_PATCH: &str = "application/json-patch+json";
pub const MERGE_PATCH: &str = "application/merge-patch+json";
pub const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

/// Returns the resource version of an object or a list.
pub fn version(value: &Value) -> String {
    metadata(value, "resourceVersion").as_str().unwrap_or_default().to_string()
}

/// Returns a field of an object's metadata; `null` if there is none.
pub fn metadata(value: &Value, name: &str) -> Value {
    value.at(["metadata", name]).cloned().unwrap_or_default()
}
