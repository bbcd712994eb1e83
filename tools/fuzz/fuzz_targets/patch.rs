#![no_main]

#[allow(dead_code)]
#[path = "../../../crates/tenure-patch/tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::patch(bytes));
