//! Handles of a test server, its snapshots and its faults. What may wait for the event loop, such as a webhook of the test itself, is done
//! outside of it.

use crate::{
    background::{Background, in_background},
    text::{guarded, parsed, shown},
};
use napi_derive::napi;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tenure_bindings::{Error, ErrorKind, TestServer, Value};

/// A test server; `None` once it is stopped.
#[napi]
pub struct NativeServer(Mutex<Option<Arc<TestServer>>>);

/// The state of a server to return to.
#[napi]
pub struct NativeSnapshot(tenure_bindings::Snapshot);

/// A fault that was injected.
#[napi]
pub struct NativeFault(tenure_bindings::Fault);

impl NativeServer {
    fn of(server: TestServer) -> NativeServer {
        NativeServer(Mutex::new(Some(Arc::new(server))))
    }

    fn running(&self) -> Result<Arc<TestServer>, Error> {
        let server = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        server.ok_or_else(|| Error::new(ErrorKind::Server, "the server is stopped"))
    }

    /// Does something with the running server outside of the event loop.
    fn later<T>(&self, work: impl FnOnce(&TestServer) -> Result<T, Error> + Send + 'static) -> Background<T>
    where
        T: Send + napi::bindgen_prelude::ToNapiValue + napi::bindgen_prelude::TypeName + 'static,
    {
        let server = self.running();
        in_background(move || work(&*server?))
    }
}

#[napi]
impl NativeServer {
    #[napi(ts_return_type = "Promise<NativeServer>")]
    pub fn start(arguments: String) -> Background<NativeServer> {
        in_background(move || TestServer::start(&parsed(&arguments)?).map(NativeServer::of))
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn stop(&self) -> Background<()> {
        let server = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        in_background(move || {
            drop(server);
            Ok(())
        })
    }

    #[napi]
    pub fn url(&self) -> napi::Result<String> {
        guarded(|| Ok(self.running()?.url()))
    }

    #[napi]
    pub fn kubeconfig(&self) -> napi::Result<String> {
        guarded(|| Ok(self.running()?.kubeconfig()))
    }

    #[napi]
    pub fn revision(&self) -> napi::Result<i64> {
        guarded(|| Ok(i64::try_from(self.running()?.revision()).unwrap_or(i64::MAX)))
    }

    #[napi]
    pub fn now(&self) -> napi::Result<String> {
        guarded(|| Ok(self.running()?.now()))
    }

    #[napi(ts_return_type = "Promise<NativeServer>")]
    pub fn fork(&self) -> Background<NativeServer> {
        self.later(|server| server.fork().map(NativeServer::of))
    }

    #[napi(ts_return_type = "Promise<NativeServer>")]
    pub fn at(&self, revision: i64) -> Background<NativeServer> {
        self.later(move |server| {
            let revision =
                u64::try_from(revision).map_err(|_| Error::argument("a revision is not negative"))?;
            server.at(revision).map(NativeServer::of)
        })
    }

    #[napi]
    pub fn snapshot(&self) -> napi::Result<NativeSnapshot> {
        guarded(|| self.running()?.snapshot().map(NativeSnapshot))
    }

    #[napi]
    pub fn restore(&self, snapshot: &NativeSnapshot) -> napi::Result<()> {
        guarded(|| self.running()?.restore(&snapshot.0))
    }

    #[napi]
    pub fn advance(&self, seconds: f64) -> napi::Result<()> {
        guarded(|| {
            let by = Duration::try_from_secs_f64(seconds);
            let by =
                by.map_err(|_| Error::argument(format!("the clock cannot move by {seconds} seconds")))?;
            self.running()?.advance(by)
        })
    }

    #[napi]
    pub fn stop_clock(&self) -> napi::Result<()> {
        guarded(|| self.running()?.stop_clock())
    }

    #[napi(ts_return_type = "Promise<undefined>")]
    pub fn settle(&self) -> Background<()> {
        self.later(|server| server.settle())
    }

    #[napi]
    pub fn inject(&self, fault: String) -> napi::Result<NativeFault> {
        guarded(|| self.running()?.inject(&parsed(&fault)?).map(NativeFault))
    }

    #[napi]
    pub fn clear_faults(&self) -> napi::Result<()> {
        guarded(|| self.running()?.clear_faults())
    }

    #[napi(ts_return_type = "Promise<string[]>")]
    pub fn apply(&self, object: String, manager: String) -> Background<Vec<String>> {
        self.later(move |server| server.apply(&parsed(&object)?, &manager).map(|object| shown(&object)))
    }

    #[napi(ts_return_type = "Promise<string[]>")]
    pub fn load(&self, objects: String) -> Background<Vec<String>> {
        self.later(move |server| match parsed(&objects)? {
            Value::Array(objects) => server.load(&objects),
            _ => Err(Error::argument("objects must be a list")),
        })
    }

    #[napi]
    pub fn writes_since(&self, revision: i64) -> napi::Result<Vec<String>> {
        let since = u64::try_from(revision).unwrap_or_default();
        guarded(|| Ok(shown(&self.running()?.writes_since(since)?)))
    }

    #[napi]
    pub fn fights_since(&self, revision: i64) -> napi::Result<Vec<String>> {
        let since = u64::try_from(revision).unwrap_or_default();
        guarded(|| Ok(shown(&self.running()?.fights_since(since)?)))
    }
}

#[napi]
impl NativeFault {
    #[napi]
    pub fn hits(&self) -> i64 {
        i64::try_from(self.0.hits()).unwrap_or(i64::MAX)
    }

    #[napi]
    pub fn remove(&self) {
        self.0.remove();
    }
}
