//! The page in a real browser, as people use it.

mod accessibility;
mod approvals;
mod causes;
mod cluster;
mod contexts;
mod cross_site;
mod driver;
mod history;
mod injection;
mod overview;
mod permissions;
mod pictures;
#[path = "../end_to_end/process.rs"]
#[allow(dead_code, reason = "these tests use a part")]
mod process;
mod restart;
mod states;
mod views;
