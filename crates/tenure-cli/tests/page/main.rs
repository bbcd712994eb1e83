//! The page in a real browser, as people use it.

mod accessibility;
mod cluster;
mod cross_site;
mod driver;
mod history;
mod injection;
mod pictures;
mod states;
mod views;
