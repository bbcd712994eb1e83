//! The protobuf form of the built-in kinds: recorded bytes, round trips, hostile bytes, and a server that speaks it.

mod examples;
mod fuzzed;
mod hostile;
mod http;
mod round_trip;
