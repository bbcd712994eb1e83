//! The commands that work on files as a person uses them, and what they print.

mod documented;
mod fields;
mod harness;
mod manners;
mod patch;
mod schema;
mod simulate;
