//! The API server: the Kubernetes API over a store.
//!
//! `server.rs` builds the parts in the order of their dependencies and dispatches requests: `http` (protocol), `catalog` (what is
//! served), `objects` (stored objects), `read`, `write`, `subresources`, `controllers`. The crate does not know terminals,
//! and decides no rule of a particular kind.

mod admission;
mod authenticator;
mod authorization;
mod behavior;
mod bootstrap_roles;
mod cache;
mod catalog;
mod clock;
mod controllers;
mod http;
mod nonresource;
mod object;
mod objects;
mod read;
mod server;
mod subresources;
mod target;
mod token_issuer;
mod write;

pub use authenticator::IdentityOptions;
pub use authorization::Authorization;
pub use behavior::Behavior;
pub use catalog::openapi;
pub use clock::Clock;
pub use http::{
    Authentication as Access, BodySender as Outlet, BodyStream as Stream, ChunkedBody as Pieces,
    ClientAuthorities, Credentials, DiscoveryPath as Discovery, Encoding, FieldValidation, Format,
    MANAGER_BYTES, Metrics, Offer, OpenApi, PLAIN, Query, RequestPath as Address, ResourcePath,
    Response as Answer, ResponseBody as AnswerBody, View, WriteOptions, listener as listen, reachable,
    write_insecure_kubeconfig,
};
pub(crate) use http::{health, metrics, negotiation as media, query};
pub use server::{BODY_BYTES, RequestBody, Server, ServerOptions};
pub use tenure_admission::{AdmissionChain, PluginSelection};
pub use tenure_builtin as kinds;
pub use tenure_crd as custom;
pub use tenure_meta::{ApiError as Failure, Cause, FieldSelector, LabelSelector, Reason};
pub use tenure_protobuf as protobuf;
pub use token_issuer::TokenOptions;
