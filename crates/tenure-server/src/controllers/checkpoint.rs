//! What the controllers knew when they last had nothing to do. The controllers of a fork begin with it and with the changes since,
//! so that the first write to a fork costs the same however many objects there are.

use super::Work;
use parking_lot::Mutex;
use std::sync::Arc;
use tenure_catalog::owner_graph::OwnerGraph;
use tenure_store::Revision;
use tokio::time::Instant;

/// What the controllers know at a revision.
pub(super) struct Knowledge {
    /// The revision up to which they have seen all changes.
    pub revision: Revision,
    /// The owners of all objects.
    pub owners: OwnerGraph,
    /// The work that is not due yet.
    pub planned: Vec<(Work, Instant)>,
}

/// The latest knowledge of the controllers of one server; empty before someone waited for them to be idle.
#[derive(Default)]
pub(crate) struct Checkpoint(Mutex<Option<Arc<Knowledge>>>);

impl Checkpoint {
    /// Returns an independent checkpoint with the same knowledge, for a fork at a revision. What was learned later is not true of it.
    pub fn fork(&self, at: Revision) -> Checkpoint {
        Checkpoint(Mutex::new(self.get().filter(|knowledge| knowledge.revision <= at)))
    }

    /// Returns the knowledge, if there is any.
    pub(super) fn get(&self) -> Option<Arc<Knowledge>> {
        self.0.lock().clone()
    }

    /// Replaces the knowledge.
    pub(super) fn set(&self, knowledge: Knowledge) {
        *self.0.lock() = Some(Arc::new(knowledge));
    }
}
