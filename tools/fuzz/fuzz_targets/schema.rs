#![no_main]

#[path = "../../../crates/tenure-schema/tests/fuzz_bodies/schema.rs"]
mod schema;

libfuzzer_sys::fuzz_target!(|data: &[u8]| schema::run(data));
