//! The protobuf form of the built-in kinds: recorded bytes, round trips, hostile bytes.

mod examples;
mod fuzzed;
mod hostile;
mod round_trip;
