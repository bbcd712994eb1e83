//! Writes: one pipeline for create and update, delete, and what they share.

pub(crate) mod allocate;
pub(crate) mod body;
pub(crate) mod create;
pub(crate) mod delete;
mod duplicate_key_conflicts;
mod metadata_checks;
mod ownership_report;
pub(crate) mod pipeline;
pub(crate) mod strict_decoding;
pub(crate) mod update;
