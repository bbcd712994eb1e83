//! The log of calls: a line of JSON for each, with the tool, what it was about, the digest of its plan and how it ended. Values of
//! manifests are not in it; the digest stands for them.

use parking_lot::Mutex;
use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};
use tenure_apply::Timestamp;
use tenure_value::{Object, Value, json};

/// The most bytes of the arguments in a line.
const ARGUMENTS: usize = 10_000;

/// The log of calls.
pub struct AuditLog(Mutex<File>);

/// One call.
pub struct Entry<'a> {
    /// When.
    pub time: Timestamp,
    /// `call` before a write, `result` after every call.
    pub stage: &'static str,
    /// The tool.
    pub tool: &'a str,
    /// The arguments.
    pub arguments: &'a Value,
    /// The digest of the plan.
    pub digest: Option<&'a str>,
    /// How it ended: `ok`, or the reason of the failure.
    pub outcome: &'a str,
}

impl AuditLog {
    /// Opens a log; lines are appended. A new file can be read by its user alone.
    pub fn open(file: &Path) -> io::Result<AuditLog> {
        tenure_files::append(file).map(|file| AuditLog(Mutex::new(file)))
    }

    /// Writes a line.
    pub fn write(&self, entry: &Entry<'_>) -> io::Result<()> {
        let mut line = Object::default()
            .with("time", entry.time.to_string())
            .with("stage", entry.stage)
            .with("tool", entry.tool)
            .with("arguments", without_values(entry.arguments))
            .with("outcome", entry.outcome);
        if let Some(digest) = entry.digest {
            line = line.with("digest", digest);
        }
        let mut bytes = json::to_vec(&Value::Object(line));
        bytes.push(b'\n');
        self.0.lock().write_all(&bytes)
    }
}

/// Returns arguments with the names of manifests in the place of their content.
fn without_values(arguments: &Value) -> Value {
    let Some(object) = arguments.as_object() else { return Value::Null };
    let named = |manifest: &Value| {
        let text =
            |path: &[&str]| manifest.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default();
        let (namespace, name) = (text(&["metadata", "namespace"]), text(&["metadata", "name"]));
        Value::from(format!("{} {namespace}/{name}", text(&["kind"])))
    };
    let mut shown = object.clone();
    if let Some(manifests) = object.get("manifests").and_then(Value::as_array) {
        shown = shown.with("manifests", Value::array(manifests.iter().map(named)));
    }
    if let Some(text) = object.get("yaml").and_then(Value::as_str) {
        shown = shown.with("yaml", format!("{} bytes", text.len()));
    }
    let shown = Value::Object(shown);
    if json::to_vec(&shown).len() > ARGUMENTS {
        return Value::from("too long to be shown");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_manifests_and_have_no_values() {
        let directory = tempfile::TempDir::new().unwrap();
        let file = directory.path().join("audit.jsonl");
        let arguments: Value = r#"{"task":"a","yaml":"password: hunter2",
            "manifests":[{"kind":"Secret","metadata":{"name":"s"},"stringData":{"p":"hunter2"}}]}"#
            .parse()
            .unwrap();
        let log = AuditLog::open(&file).unwrap();
        let time = Timestamp::from_unix(1_800_000_000);
        let entry = Entry {
            time,
            stage: "result",
            tool: "plan",
            arguments: &arguments,
            digest: Some("sha256:1"),
            outcome: "ok",
        };
        log.write(&entry).unwrap();
        log.write(&entry).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(
            !text.contains("hunter2") && text.contains("Secret /s") && text.contains("sha256:1"),
            "{text}"
        );
    }
}
