//! The protobuf form of the built-in kinds: recorded bytes, round trips and hostile bytes.

mod examples;
mod hostile;
mod round_trip;
