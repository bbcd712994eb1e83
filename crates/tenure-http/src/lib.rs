//! The HTTP side of an API server: the listener, request paths and parameters, content negotiation, bodies,
//! responses and metrics.
//!
//! The crate does not know which resources are served or how a request is carried out; the listener hands each request to a
//! [`listener::Handler`].
//!
//! The crate exists because its border keeps the protocol out of the way of a request. Internal: no promises about its API.

mod administrator;
mod body_reader;
mod body_stream;
mod chunked_body;
pub mod compression;
mod connections;
mod guarded_request;
mod handover;
pub mod health;
mod http1;
pub mod impersonation;
pub mod listener;
mod memory;
pub mod metrics;
pub mod negotiation;
pub mod offload;
pub mod query;
mod request;
mod request_body;
pub mod request_guard;
mod request_line;
mod request_path;
mod response;
mod sent_body;
mod service;
mod shutdown;
mod strict_decoding;
#[cfg(feature = "library-connections")]
mod tls_library;
#[cfg(not(feature = "library-connections"))]
mod tls_stream;
mod upgrade;
mod warning;
mod web_service;
mod websocket;

pub use administrator::Administrator;
pub use body_stream::{BodySender, BodyStream};
pub use chunked_body::{ChunkedBody, Producer};
pub use connections::ConnectionLimits;
pub use guarded_request::{BoundedBody, GuardedRequest, no_memory};
pub use memory::{MemoryBudget, Reservation};
pub use metrics::Metrics;
pub use negotiation::{
    Encoding, Format, MediaTypes, MetaVersion, OpenApiEncoding, OptionalFormats, PLAIN, View,
};
pub use query::{FieldValidation, MANAGER_BYTES, Query, WriteOptions};
pub use request::{AdmissionReview, REQUEST_TIME, Request};
pub use request_body::RequestBody;
pub use request_guard::HostGuard;
pub use request_path::{DiscoveryPath, RequestPath, ResourcePath, decode as decode_segment};
pub use response::{Response, ResponseBody};
pub use service::ClientAddress;
pub use strict_decoding::{TextErrors, operation_errors};
pub use upgrade::{Duplex, OnUpgrade, Upgraded};
pub use web_service::{WebEndpoint, WebRequest, WebService};
