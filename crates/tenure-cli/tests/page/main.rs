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
mod restart;
mod states;
mod views;
