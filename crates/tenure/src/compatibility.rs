//! The flag that chooses how a server differs from Kubernetes.

use clap::ValueEnum;
use tenure_server::Behavior;

/// Which of the documented differences from Kubernetes are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compatibility {
    /// None of those that have a switch: a test that passes here passes against a kube-apiserver.
    Kubernetes,
    /// All of them.
    Tenure,
}

impl From<Compatibility> for Behavior {
    fn from(compatibility: Compatibility) -> Behavior {
        match compatibility {
            Compatibility::Kubernetes => Behavior::kubernetes(),
            Compatibility::Tenure => Behavior::tenure(),
        }
    }
}
