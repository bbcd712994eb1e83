//! The dependencies follow `deny.toml`: known licences, no other source than the registry, no further duplicate versions.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};
use tenure_value::{Limits, Value, json};

/// Returns the strings of a list in `deny.toml`.
fn list(rules: &str, section: &str, name: &str) -> BTreeSet<String> {
    let section = rules.split(&format!("[{section}]\n")).nth(1).expect("the section");
    let start = section
        .split(&format!("\n{name} = ["))
        .nth(1)
        .or_else(|| section.strip_prefix(&format!("{name} = [")));
    let items = start.expect("the list").split(']').next().unwrap_or_default();
    items.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether a licence expression allows the use under one of the licences: every part of an AND, one part of an OR.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace(" / ", " OR ").replace('/', " OR ");
    expression
        .split(" AND ")
        .all(|part| part.split(" OR ").any(|licence| allowed.contains(licence.trim_matches(['(', ')', ' ']))))
}

#[test]
fn dependencies_follow_the_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let rules = fs::read_to_string(root.join("deny.toml")).expect("deny.toml");
    let (licences, skipped) = (list(&rules, "licenses", "allow"), list(&rules, "bans", "skip"));
    assert!(licences.len() > 5 && skipped.len() > 2, "{licences:?} {skipped:?}");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(&root)
        .output()
        .expect("cargo metadata");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata = json::parse(&output.stdout, &Limits::TRUSTED).expect("JSON");
    let packages = metadata.get("packages").and_then(Value::as_array).expect("packages");
    let (mut problems, mut versions) = (Vec::new(), BTreeMap::<String, usize>::new());
    for package in packages.iter() {
        let text = |name| package.get(name).and_then(Value::as_str).unwrap_or_default();
        let name = text("name");
        *versions.entry(name.to_owned()).or_default() += 1;
        if !text("source").is_empty() && !text("source").starts_with("registry+") {
            problems.push(format!("{name}: the source {} is not a registry", text("source")));
        }
        if !is_allowed(text("license"), &licences) {
            problems.push(format!("{name}: the licence {:?} is not allowed", text("license")));
        }
    }
    for (name, count) in &versions {
        if *count > 1 && !skipped.contains(name) {
            problems.push(format!("{name}: {count} versions; use one, or add it to `skip` in deny.toml"));
        }
    }
    for name in skipped.iter().filter(|name| versions.get(*name).is_none_or(|count| *count < 2)) {
        problems
            .push(format!("{name}: there are no duplicates any more; remove it from `skip` in deny.toml"));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
