//! The Python package: conversion between Python's values and documents, exceptions, and handles. What is computed, and which arguments
//! there are, is in `tenure-bindings`; names, defaults and types for people are in the Python files beside it.

mod error;
mod from_python;
mod server;
mod to_python;

use error::{guarded, raised};
use from_python::arguments;
use pyo3::{
    prelude::*,
    types::{PyDict, PyList},
};
use std::{ffi::OsString, sync::Arc};
use tenure_bindings::{KUBERNETES_VERSION, VERSION, call};
use to_python::to_python;

/// Where types come from.
#[pyclass(frozen, name = "Types", module = "tenure._tenure")]
struct Types(Arc<tenure_bindings::Types>);

#[pymethods]
impl Types {
    /// Compiles definitions and OpenAPI documents.
    #[staticmethod]
    fn of_documents(py: Python<'_>, documents: &Bound<'_, PyList>) -> PyResult<Types> {
        let documents = from_python::documents("schema", documents)?;
        let types = guarded(py, || tenure_bindings::Types::of_documents(&documents))?;
        Ok(Types(Arc::new(types)))
    }

    /// Compiles one OpenAPI schema, which every document has.
    #[staticmethod]
    fn of_schema(py: Python<'_>, schema: &Bound<'_, PyDict>) -> PyResult<Types> {
        let schema = from_python::document("schema", schema.as_any())?;
        let types = guarded(py, || tenure_bindings::Types::of_schema(&schema))?;
        Ok(Types(Arc::new(types)))
    }

    /// Returns the kinds, as `apps/v1/Deployment`.
    fn kinds(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guarded(py, || Ok(self.0.kinds()))
    }
}

/// Calls an engine with named arguments.
#[pyfunction]
#[pyo3(signature = (name, arguments, types=None))]
fn invoke<'py>(
    py: Python<'py>,
    name: &str,
    #[pyo3(from_py_with = arguments)] arguments: tenure_bindings::Value,
    types: Option<&Types>,
) -> PyResult<Bound<'py, PyAny>> {
    let types = types.map(|types| types.0.clone());
    let result = guarded(py, || match &types {
        Some(types) => call(name, &arguments, types),
        None => call(name, &arguments, &tenure_bindings::Types::builtin()),
    })?;
    to_python(py, &result)
}

/// Runs the program `tenure` with its command line, and returns the exit code.
#[pyfunction]
fn run(py: Python<'_>, command_line: Vec<OsString>) -> PyResult<u8> {
    guarded(py, || Ok(tenure_cli::run(command_line)))
}

#[pymodule]
fn _tenure(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", VERSION)?;
    module.add("KUBERNETES_VERSION", KUBERNETES_VERSION)?;
    module.add_class::<Types>()?;
    module.add_class::<server::Server>()?;
    module.add_class::<server::Snapshot>()?;
    module.add_class::<server::Fault>()?;
    module.add_function(wrap_pyfunction!(invoke, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(raised, module)?)
}
