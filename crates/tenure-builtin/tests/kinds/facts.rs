//! Parses the recorded facts.

use std::{fs, path::Path};
use tenure_value::{Limits, Value, json};

/// Parses a file of recorded facts, with a name for the recorded namespace.
pub fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/facts").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    json::parse(text.replace("<ns>", "ns").as_bytes(), &Limits::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the items of a list member.
pub fn items<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
}

/// Returns a string member.
pub fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
