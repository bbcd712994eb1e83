#![no_main]

#[path = "../../../crates/tenure-fields/tests/fuzzed/compact.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::compact(bytes));
