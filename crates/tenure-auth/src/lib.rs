//! Authentication, authorization and audit of clients.
//!
//! A request becomes [`Attributes`], its client a [`UserInfo`]; [`rbac::Policy`], [`node::NodeAuthorizer`] and
//! [`abac::AbacPolicies`] decide. The crate knows
//! neither HTTP nor the store, and not how a write is decided: it receives roles and bindings as documents.
//!
//! ```
//! use tenure_auth::{Attributes, ResourceAttributes, UserInfo, rbac::Policy};
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
pub mod audit;
pub mod authentication;
mod claim_status;
mod decision;
mod impersonation;
pub mod node;
pub mod rbac;
mod reloadable;
mod review_document;
mod user;

pub use access_review::{
    AccessReview, FIELDS_ANNOTATION, FORCE_ANNOTATION, MANAGER_ANNOTATION, ReviewScope, ReviewedWrite,
};
pub use attributes::{Attributes, ResourceAttributes};
pub use claim_status::{RESOURCE_CLAIMS, check_claim_status};
pub use decision::{Decision, Opinions, Verdict, aggregate};
pub use impersonation::{Denied, Impersonated, Mode as ImpersonationMode, impersonate};
pub use reloadable::Reloadable;
pub use review_document::{ReviewVersion, review_spec};
pub use user::UserInfo;
