#![no_main]

#[path = "../../../crates/tenure-codec/tests/protobuf/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::protobuf(bytes));
