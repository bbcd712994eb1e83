//! Plans that are kept: reviewed, approved by their digest, carried out later under their pins, and undone as plans. A [`SavedPlan`]
//! lists what is written to which object, in order, and the state of every object that this relies on. It is a value and a document;
//! commands, pages and servers show it and carry it out.

mod applied;
mod document;
mod pin;
mod step;
mod withheld;

pub use applied::{AppliedPlan, AppliedStep};
pub use pin::{Pinning, Stale, Staleness};
pub use step::{PlannedStep, PlannedWrite};
pub use withheld::Withholding;

use tenure_apply::Timestamp;

/// The cluster that a plan is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterIdentity {
    /// The address of its server.
    pub server: String,
    /// The uid of its namespace `kube-system`, which identifies a cluster under every address; empty if it cannot be read.
    pub uid: String,
}

impl ClusterIdentity {
    /// Whether two are the same cluster: by the uid where both have one, else by the address.
    pub fn is(&self, other: &ClusterIdentity) -> bool {
        match (self.uid.as_str(), other.uid.as_str()) {
            ("", _) | (_, "") => self.server == other.server,
            (one, other) => one == other,
        }
    }

    /// Returns what distinguishes digests of values for this cluster from those for others.
    pub(crate) fn salt(&self) -> &str {
        if self.uid.is_empty() { &self.server } else { &self.uid }
    }
}

/// What is to be written to some objects of a cluster, and what that relies on.
#[derive(Clone, Debug)]
pub struct SavedPlan {
    /// The cluster.
    pub cluster: ClusterIdentity,
    /// When it was made.
    pub time: Timestamp,
    /// What must not have changed when it is carried out.
    pub pinning: Pinning,
    /// The writes, in order. Objects that would not change have none.
    pub steps: Vec<PlannedStep>,
}

impl SavedPlan {
    /// Returns the digest: it covers the cluster, the pins and every step, and is the same for the same plan made at another time.
    pub fn digest(&self) -> String {
        document::digest(&self.to_value())
    }

    /// Returns what replaces the values of Secrets in documents of this plan.
    pub fn withholding(&self) -> Withholding<'_> {
        Withholding::new(self.cluster.salt())
    }

    /// Returns the steps that lack values of Secrets, which [`PlannedStep::complete`] fills in.
    pub fn incomplete(&self) -> impl Iterator<Item = &PlannedStep> {
        self.steps.iter().filter(|step| !step.is_complete())
    }
}
