//! Validation rules. Most of them are data (`data/validation.json`): checks for every node of a type,
//! compiled once, and checks of updates, by kind. A check that compares several parts of an object is a
//! function that the data names, in a module for its kind.

mod admission;
mod aggregation;
mod autoscaler;
mod certificate;
mod check;
mod conditions;
mod container_claims;
mod content;
mod context;
mod cron;
mod device;
mod diff;
mod event;
mod flow;
mod format;
mod function;
mod go_form;
mod job;
mod job_status;
mod metadata;
mod migration;
mod order;
mod placement;
mod pod;
mod pod_certificate;
mod pod_parts;
mod pod_status;
mod pod_update;
mod policy_scope;
mod prefixed_path;
mod projection;
mod quota;
mod removed_paths;
mod resources;
mod selector;
mod service;
mod signer_name;
mod source;
mod trust_bundle;
mod update;
mod volume;
mod workload;

pub(crate) use autoscaler::changed_scale_target;
pub(crate) use check::{Checks, Walk};
pub(crate) use content::new_revision;
pub(crate) use event::new_event;
pub use go_form::invalid_struct;
pub(crate) use job::{generated_selector, pod_names};
pub(crate) use metadata::Step;
pub(crate) use pod_update::new_pod;
pub(crate) use service::service_error_rank;
pub(crate) use workload::new_stateful_set;
