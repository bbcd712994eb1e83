//! The plans that this server made and has not carried out yet, and those that it carried out and can undo. Both are bounded: the oldest
//! is forgotten first, and has to be planned again.

use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use tenure_ownership::{AppliedPlan, SavedPlan};

/// How many plans of each sort are kept.
const KEPT: usize = 200;

/// The plans of a server.
#[derive(Default)]
pub struct Plans {
    made: Mutex<Kept<SavedPlan>>,
    applied: Mutex<Kept<AppliedPlan>>,
}

struct Kept<T> {
    by_digest: HashMap<String, T>,
    order: VecDeque<String>,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { by_digest: HashMap::new(), order: VecDeque::new() }
    }
}

impl<T> Kept<T> {
    fn insert(&mut self, digest: String, plan: T) {
        if self.by_digest.insert(digest.clone(), plan).is_none() {
            self.order.push_back(digest);
        }
        // What was taken out since is still in the order.
        while self.order.len() > KEPT {
            if let Some(oldest) = self.order.pop_front() {
                self.by_digest.remove(&oldest);
            }
        }
    }

    fn remove(&mut self, digest: &str) -> Option<T> {
        let found = self.by_digest.remove(digest)?;
        self.order.retain(|kept| kept != digest);
        Some(found)
    }
}

impl Plans {
    /// Keeps a plan that was made.
    pub fn made(&self, digest: String, plan: SavedPlan) {
        self.made.lock().insert(digest, plan);
    }

    /// Returns a plan that was made.
    pub fn get(&self, digest: &str) -> Option<SavedPlan> {
        self.made.lock().by_digest.get(digest).cloned()
    }

    /// Takes a plan that was made, so that it is carried out once.
    pub fn take(&self, digest: &str) -> Option<SavedPlan> {
        self.made.lock().remove(digest)
    }

    /// Returns the digests of the plans that were made, the oldest first.
    pub fn digests(&self) -> Vec<String> {
        self.made.lock().order.iter().cloned().collect()
    }

    /// Keeps what a plan did.
    pub fn applied(&self, plan: AppliedPlan) {
        self.applied.lock().insert(plan.digest.clone(), plan);
    }

    /// Returns what a plan did.
    pub fn get_applied(&self, digest: &str) -> Option<AppliedPlan> {
        self.applied.lock().by_digest.get(digest).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_apply::Timestamp;
    use tenure_ownership::{ClusterIdentity, Pinning};

    #[test]
    fn the_oldest_plans_are_forgotten() {
        let plans = Plans::default();
        let plan = SavedPlan {
            cluster: ClusterIdentity::default(),
            time: Timestamp::from_unix(0),
            pinning: Pinning::Fields,
            steps: Vec::new(),
        };
        for number in 0..KEPT + 3 {
            plans.made(number.to_string(), plan.clone());
        }
        assert_eq!(plans.digests().len(), KEPT);
        assert!(plans.get("2").is_none() && plans.take("3").is_some() && plans.take("3").is_none());
        assert_eq!(plans.digests().first().map(String::as_str), Some("4"));
    }
}
