//! HTTP: the listener, request paths and parameters, content negotiation, authentication, responses and metrics.
//! Nothing here knows which resources are served or how a request is carried out; the listener hands each request to a
//! [`listener::Handler`].

pub(crate) mod authentication;
pub(crate) mod body_stream;
pub(crate) mod chunked_body;
pub(crate) mod client_certificate;
pub(crate) mod compression;
pub(crate) mod credentials;
pub(crate) mod health;
pub(crate) mod impersonation;
pub mod listener;
pub(crate) mod metrics;
pub(crate) mod negotiation;
pub(crate) mod query;
pub(crate) mod request;
pub(crate) mod request_guard;
pub(crate) mod request_path;
pub(crate) mod response;
mod shutdown;
mod warning;

pub use authentication::Authentication;
pub use body_stream::{BodySender, BodyStream};
pub use chunked_body::ChunkedBody;
pub use client_certificate::{ClientAuthorities, ClientCertificate};
pub use credentials::{Credentials, reachable, write_insecure_kubeconfig};
pub use metrics::Metrics;
pub use negotiation::{Encoding, Format, Offer, OpenApi, PLAIN, View};
pub use query::{FieldValidation, MANAGER_BYTES, Query, WriteOptions};
pub(crate) use request::Request;
pub use request_path::{DiscoveryPath, RequestPath, ResourcePath};
pub use response::{Response, ResponseBody};
