//! Objects recorded in JSON and protobuf.

use std::{fs, path::Path};
use tenure_codec::protobuf;
use tenure_value::{Limits, Value, base64};

/// An object in both encodings.
pub struct Example {
    pub kind: String,
    pub json: Value,
    pub protobuf: Vec<u8>,
}

/// Parses the recorded objects.
pub fn examples() -> Vec<Example> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/facts/protobuf-examples.jsonl");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let example = |line: &str| {
        let row: Value = line.parse().unwrap();
        let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap().to_string();
        Example {
            kind: text("kind"),
            json: row.get("json").unwrap().clone(),
            protobuf: base64::decode(text("protobuf")).unwrap(),
        }
    };
    text.lines().map(example).collect()
}

/// Whether both encodings are of the same version of the object.
fn is_of_one_version(example: &Example) -> bool {
    let version = |object: &Value| object.at(["metadata", "resourceVersion"]).cloned();
    protobuf::decode(&example.protobuf, &Limits::default())
        .is_ok_and(|read| version(&read) == version(&example.json))
}

#[test]
fn recorded_bytes_decode_to_the_recorded_json() {
    let mut compared = 0;
    for example in examples().iter().filter(|example| is_of_one_version(example)) {
        let read = protobuf::decode(&example.protobuf, &Limits::default());
        assert_eq!(read.as_ref(), Ok(&example.json), "{}", example.kind);
        compared += 1;
    }
    assert!(compared >= 155, "{compared}");
}

/// The text of an embedded document is stored verbatim, including white space, which a document does not
/// preserve.
const VERBATIM: [&str; 1] = ["apps/v1 ControllerRevision"];

#[test]
fn recorded_json_encodes_to_the_recorded_bytes() {
    let mut compared = 0;
    for example in examples().iter().filter(|example| is_of_one_version(example)) {
        let written = protobuf::encode(&example.json).unwrap();
        let again = protobuf::decode(&written, &Limits::default());
        assert_eq!(again.as_ref(), Ok(&example.json), "{}", example.kind);
        if !VERBATIM.contains(&example.kind.as_str()) {
            assert_eq!(
                base64::encode(&written),
                base64::encode(&example.protobuf),
                "{} {:?}",
                example.kind,
                example.json
            );
            compared += 1;
        }
    }
    assert!(compared >= 155, "{compared}");
}
