//! The compact encodings: their size, their round trips, and the input they reject.

mod arbitrary;
mod corpus;
#[path = "../fuzzed/compact.rs"]
mod fuzzed;
mod hostile;
#[path = "../../../../conformance/recordings.rs"]
mod recordings;
mod round_trip;
mod second_reader;
mod sizes;
