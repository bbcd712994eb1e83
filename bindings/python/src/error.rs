//! Errors as exceptions of `tenure.errors`; a panic is one too. Work is done without the interpreter's lock.

use crate::to_python::to_python;
use pyo3::{prelude::*, sync::PyOnceLock, types::PyList};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tenure_bindings::{Conflict, Error};

/// The function of `tenure.errors` that makes an exception.
static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Does work without the lock and returns its result, its error as an exception, or what it panicked with.
pub fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(result) => result.map_err(|error| exception(py, &error)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(made(py, "Internal", &format!("a defect of tenure: {text}"), "", &[]))
        }
    }
}

fn exception(py: Python<'_>, error: &Error) -> PyErr {
    made(py, error.kind.name(), &error.message, &error.path, &error.conflicts)
}

fn made(py: Python<'_>, kind: &str, message: &str, path: &str, conflicts: &[Conflict]) -> PyErr {
    let make = || -> PyResult<Bound<'_, PyAny>> {
        let make = MAKE
            .get_or_try_init(py, || Ok::<_, PyErr>(py.import("tenure.errors")?.getattr("make")?.unbind()))?;
        let list = PyList::empty(py);
        for conflict in conflicts {
            list.append(to_python(py, &conflict.to_value())?)?;
        }
        make.bind(py).call1((kind, message, path, list))
    };
    make().map_or_else(|error| error, PyErr::from_value)
}

/// Panics inside a call, for the test that a panic is an exception.
#[pyfunction]
pub fn raised(py: Python<'_>) -> PyResult<()> {
    guarded(py, || panic!("asked for"))
}
