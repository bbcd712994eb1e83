//! Columns and cells equal the recorded ones.

use crate::{
    facts::{self, items, text},
    recordings,
};
use tenure_builtin::{
    Kinds,
    scalar::{Timestamp, time::Precision},
};
use tenure_value::Value;

fn resource(name: &str) -> &'static tenure_builtin::Resource {
    let (api_version, resource) = name.split_once(' ').unwrap();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Kinds::at(recordings::version()).registry().find(group, version, resource).unwrap()
}

#[test]
fn every_resource_has_the_recorded_columns() {
    let facts = facts::read("tables.json");
    let recorded = facts.get("columns").and_then(Value::as_object).cloned().unwrap();
    for (name, columns) in &recorded {
        let table = Kinds::at(recordings::version()).table(resource(name));
        let is: Vec<Value> = table
            .columns()
            .iter()
            .map(|column| column.definition().as_object().unwrap().without("description").into())
            .collect();
        assert_eq!(Value::array(is), *columns, "{name}");
    }
}

/// Whether a cell equals the recorded one, with any age where the recording masks one.
fn agrees(is: &Value, recorded: &Value) -> bool {
    match (is, recorded) {
        (Value::String(is), Value::String(recorded)) => match recorded.split_once("<age>") {
            Some((before, after)) => {
                let age = is.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
                age.is_some_and(|age| age.ends_with(['s', 'm', 'h', 'd', 'y']))
            }
            None => is == recorded,
        },
        _ => is == recorded,
    }
}

#[test]
fn every_recorded_row_is_reproduced() {
    let facts = facts::read("tables.json");
    let now = Timestamp::parse("2026-11-15T03:00:00Z", Precision::Seconds).unwrap();
    let mut failures = Vec::new();
    assert_eq!(items(&facts, "examples").len(), 100);
    for example in items(&facts, "examples") {
        // Times of metadata are masked in the recording, except for those that a cell repeats.
        let created =
            items(example, "cells").iter().filter_map(Value::as_str).find(|cell| cell.ends_with("Z"));
        let time = created.unwrap_or("2026-11-15T00:15:55Z");
        let object: Value =
            example.get("object").unwrap().to_string().replace("\\u003ctime\\u003e", time).parse().unwrap();
        let cells =
            Kinds::at(recordings::version()).table(resource(text(example, "resource"))).cells(&object, now);
        let recorded = items(example, "cells");
        let agree =
            cells.len() == recorded.len() && cells.iter().zip(recorded).all(|(is, was)| agrees(is, was));
        if !agree {
            failures.push(format!("{}\n  is     {cells:?}\n  should {recorded:?}", text(example, "name")));
        }
    }
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}
