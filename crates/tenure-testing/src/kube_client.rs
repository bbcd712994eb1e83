//! `kube`: clients of a test server, and definitions from types.

use crate::{TestServer, TestServerBuilder, manifest};
use kube::{Client, core::crd::v1::CustomResourceExt};

impl TestServer {
    /// Returns a client of the administrator, whose default namespace is `default`. It must be called on a tokio runtime.
    pub fn client(&self) -> Client {
        Client::new(self.service(), "default")
    }

    /// Returns a client of another user, by impersonation.
    pub fn client_as(&self, user: &str, groups: &[&str]) -> Client {
        Client::new(self.service().as_user(user, groups), "default")
    }
}

impl TestServerBuilder {
    /// Serves a custom resource by the definition of its type.
    pub fn definition<K: CustomResourceExt>(self) -> TestServerBuilder {
        let definition = serde_json::to_value(K::crd()).unwrap_or_default();
        self.document(manifest::from_json(&definition), format!("the definition {}", K::crd_name()))
    }
}
