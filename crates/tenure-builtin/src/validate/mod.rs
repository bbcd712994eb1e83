//! Validation rules. Most of them are data (`data/validation.json`): checks for every node of a type,
//! compiled once, and checks of updates, by kind. A check that compares several parts of an object is a
//! function that the data names, in a module for its kind.

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
mod pod_update;
mod quota;
mod resources;
mod selector;
mod service;
mod source;
mod update;
mod workload;

pub(crate) use check::{Checks, Walk};
pub(crate) use event::new_event;
pub(crate) use pod_update::new_pod;
