//! The flag that chooses how a server differs from Kubernetes.

use crate::audit::Mode;
use clap::ValueEnum;
use tenure_profile::Profile;

/// Which of the documented differences from Kubernetes are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compatibility {
    /// None of those that have a switch: a test that passes here passes against a kube-apiserver.
    Kubernetes,
    /// All of them.
    Tenure,
}

impl Compatibility {
    /// Returns when audit events are written, unless a flag says so.
    pub fn audit_log_mode(self) -> Mode {
        match self {
            Compatibility::Kubernetes => Mode::Blocking,
            Compatibility::Tenure => Mode::Batch,
        }
    }
}

impl From<Compatibility> for Profile {
    fn from(compatibility: Compatibility) -> Profile {
        match compatibility {
            Compatibility::Kubernetes => Profile::kubernetes(),
            Compatibility::Tenure => Profile::tenure(),
        }
    }
}
