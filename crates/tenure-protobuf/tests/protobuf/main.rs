//! The protobuf encoding of the built-in kinds: recorded bytes, round trips, malicious input.

mod examples;
mod fuzzed;
mod hostile;
mod round_trip;
