//! Every entry of the section "Strategic merge patch" of `docs/differences.md` happens: its examples beside this file
//! (`differences.yaml`) have the documented outcome with each profile, and the outcomes differ.

use std::collections::BTreeSet;
use tenure_patch::{
    PatchError,
    strategic::{self, ApplyOptions, DiffOptions, Improvement, LiveChanges, Profile},
};
use tenure_schema::{Schema, TypeRef};
use tenure_value::{Limits, Value, yaml};

/// Every improvement, also the one that servers leave off.
const IMPROVED: Profile = Profile::tenure().with(Improvement::RejectUnknownPatchValues);

/// Entries that a server carries out, not this library; conversations of `tenure-server` show them.
const OF_SERVERS: [Improvement; 1] = [Improvement::PatchCustomResources];

fn examples() -> Vec<Value> {
    yaml::parse_all(include_bytes!("differences.yaml"), &Limits::default()).expect("the examples are YAML")
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Carries an example out with a profile.
fn outcome(example: &Value, profile: Profile) -> Result<Value, PatchError> {
    let (version, kind) = text(example, "kind").split_once(' ').expect("a version and a kind");
    let ty: TypeRef<'static> = Schema::builtin().kind(version, kind).expect("a built-in kind");
    let profile = match Improvement::named(text(example, "with")) {
        Some(improvement) => profile.with(improvement),
        None => profile,
    };
    let document = |name: &str| example.get(name);
    let options = DiffOptions::default().profile(profile);
    match (document("patch"), document("original"), document("modified"), document("live")) {
        (Some(patch), _, _, Some(live)) => {
            strategic::apply(live, patch, ty, &ApplyOptions::default().profile(profile))
        }
        (None, Some(original), Some(modified), None) => strategic::two_way(original, modified, ty, &options),
        (None, Some(original), Some(modified), Some(live)) => {
            let changes = match example.get("keep") {
                Some(_) => LiveChanges::Keep,
                None => LiveChanges::Overwrite,
            };
            strategic::three_way(original, modified, live, ty, changes, &options)
        }
        _ => panic!("{example}: neither a patch nor the documents to calculate one from"),
    }
}

#[test]
fn every_example_has_the_documented_outcome_with_each_profile() {
    let mut failures = Vec::new();
    for (number, example) in examples().iter().enumerate() {
        let outcomes = [Profile::kubernetes(), IMPROVED].map(|profile| outcome(example, profile));
        for (name, outcome) in ["kubernetes", "tenure"].into_iter().zip(&outcomes) {
            let expected = example.get(name).expect("an outcome");
            let is_expected = match (expected.get("error").and_then(Value::as_str), outcome) {
                (Some(part), Err(error)) => error.to_string().contains(part),
                (None, Ok(value)) => value.to_string() == expected.to_string(),
                _ => false,
            };
            if !is_expected {
                let found = outcome.as_ref().map_or_else(ToString::to_string, ToString::to_string);
                let title = text(example, "difference");
                failures
                    .push(format!("{number} {title}, {name}:\n  expected {expected}\n  found    {found}"));
            }
        }
        let shown = |outcome: &Result<Value, PatchError>| outcome.as_ref().ok().map(ToString::to_string);
        if shown(&outcomes[0]) == shown(&outcomes[1]) {
            failures.push(format!("{number} {}: nothing differs", text(example, "difference")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_entry_of_the_page_has_an_example() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/differences.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let section = page.split("\n## ").find(|section| section.starts_with("Strategic merge patch\n"));
    let of_servers = OF_SERVERS.map(Improvement::heading);
    let entries = section.expect("the section").lines().filter_map(|line| line.strip_prefix("### "));
    let entries: BTreeSet<&str> = entries.filter(|entry| !of_servers.contains(entry)).collect();
    let all = examples();
    let shown: BTreeSet<&str> = all.iter().map(|example| text(example, "difference")).collect();
    assert_eq!(shown, entries);
}
