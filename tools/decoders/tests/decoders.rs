//! Ten thousand hostile inputs for every decoder, the same in every run.

use tenure_decoders::decoders;

/// How many inputs each decoder gets.
const INPUTS: u64 = 10_000;

fn run(name: &str) {
    let decoder =
        decoders().into_iter().find(|decoder| decoder.name == name).expect("a decoder of this name");
    assert!(decoder.seeds.len() >= 5, "{} seeds", decoder.seeds.len());
    for number in 0..INPUTS {
        decoder.run(number);
    }
}

/// One test for each decoder, so that they run side by side.
macro_rules! tests {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            run($name);
        })*

        #[test]
        fn every_decoder_is_tested() {
            let names: Vec<&str> = decoders().iter().map(|decoder| decoder.name).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

tests! {
    json: "json",
    yaml: "yaml",
    manifests: "manifests",
    protobuf: "protobuf",
    cbor: "CBOR",
    patches: "patches",
    apply: "apply",
    schemas: "schemas",
    fields_v1: "FieldsV1",
    paths: "paths",
    compact_sets: "compact sets",
    builtin_kinds: "built-in kinds",
    definitions: "definitions",
    cel: "CEL",
    selectors_and_scalars: "selectors and scalars",
    policies_tokens_and_certificates: "policies, tokens and certificates",
    flow_control: "flow control",
    managed_fields: "managed fields",
}

/// Most inputs can still be parsed: otherwise only the parser would be tested.
#[test]
fn most_json_inputs_are_valid() {
    use tenure_value::{Limits, json};
    let decoder = decoders().into_iter().find(|decoder| decoder.name == "json").expect("the decoder of JSON");
    let is_valid = |number: &u64| json::parse(&decoder.input(*number), &Limits::default()).is_ok();
    let valid = (0..2_000).filter(is_valid).count();
    assert!(valid > 1_000, "{valid} of 2000");
}
