//! Handles of a test server, its snapshots and its faults.

use crate::{
    error::guarded,
    from_python::{arguments, document, documents},
    to_python::to_python,
};
use pyo3::{exceptions::PyRuntimeError, prelude::*, types::PyList};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tenure_bindings::{TestServer, Value};

/// A test server; `None` once it is stopped.
#[pyclass(frozen, module = "tenure._tenure")]
pub struct Server(Mutex<Option<Arc<TestServer>>>);

/// The state of a server to return to.
#[pyclass(frozen, module = "tenure._tenure")]
pub struct Snapshot(tenure_bindings::Snapshot);

/// A fault that was injected.
#[pyclass(frozen, module = "tenure._tenure")]
pub struct Fault(tenure_bindings::Fault);

impl Server {
    fn of(server: TestServer) -> Server {
        Server(Mutex::new(Some(Arc::new(server))))
    }

    fn running(&self) -> PyResult<Arc<TestServer>> {
        let server = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        server.ok_or_else(|| PyRuntimeError::new_err("the server is stopped"))
    }
}

#[pymethods]
impl Server {
    #[staticmethod]
    fn start(py: Python<'_>, #[pyo3(from_py_with = arguments)] arguments: Value) -> PyResult<Server> {
        guarded(py, || TestServer::start(&arguments)).map(Server::of)
    }

    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        let server = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        guarded(py, || Ok(drop(server)))
    }

    fn is_running(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn url(&self) -> PyResult<String> {
        Ok(self.running()?.url())
    }

    fn kubeconfig(&self) -> PyResult<String> {
        Ok(self.running()?.kubeconfig())
    }

    fn revision(&self) -> PyResult<u64> {
        Ok(self.running()?.revision())
    }

    fn now(&self) -> PyResult<String> {
        Ok(self.running()?.now())
    }

    fn fork(&self, py: Python<'_>) -> PyResult<Server> {
        let server = self.running()?;
        guarded(py, || server.fork()).map(Server::of)
    }

    fn at(&self, py: Python<'_>, revision: u64) -> PyResult<Server> {
        let server = self.running()?;
        guarded(py, || server.at(revision)).map(Server::of)
    }

    fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        let server = self.running()?;
        guarded(py, || server.snapshot()).map(Snapshot)
    }

    fn restore(&self, py: Python<'_>, snapshot: &Snapshot) -> PyResult<()> {
        let server = self.running()?;
        guarded(py, || server.restore(&snapshot.0))
    }

    fn advance(&self, py: Python<'_>, by: Duration) -> PyResult<()> {
        let server = self.running()?;
        guarded(py, || server.advance(by))
    }

    fn stop_clock(&self, py: Python<'_>) -> PyResult<()> {
        let server = self.running()?;
        guarded(py, || server.stop_clock())
    }

    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        let server = self.running()?;
        guarded(py, || server.settle())
    }

    fn inject(&self, py: Python<'_>, fault: &Bound<'_, PyAny>) -> PyResult<Fault> {
        let (server, fault) = (self.running()?, document("fault", fault)?);
        guarded(py, || server.inject(&fault)).map(Fault)
    }

    fn clear_faults(&self, py: Python<'_>) -> PyResult<()> {
        let server = self.running()?;
        guarded(py, || server.clear_faults())
    }

    fn apply<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        manager: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (server, object) = (self.running()?, document("object", object)?);
        to_python(py, &guarded(py, || server.apply(&object, manager))?)
    }

    fn load(&self, py: Python<'_>, objects: &Bound<'_, PyList>) -> PyResult<Vec<String>> {
        let (server, objects) = (self.running()?, documents("objects", objects)?);
        guarded(py, || server.load(&objects))
    }

    fn writes_since<'py>(&self, py: Python<'py>, revision: u64) -> PyResult<Bound<'py, PyAny>> {
        let server = self.running()?;
        to_python(py, &guarded(py, || server.writes_since(revision))?)
    }

    fn fights_since<'py>(&self, py: Python<'py>, revision: u64) -> PyResult<Bound<'py, PyAny>> {
        let server = self.running()?;
        to_python(py, &guarded(py, || server.fights_since(revision))?)
    }
}

#[pymethods]
impl Fault {
    fn hits(&self) -> u64 {
        self.0.hits()
    }

    fn remove(&self) {
        self.0.remove();
    }
}
