//! The commands that work on files as a person uses them, and their output.

mod conventions;
mod documented;
mod fields;
mod harness;
mod patch;
mod schema;
mod simulate;
