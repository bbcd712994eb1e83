//! The promises of test servers.

mod assertions;
mod basics;
mod clients;
mod clock;
mod control;
mod faults;
mod forks;
mod properties;
mod seeds;

use serde_json::{Value, json};

/// What a test returns: any error fails it, with its text.
type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Returns a config map of the namespace `default`.
fn map(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"k": value},
    })
}
