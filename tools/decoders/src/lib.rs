//! Every decoder of bytes that a client or an operator sends, with real documents as seeds. A run mutates the seeds so that most
//! inputs get past the parser, and feeds them to the decoder, which must neither panic nor break what it promises of its
//! results. An ordinary test feeds ten thousand to each; the binary runs as long as its arguments say.
//!
//! The bodies of decoders that have a fuzz target are those of the target; the others are in [`targets`].

mod decoder;
mod mutation;
mod seeds;
pub mod targets;

pub use decoder::{Decoder, decoders};
pub use mutation::{Random, mutate};
