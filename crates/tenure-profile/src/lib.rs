//! Which version of Kubernetes is served, and which documented improvements on it are on.
//!
//! A [`KubernetesVersion`] is one of the versions that are served, and a [`Behaviour`] one place where a version differs from the one
//! before it. An [`Improvement`] is one place where Tenure deliberately does better than a kube-apiserver; a [`Profile`] is a version and a set of
//! improvements. Every
//! library takes a profile, and none has a default other than Kubernetes. `docs/differences.md` describes every improvement, and
//! tests compare the page with this crate.
//!
//! The crate exists because every layer takes a profile, and none may decide what is in it. It does not know what an improvement
//! does. Public API: it follows semantic versioning.
//!
//! ```
//! use tenure_profile::{Improvement, Profile};
//!
//! assert_eq!(Profile::default(), Profile::kubernetes());
//! let profile = Profile::kubernetes().with(Improvement::SharedZeros);
//! assert!(profile.has(Improvement::SharedZeros) && !profile.has(Improvement::OwnBindings));
//! ```

mod improvement;
mod kubernetes_version;
mod profile;

pub use improvement::Improvement;
pub use kubernetes_version::{Behaviour, KubernetesVersion, UnknownVersion};
pub use profile::{Profile, UnknownProfile};
