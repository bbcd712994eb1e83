//! Which objects are valid. Most of it is data (`data/validation.json`): checks that hold at every node of a
//! type, compiled once; checks of a change, by kind. What compares several parts of one object is a function
//! that the data names, in a module for its kind.

mod admission;
mod aggregation;
mod certificate;
mod check;
mod content;
mod context;
mod cron;
mod event;
mod format;
mod function;
mod placement;
mod pod;
mod quota;
mod resources;
mod selector;
mod service;
mod source;
mod update;
mod workload;

pub(crate) use check::{Checks, Walk};
pub(crate) use event::new_event;
