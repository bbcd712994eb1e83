//! The API server: the Kubernetes API over ownership, kinds as data, and the store.

mod address;
mod failure;
pub mod kinds;
mod media;
mod query;
mod selector;

pub use address::{Address, Discovery, ResourcePath};
pub use failure::{Cause, Failure, Fault, Reason};
pub use media::{Encoding, Format, Offer, PLAIN, View};
pub use query::{FieldValidation, Query, VersionMatch, WriteOptions};
pub use selector::{FieldSelector, LabelSelector};
