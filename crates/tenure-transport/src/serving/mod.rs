//! The TLS of a server's own listener: its certificate, the credentials of its data directory, and the client certificates that it
//! accepts.

mod certificate;
mod client_certificate;
mod credentials;
mod machine;
mod serving_certificate;
mod tls;
mod version1_certificate;

pub use certificate::{CertificateUser, certificate_expiry, user_of_certificate};
pub use client_certificate::{ClientAuthorities, ClientCertificate, FrontProxy};
pub use credentials::{
    Credentials, create_private_directory, reachable, serving_names, write_insecure_kubeconfig,
};
pub use serving_certificate::ServingCertificate;
pub use tls::Tls;
