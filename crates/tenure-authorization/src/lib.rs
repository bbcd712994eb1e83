//! Authorization of requests: the authorizers of a server, asked in the order in which they are configured.
//!
//! [`Authorizer`] decides. RBAC and field permissions follow the stored roles and bindings, the Node authorizer the stored pods and
//! volumes; ABAC has a file of policies, and a webhook is another server. The first authorizer with an opinion decides, and members of
//! `system:masters` may do everything.

mod attributes;
mod authorizer;
mod chain;
mod config;
mod escalation;
mod field_permissions;
mod match_conditions;
mod node_relations;
mod options;
mod webhook;

pub use attributes::{request_attributes, selected_name};
pub use authorizer::{Authorizer, RBAC_PREFIX, forbidden, refusal};
pub use config::{ConfigError, ConfiguredAuthorizer, read_configuration};
pub use match_conditions::MatchConditions;
pub use options::{Authorization, AuthorizerOptions};
pub use webhook::{WebhookFailure, WebhookOptions};
