//! The engine of the built-in kinds compared with recorded facts: every file of `tests/facts` is used by a
//! module here.

mod conversion;
mod decoding;
mod defaults;
mod discovery;
mod facts;
mod mutations;
#[path = "../../../../conformance/recordings.rs"]
mod recordings;
mod replay;
mod rules;
mod scaling;
mod tables;
mod validation;
