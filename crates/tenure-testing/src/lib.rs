#![doc = include_str!("../README.md")]

mod assertion;
mod body;
mod builder;
mod clock;
#[cfg(feature = "control")]
mod control;
mod error;
mod fault;
mod fight;
#[cfg(feature = "kube")]
mod kube_client;
mod load;
mod manifest;
mod object;
mod record;
mod request_info;
mod requests;
mod server;
mod service;
mod socket;
mod write_log;

pub use assertion::AssertionError;
pub use body::TestBody;
pub use builder::TestServerBuilder;
pub use clock::TestClock;
#[cfg(feature = "control")]
pub use control::{ControlSocket, fights_document, writes_document};
pub use error::TestError;
pub use fault::{Effect, Fault, InjectedFault};
pub use fight::Fight;
pub use load::{Loaded, backup_of};
pub use manifest::read_manifests;
pub use object::ObjectHandle;
pub use server::{Snapshot, TestServer};
pub use service::TestService;
pub use socket::Socket;
pub use tenure_profile::{Improvement, KubernetesVersion, Profile};
pub use tenure_server::{Authorization, Controllers};
pub use write_log::{FieldChange, Write};
