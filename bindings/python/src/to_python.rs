//! Documents as Python's values.

use pyo3::{
    prelude::*,
    types::{PyDict, PyList},
};
use tenure_bindings::Value;

/// Makes a dict, a list or a scalar.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Value::Int(number) => number.into_pyobject(py)?.into_any(),
        Value::UInt(number) => number.get().into_pyobject(py)?.into_any(),
        Value::Float(_) => value.as_f64().unwrap_or_default().into_pyobject(py)?.into_any(),
        Value::String(text) => text.as_str().into_pyobject(py)?.into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items.iter() {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            for (name, value) in fields.iter() {
                dict.set_item(name.as_str(), to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}
