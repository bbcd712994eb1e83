//! The engine of built-in kinds against recorded facts about them: every file of `tests/facts` is held by a
//! module here.

mod conversion;
mod decoding;
mod defaults;
mod discovery;
mod facts;
mod replay;
mod rules;
mod tables;
mod validation;
