//! The recorded conversations as stored on disk.

use std::path::Path;
use tenure_value::{Limits, Value, json};

pub struct Scenario {
    pub name: String,
    pub steps: Vec<Step>,
}

pub struct Step {
    pub verb: String,
    pub path: String,
    pub manager: String,
    pub force: bool,
    pub dry_run: bool,
    pub media_type: String,
    pub body: Option<Value>,
    pub code: i64,
    pub answer: Value,
    /// JSON pointers that the recording does not guarantee.
    pub ignored: Vec<String>,
}

/// Parses all conversations in a file, or in all files of a directory.
pub fn load(path: &Path) -> Vec<Scenario> {
    if path.is_file() {
        return if path.extension().is_some_and(|extension| extension == "json") {
            read(path)
        } else {
            Vec::new()
        };
    }
    let entries = std::fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut entries: Vec<_> = entries.map(|entry| entry.expect("a readable directory").path()).collect();
    entries.sort();
    entries.iter().flat_map(|entry| load(entry)).collect()
}

fn read(file: &Path) -> Vec<Scenario> {
    let bytes = std::fs::read(file).expect("a readable file");
    let limits = Limits::TRUSTED;
    let document = json::parse(&bytes, &limits).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let scenarios = match &document {
        Value::Array(scenarios) => scenarios.to_vec(),
        one => vec![one.clone()],
    };
    scenarios.iter().map(scenario).collect()
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn scenario(value: &Value) -> Scenario {
    let steps = value.get("steps").and_then(Value::as_array).expect("steps");
    Scenario { name: text(value, "name"), steps: steps.iter().map(step).collect() }
}

fn step(value: &Value) -> Step {
    // If a parameter occurs twice the first value counts.
    let query = |name: &str| match value.at(["query", name]) {
        Some(Value::Array(values)) => values.first().and_then(Value::as_str).unwrap_or_default().to_owned(),
        Some(one) => one.as_str().unwrap_or_default().to_owned(),
        None => String::new(),
    };
    let manager = Some(query("fieldManager")).filter(|manager| !manager.is_empty());
    let ignored =
        value.get("ignore").and_then(Value::as_array).map(|ignored| ignored.to_vec()).unwrap_or_default();
    Step {
        verb: text(value, "do"),
        path: text(value, "path"),
        manager: manager.unwrap_or_else(|| "conform".to_owned()),
        // Anything that is not a notation of false is true, including the empty string.
        force: value.at(["query", "force"]).is_some()
            && !["0", "f", "F", "false", "False", "FALSE"].contains(&query("force").as_str()),
        dry_run: !query("dryRun").is_empty(),
        media_type: text(value, "type").trim_start_matches("application/").to_owned(),
        body: value.get("body").cloned().or_else(|| {
            let raw = value.get("raw")?.as_str()?;
            json::parse(raw.as_bytes(), &Limits::default()).ok()
        }),
        code: value.at(["expect", "code"]).and_then(Value::as_i64).unwrap_or_default(),
        answer: value.at(["expect", "body"]).cloned().unwrap_or_default(),
        ignored: ignored.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
    }
}
