#![no_main]

#[path = "../../../crates/tenure-http/tests/fuzzed/mod.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzed::connection(bytes));
