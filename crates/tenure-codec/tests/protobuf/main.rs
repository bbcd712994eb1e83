//! The protobuf encoding of the built-in kinds: recorded bytes, round trips, malicious input.

mod examples;
mod fuzzed;
mod hostile;
#[path = "../../../../conformance/recordings.rs"]
mod recordings;
mod round_trip;
