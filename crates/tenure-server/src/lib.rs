//! The API server: the Kubernetes API over ownership, kinds as data, and the store.

mod address;
mod answer;
mod credentials;
mod failure;
pub mod kinds;
pub mod listen;
mod media;
mod query;
mod selector;

pub use address::{Address, Discovery, ResourcePath};
pub use answer::{Answer, AnswerBody};
pub use credentials::{Credentials, reachable, write_insecure_kubeconfig};
pub use failure::{Cause, Failure, Fault, Reason};
pub use media::{Encoding, Format, Offer, PLAIN, View};
pub use query::{FieldValidation, Query, VersionMatch, WriteOptions};
pub use selector::{FieldSelector, LabelSelector};
