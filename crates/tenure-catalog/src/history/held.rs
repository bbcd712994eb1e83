//! What the writes of a transaction are to be counted as, held until it is known whether they take effect.

use super::{History, RefusedApply};
use tenure_history::{Takeover, Values};

/// Something that a history counts.
pub(super) enum Observation {
    Changed { manager: String, resource: String, paths: Vec<String> },
    Unchanged { manager: String },
    Takeover { key: String, manager: String, takeover: Takeover, values: Values, now: u64 },
    Refused(RefusedApply),
}

impl History {
    /// Counts nothing from now on, and holds what would be counted.
    pub fn hold(&self) {
        self.held.get_or_init(Default::default);
    }

    /// Counts what another history held: the writes if they took effect, and refusals in any case.
    pub fn adopt(&self, other: &History, took_effect: bool) {
        let held = other.held.get().map(|held| std::mem::take(&mut *held.lock()));
        for observation in held.into_iter().flatten() {
            match observation {
                Observation::Refused(refused) => self.note_refusal(refused),
                _ if !took_effect => {}
                Observation::Changed { manager, resource, paths } => {
                    self.churn.lock().changed(&manager, &resource, &paths);
                }
                Observation::Unchanged { manager } => self.count_noop(&manager),
                Observation::Takeover { key, manager, takeover, values, now } => {
                    self.note_takeover(&key, &manager, &takeover, values, now);
                }
            }
        }
    }
}
