//! Python's values as documents. What JSON has no form for is an error that says where it is: nothing is changed without a word.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};
use tenure_bindings::{Limits, Object, Text, Value};

/// Reads the arguments of a call: a dict, each value of which is a document.
pub fn arguments(given: &Bound<'_, PyAny>) -> PyResult<Value> {
    let given = given.cast::<PyDict>()?;
    let mut fields = Vec::with_capacity(given.len());
    for (name, value) in given {
        let name: String = name.extract()?;
        let value = document(&name, &value)?;
        fields.push((Text::from(name), value));
    }
    Ok(Value::Object(Object::from_unsorted(fields)))
}

/// Reads a list of documents.
pub fn documents(name: &str, given: &Bound<'_, PyList>) -> PyResult<Vec<Value>> {
    given.iter().enumerate().map(|(at, item)| document(&format!("{name}[{at}]"), &item)).collect()
}

/// Reads a document; errors begin with its name and the path in it.
pub fn document(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    read(given, 0).map_err(|problem| problem.raise(given.py(), name))
}

/// What is wrong with a value, and the steps from it up to the root.
struct Problem {
    upwards: Vec<String>,
    kind: ProblemKind,
    what: String,
}

enum ProblemKind {
    /// A type that documents do not have.
    Type,
    /// A value of a type that they have.
    Value,
    /// Python itself failed.
    Python(PyErr),
}

impl Problem {
    fn of_type(what: String) -> Box<Problem> {
        Box::new(Problem { upwards: Vec::new(), kind: ProblemKind::Type, what })
    }

    fn of_value(what: impl Into<String>) -> Box<Problem> {
        Box::new(Problem { upwards: Vec::new(), kind: ProblemKind::Value, what: what.into() })
    }

    fn below(mut self: Box<Problem>, step: String) -> Box<Problem> {
        self.upwards.push(step);
        self
    }

    fn raise(self, _: Python<'_>, name: &str) -> PyErr {
        // A circle is as deep as the limit: its path would say nothing more.
        let steps: String = self.upwards.iter().rev().take(16).map(String::as_str).collect();
        let text = format!("{name}{steps}: {}", self.what);
        match self.kind {
            ProblemKind::Type => PyTypeError::new_err(text),
            ProblemKind::Value => PyValueError::new_err(text),
            ProblemKind::Python(error) => error,
        }
    }
}

impl From<PyErr> for Box<Problem> {
    fn from(error: PyErr) -> Box<Problem> {
        Box::new(Problem { upwards: Vec::new(), kind: ProblemKind::Python(error), what: String::new() })
    }
}

fn read(given: &Bound<'_, PyAny>, depth: usize) -> Result<Value, Box<Problem>> {
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Value::String(read_text(text)?));
    }
    if let Ok(fields) = given.cast::<PyDict>() {
        return read_object(fields, below(depth)?);
    }
    if let Ok(items) = given.cast::<PyList>() {
        let depth = below(depth)?;
        return read_items(items.iter(), depth);
    }
    if given.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = given.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    if let Ok(number) = given.cast::<PyInt>() {
        return read_integer(number);
    }
    if let Ok(number) = given.cast::<PyFloat>() {
        let number = number.value();
        let refused = || Problem::of_value(format!("{number} is not a number that a document can have"));
        return Value::float(number).ok_or_else(refused);
    }
    if let Ok(items) = given.cast::<PyTuple>() {
        let depth = below(depth)?;
        return read_items(items.iter(), depth);
    }
    Err(unreadable(given))
}

fn below(depth: usize) -> Result<usize, Box<Problem>> {
    match depth < Limits::DEPTH {
        true => Ok(depth + 1),
        false => {
            let limit = Limits::DEPTH;
            Err(Problem::of_value(format!("there are more than {limit} levels, or it contains itself")))
        }
    }
}

fn read_text(text: &Bound<'_, PyString>) -> Result<Text, Box<Problem>> {
    let lone =
        |_| Problem::of_value("the text has a surrogate without its partner, which is not a character");
    text.to_cow().map(|text| Text::from(text.as_ref())).map_err(lone)
}

fn read_object(fields: &Bound<'_, PyDict>, depth: usize) -> Result<Value, Box<Problem>> {
    let mut read_fields = Vec::with_capacity(fields.len());
    for (name, value) in fields.iter() {
        let Ok(text) = name.cast::<PyString>() else {
            let kind = name.get_type().name()?;
            let what = format!("the key {} is of type {kind}; it must be a str", name.repr()?);
            return Err(Problem::of_type(what));
        };
        let text = read_text(text)?;
        let value = read(&value, depth).map_err(|problem| problem.below(format!(".{text}")))?;
        read_fields.push((text, value));
    }
    Ok(Value::Object(Object::from_unsorted(read_fields)))
}

fn read_items<'py>(
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    depth: usize,
) -> Result<Value, Box<Problem>> {
    let item = |(at, item)| read(&item, depth).map_err(|problem| problem.below(format!("[{at}]")));
    Ok(Value::array(items.enumerate().map(item).collect::<Result<Vec<_>, _>>()?))
}

fn read_integer(number: &Bound<'_, PyInt>) -> Result<Value, Box<Problem>> {
    if let Ok(number) = number.extract::<i64>() {
        return Ok(Value::Int(number));
    }
    if let Ok(number) = number.extract::<u64>() {
        return Ok(Value::unsigned(number));
    }
    Err(Problem::of_value("the integer does not fit 64 bits; write it as a string, or as a float"))
}

fn unreadable(given: &Bound<'_, PyAny>) -> Box<Problem> {
    let kind = given.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    let right = match kind.as_str() {
        "datetime" | "date" | "time" => "write it as text, such as value.isoformat()",
        "bytes" | "bytearray" | "memoryview" => "write it as text, such as base64.b64encode(value).decode()",
        "set" | "frozenset" | "generator" => "make it a list",
        "Decimal" => "make it a float, or text",
        _ if given.hasattr("to_dict").unwrap_or(false) => {
            "make it a dict, such as ApiClient().sanitize_for_serialization(value)"
        }
        _ => "documents have dict, list, str, int, float, bool and None",
    };
    Problem::of_type(format!("a value of type {kind} is not part of a document; {right}"))
}
