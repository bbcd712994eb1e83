//! The script that shows owners inside other interfaces computes the same owners of every line as this crate does, for every recorded
//! object of a built-in kind; and its table of known managers is up to date.

use std::{collections::BTreeSet, fs, path::PathBuf, process::Command};
use tenure_ownership::{Blame, LiveObject, Ownership, owner};
use tenure_schema::Schema;
use tenure_value::{Limits, Object, Value, json};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns a recorded document with times in the place of the word that stands for any time.
fn with_times(value: &Value) -> Value {
    match value {
        Value::String(text) if text.as_str() == "TIME" => Value::from("2026-01-01T00:00:00Z"),
        Value::Array(items) => Value::array(items.iter().map(with_times)),
        Value::Object(object) => {
            Value::object(object.iter().map(|(name, value)| (name.clone(), with_times(value))))
        }
        other => other.clone(),
    }
}

/// Collects the objects with managers that a document contains.
fn collect(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            if value.at(["metadata", "managedFields"]).is_some() && value.get("kind").is_some() {
                found.insert(json::to_string(&with_times(value)));
            }
            object.iter().for_each(|(_, value)| collect(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

/// Returns an object with the owners of its lines as this crate computes them; `None` for a kind that is not built in.
fn expected(text: &str) -> Option<Value> {
    let object: Value = text.parse().ok()?;
    let live = LiveObject::read(&object).ok()?;
    let ty = Schema::builtin().kind(live.api_version(), live.kind())?;
    let lines = Blame::of(&live, ty).lines.into_iter().map(|line| {
        let owners = match &line.ownership {
            Ownership::Owned(owners) => owners.as_slice(),
            _ => &[],
        };
        let owners = owners.iter().map(|owner| format!("{} {}", owner.name, owner::operation(owner)));
        let mut owners: Vec<String> = owners.collect();
        owners.sort();
        Value::object([("text", Value::from(line.text)), ("owners", Value::from(owners.join(", ")))])
    });
    let lines = Value::array(lines);
    Some(Value::Object(Object::default().with("object", object).with("lines", lines)))
}

#[test]
fn the_browser_shows_the_owners_that_blame_shows() {
    let mut texts = BTreeSet::new();
    for entry in fs::read_dir(repository().join("conformance/scenarios")).expect("recordings") {
        let path = entry.expect("a recording").path();
        if path.extension().is_some_and(|ending| ending == "json") {
            let bytes = fs::read(&path).expect("a recording");
            let limits = Limits { bytes: bytes.len(), nodes: bytes.len(), ..Limits::default() };
            collect(&json::parse(&bytes, &limits).expect("a recording is JSON"), &mut texts);
        }
    }
    let cases: Vec<Value> = texts.iter().filter_map(|text| expected(text)).collect();
    assert!(cases.len() > 200, "only {} recorded objects were found", cases.len());
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), json::to_vec(&Value::array(cases))).expect("a temporary file");
    run_node(&["extensions/test/compare.mjs", &file.path().to_string_lossy()]);
}

#[test]
fn the_table_of_managers_is_up_to_date() {
    run_node(&["extensions/build.mjs", "--check"]);
}

fn run_node(arguments: &[&str]) {
    let run = Command::new("node").args(arguments).current_dir(repository()).output();
    let run = run.expect("node runs; scripts/test installs it");
    assert!(
        run.status.success(),
        "{}{}",
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );
}

#[test]
fn the_tab_works_in_hosts_with_react_16_and_18() {
    let folder = repository().join("target/extensions");
    let run = Command::new("node").arg(repository().join("extensions/test/hosts.mjs")).arg(folder).output();
    let output = run.expect("node runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}
