//! Admission: webhooks, CEL policies and built-in plugins, all behind one trait, [`AdmissionPlugin`], in the order in
//! which kube-apiserver runs them ([`AdmissionChain`]).
//!
//! The crate does not know HTTP routing, how objects are stored, or how ownership is decided. What plugins read of the
//! cluster comes through the trait [`Cluster`], which the server implements.
//!
//! The crate exists because plugins are tested without a server, and its border keeps them away from the store. Internal: no
//! promises about its API.

mod attributes;
mod chain;
mod cluster;
mod config;
mod expression;
mod failure_policy;
mod manifests;
mod matching;
mod plugin;
mod plugin_configuration;
mod plugins;
pub mod pod_security;
mod policy;
pub mod resource_quota;
mod webhook;
mod webhook_client;

pub use attributes::{AdmissionAttributes, Operation, ResourceAction, ResourceRule, ResourceVariant};
pub use chain::{AdmissionChain, AdmissionError, PluginSelection, plugin_names};
pub use cluster::Cluster;
pub use config::{AdmissionConfig, CONFIGURATIONS, GROUP};
pub use manifests::{AdmissionManifests, ManifestDirectories, ManifestError};
pub use plugin::{AdmissionContext, AdmissionPlugin, Complete, ObjectPlugin, webhook_error};
pub use plugin_configuration::{PluginConfiguration, PluginConfigurationError};
pub use webhook_client::{
    ServiceEndpoint, Stall, WebhookClient, WebhookCredentials, WebhookInterceptor, WebhookUser,
    describe_connection_error, server_verifier,
};
