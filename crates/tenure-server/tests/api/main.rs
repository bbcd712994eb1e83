//! The API as its clients see it: a server in this process, plain HTTP, and recordings of Kubernetes. Every module starts its own
//! servers, so that all can run at the same time.

mod accounts;
mod audit;
mod cbor;
mod chunks;
mod claims;
mod classes;
mod consistency;
mod conversations;
mod credentials;
mod default_objects;
mod deletion;
mod discovery;
mod errors;
mod every_kind;
mod facts;
mod formats;
mod guard;
mod history;
mod hostile;
mod http;
// Other algorithms are tested in `tenure-authentication` itself.
#[allow(dead_code)]
#[path = "../../../tenure-authentication/tests/issuer/server.rs"]
mod issuer;
mod limits;
mod metrics;
mod namespaces;
mod owners;
mod parts;
mod permission_model;
mod permissions;
mod placement;
mod pod_security;
mod profiles;
mod quotas;
mod random;
mod repeated_applies;
mod routes;
mod secret_tokens;
mod selection;
mod selection_index;
mod server;
mod service_cidrs;
mod shards;
mod stream;
mod transactions;
mod versions;
mod watch;
mod watch_selection;
mod watchers;
mod writes;
