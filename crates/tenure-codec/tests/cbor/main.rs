//! Tests of the CBOR codec.

mod examples;
mod fuzzed;
mod hostile;
mod round_trip;
