//! The promises of the compact forms: what they cost, that they lose nothing, and what they refuse.

mod arbitrary;
mod corpus;
#[path = "../fuzzed/compact.rs"]
mod fuzzed;
mod hostile;
mod round_trip;
mod second_reader;
mod sizes;
