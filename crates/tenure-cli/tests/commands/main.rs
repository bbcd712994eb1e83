//! The commands about ownership as a person uses them, each against a running server, and their output.

mod apply;
mod blame;
mod charts;
mod ci;
mod compatibility;
mod completions;
#[path = "../../../tenure-store/tests/support/etcd.rs"]
mod etcd_process;
mod guide;
mod handover;
mod harness;
mod migrate;
mod older;
mod paths;
mod plan;
#[path = "../end_to_end/process.rs"]
#[allow(dead_code, reason = "each test binary uses a part of it")]
mod process;
mod proxy;
mod recorded;
mod rehearse;
mod review;
mod saved;
mod situations;
mod slow;
mod unusual;
mod why;
mod widths;
