//! The API server: the Kubernetes API over ownership, kinds as data, and the store.

mod access;
mod address;
mod admission;
mod answer;
pub mod api;
mod credentials;
pub mod custom;
mod failure;
mod health;
pub mod kinds;
pub mod listen;
mod media;
mod metrics;
pub mod openapi;
mod pieces;
pub mod protobuf;
mod query;
mod selector;
mod stream;
mod token;
mod trust;
mod webhook;

pub use access::Access;
pub use address::{Address, Discovery, ResourcePath};
pub use answer::{Answer, AnswerBody};
pub use credentials::{Credentials, reachable, write_insecure_kubeconfig};
pub use failure::{Cause, Failure, Fault, Reason};
pub use media::{Encoding, Format, Offer, OpenApi, PLAIN, View};
pub use metrics::Metrics;
pub use pieces::Pieces;
pub use query::{FieldValidation, MANAGER_BYTES, Query, WriteOptions};
pub use selector::{FieldSelector, LabelSelector};
pub use stream::{Outlet, Stream};
