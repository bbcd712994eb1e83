//! A controller of websites: the custom resource, and how it is reconciled.

mod reconcile;
mod website;

pub use reconcile::{Context, Error, FINALIZER, MANAGER, REGISTRY, reconcile, run};
pub use website::{Website, WebsiteSpec, WebsiteStatus};
