//! Documents and errors as JSON, which both sides read faster than they could walk each other's values.

use napi::Status;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tenure_bindings::{Conflict, Error, Limits, Value, json};

/// The largest integer that JavaScript's numbers hold with all smaller ones.
const SAFE: i64 = (1 << 53) - 1;

/// Reads a document. The arguments of a call are one level above the documents in them.
pub fn parsed(text: &str) -> Result<Value, Error> {
    let limits = Limits { depth: Limits::DEPTH + 1, ..Limits::TRUSTED };
    json::parse(text.as_bytes(), &limits).map_err(|error| Error::argument(error.to_string()))
}

/// Returns a document as JSON, then for each integer beyond what JavaScript's numbers hold the JSON of its path and its digits.
pub fn shown(value: &Value) -> Vec<String> {
    let mut texts = vec![json::to_string(value)];
    let mut path = Vec::new();
    collect(value, &mut path, &mut texts);
    texts
}

fn collect(value: &Value, path: &mut Vec<Value>, texts: &mut Vec<String>) {
    let digits = match value {
        Value::Int(number) if !(-SAFE..=SAFE).contains(number) => number.to_string(),
        Value::UInt(number) => number.get().to_string(),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push(Value::from(at as i64));
                collect(item, path, texts);
                path.pop();
            }
            return;
        }
        Value::Object(fields) => {
            for (name, field) in fields.iter() {
                path.push(Value::String(name.clone()));
                collect(field, path, texts);
                path.pop();
            }
            return;
        }
        _ => return,
    };
    let found =
        Value::object([("path", Value::array(path.iter().cloned())), ("digits", Value::from(digits))]);
    texts.push(found.to_string());
}

/// Does work and returns its result, its error as an exception, or what it panicked with.
pub fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> napi::Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| exception(error.kind.name(), &error)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(exception("Internal", &Error::argument(format!("a defect of tenure: {text}"))))
        }
    }
}

/// Returns an exception whose message is the error as a document.
fn exception(kind: &str, error: &Error) -> napi::Error {
    let document = Value::object([
        ("kind", Value::from(kind)),
        ("message", Value::from(error.message.as_str())),
        ("path", Value::from(error.path.as_str())),
        ("conflicts", Value::array(error.conflicts.iter().map(Conflict::to_value))),
    ]);
    napi::Error::new(Status::GenericFailure, document.to_string())
}
