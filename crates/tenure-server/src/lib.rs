//! The API server: the Kubernetes API over ownership, kinds as data, and the store.

mod admission;
pub mod api;
pub mod custom;
mod failure;
mod http;
pub mod kinds;
pub mod openapi;
pub mod protobuf;
mod selector;
mod webhook;

pub use failure::{Cause, Failure, Fault, Reason};
pub use http::{
    Authentication as Access, BodySender as Outlet, BodyStream as Stream, ChunkedBody as Pieces, Credentials,
    DiscoveryPath as Discovery, Encoding, FieldValidation, Format, MANAGER_BYTES, Metrics, Offer, OpenApi,
    PLAIN, Query, RequestPath as Address, ResourcePath, Response as Answer, ResponseBody as AnswerBody, View,
    WriteOptions, listener as listen, reachable, write_insecure_kubeconfig,
};
pub(crate) use http::{health, metrics, negotiation as media, query, service_account_token as token};
pub use selector::{FieldSelector, LabelSelector};
