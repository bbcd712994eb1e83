#![no_main]

#[path = "../../../crates/tenure-apply/tests/fuzz_bodies/ownership.rs"]
mod ownership;

libfuzzer_sys::fuzz_target!(|data: &[u8]| ownership::run(data));
