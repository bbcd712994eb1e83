//! The API server: the Kubernetes API over ownership, kinds as data, and the store.

mod failure;

pub use failure::{Cause, Failure, Reason};
