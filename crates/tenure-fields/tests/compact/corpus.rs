//! The recorded managers of objects.

use crate::recordings;
use std::{fs, path::PathBuf};
use tenure_fields::{compact::ManagerRecord, fields_v1};
use tenure_value::{Limits, Text, Value, json};

/// The managers of a recorded object, and the size of their sets as `FieldsV1`.
pub struct Recorded {
    pub records: Vec<ManagerRecord>,
    pub fields_v1: usize,
}

/// Returns the managers of every recorded object. Recordings have no times, so times some seconds apart are
/// added.
pub fn objects() -> Vec<Recorded> {
    let mut found = Vec::new();
    for folder in recordings::conversations() {
        let mut files: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "json"))
        {
            let text = fs::read(file).expect("a recording can be read");
            let document = json::parse(&text, &Limits::TRUSTED).expect("a recording is JSON");
            gather(&document, &mut found);
        }
    }
    found
}

fn gather(value: &Value, found: &mut Vec<Recorded>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| gather(item, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::Array(entries) if name == "managedFields" => found.extend(recorded(entries)),
                    _ => gather(value, found),
                }
            }
        }
        _ => {}
    }
}

/// Returns the entries of one object; `None` if one of them has an invalid set, as some requests have on
/// purpose.
fn recorded(entries: &[Value]) -> Option<Recorded> {
    let mut recorded = Recorded { records: Vec::new(), fields_v1: 0 };
    let start = 1_794_708_869 + found_seconds(entries.len());
    for (at, entry) in (0i64..).zip(entries) {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).map(Text::new).unwrap_or_default();
        let time = match text("time") {
            time if time == "TIME" => Text::from(spelled(start + 7 * at)),
            time => time,
        };
        let fields = entry.get("fieldsV1").map(fields_v1::from_value).transpose().ok()?;
        recorded.fields_v1 += fields.as_ref().map_or(0, |set| fields_v1::to_vec(set).len());
        recorded.records.push(ManagerRecord {
            manager: text("manager"),
            operation: text("operation"),
            api_version: text("apiVersion"),
            time,
            subresource: text("subresource"),
            fields_type: text("fieldsType"),
            fields,
        });
    }
    (recorded.fields_v1 > 0).then_some(recorded)
}

fn found_seconds(entries: usize) -> i64 {
    (entries as i64) * 100_003
}

/// Formats a time in November 2026, by seconds since its first day.
fn spelled(seconds: i64) -> String {
    let seconds = (seconds - 1_793_491_200).rem_euclid(30 * 86_400);
    let (day, hour, minute) = (seconds / 86_400 + 1, seconds / 3600 % 24, seconds / 60 % 60);
    format!("2026-11-{day:02}T{hour:02}:{minute:02}:{:02}Z", seconds % 60)
}

/// Returns two managers that own the same fields of a Deployment.
pub fn deployment_with_two_owners() -> Option<Vec<ManagerRecord>> {
    let text = include_bytes!("../../../../bench/inputs/fieldpath/deployment-big.json");
    let record = |manager: &str| {
        Some(ManagerRecord {
            manager: Text::new(manager),
            operation: Text::new("Apply"),
            api_version: Text::new("apps/v1"),
            time: Text::new("2026-01-02T03:04:05Z"),
            fields_type: Text::new("FieldsV1"),
            fields: Some(fields_v1::parse(text).ok()?),
            ..ManagerRecord::default()
        })
    };
    Some(vec![record("first")?, record("second")?])
}
