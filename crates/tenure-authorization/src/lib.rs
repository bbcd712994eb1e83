//! Authorization of requests: what a user may do.
//!
//! - The rules are pure: [`rbac::Policy`] with its field permissions, [`node::NodeAuthorizer`] and [`abac::AbacPolicies`] decide about the
//!   `Attributes` of a request and its `UserInfo`. They receive roles and bindings as documents.
//! - [`Authorizer`] asks the authorizers of a server in the order in which they are configured, and keeps them in step with the store.
//!   The first one with an opinion decides, and members of `system:masters` may do everything.
//!
//! The crate exists because decisions are tested, fuzzed and measured alone. It does not know who a client is, nor how a write is
//! decided. Internal: no promises about its API.
//!
//! ```
//! use tenure_authorization::rbac::Policy;
//! use tenure_meta::{Attributes, ResourceAttributes, UserInfo};
//! use tenure_value::{Limits, yaml};
//!
//! let mut policy = Policy::default();
//! for text in [
//!     "{kind: Role, metadata: {name: reader, namespace: shop},
//!       rules: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]}",
//!     "{kind: RoleBinding, metadata: {name: readers, namespace: shop},
//!       roleRef: {kind: Role, name: reader}, subjects: [{kind: User, name: ann}]}",
//! ] {
//!     policy.insert(&yaml::parse(text.as_bytes(), &Limits::default())?);
//! }
//! let get = Attributes::Resource(ResourceAttributes {
//!     verb: "get".into(),
//!     resource: "configmaps".into(),
//!     namespace: "shop".into(),
//!     ..Default::default()
//! });
//! let decision = policy.authorize(&UserInfo::new("ann"), &get);
//! assert!(decision.is_allowed());
//! assert_eq!(decision.reason, r#"RBAC: allowed by RoleBinding "readers/shop" of Role "reader" to User "ann""#);
//! # Ok::<(), tenure_value::Error>(())
//! ```

pub mod abac;
mod access_review;
mod attributes;
mod authorizer;
mod chain;
mod change_quota;
mod claim_status;
mod config;
mod decision;
mod escalation;
mod field_permissions;
mod match_conditions;
pub mod node;
mod node_relations;
mod options;
pub mod rbac;
mod review_document;
mod signing;
mod webhook;

pub use access_review::{
    AccessReview, FIELDS_ANNOTATION, FORCE_ANNOTATION, MANAGER_ANNOTATION, ReviewScope, ReviewedWrite,
};
pub use attributes::{request_attributes, selected_name};
pub use authorizer::{Authorizer, RBAC_PREFIX, forbidden, refusal};
pub use claim_status::{RESOURCE_CLAIMS, check_claim_status};
pub use config::{ConfigError, ConfiguredAuthorizer, read_configuration};
pub use decision::{Decision, Opinions, Verdict, aggregate};
pub use match_conditions::MatchConditions;
pub use options::{Authorization, AuthorizerOptions};
pub use review_document::{review_spec, subject_access_review};
pub use signing::{POD_CERTIFICATE_REQUESTS, check_signing};
pub use webhook::{WebhookFailure, WebhookOptions};
