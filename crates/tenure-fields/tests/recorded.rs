//! Every `FieldsV1` text recorded from kube-apiserver is parsed and formatted byte for byte.
//!
//! The sample beside this test is always used. The complete recording is used if it is there.

#[path = "../../../conformance/recordings.rs"]
mod recordings;

use std::path::{Path, PathBuf};
use tenure_fields::fields_v1;

fn texts() -> (PathBuf, String) {
    let sample = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/recorded.jsonl");
    let file = recordings::complete("vectors/fields/recorded.jsonl").unwrap_or_else(sample);
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    (file, text)
}

fn again(line: &str) -> Result<(), String> {
    let (set, order) = fields_v1::parse_ordered(line.as_bytes()).map_err(|error| error.to_string())?;
    let mut written = Vec::new();
    fields_v1::write_in(&set, order, &mut written);
    if written != line.as_bytes() {
        return Err(format!("written as {}", String::from_utf8_lossy(&written)));
    }
    let value = line.parse().map_err(|error: tenure_value::Error| error.to_string())?;
    if fields_v1::from_value(&value) != Ok(set.clone()) {
        return Err("parsed differently as a value".to_owned());
    }
    if fields_v1::to_value(&set) != value {
        return Err("formatted differently as a value".to_owned());
    }
    Ok(())
}

#[test]
fn recorded_texts_round_trip_byte_for_byte() {
    let (file, text) = texts();
    let (mut passed, mut failed) = (0, 0);
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match again(line) {
            Ok(()) => passed += 1,
            Err(problem) => {
                failed += 1;
                println!("{}:{}: {problem}\n  {line}", file.display(), at + 1);
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    assert_eq!(failed, 0);
    assert_ne!(passed, 0, "{} is empty", file.display());
}

#[test]
fn the_sample_is_sorted_by_name() {
    for line in include_str!("samples/recorded.jsonl").lines() {
        let set = fields_v1::parse(line.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(fields_v1::to_vec(&set)).unwrap(), line);
    }
}
