//! How many changes a user may make in a minute: `changesPerMinute` of field rules. A change counts for a minute from when it was permitted,
//! for the user and the rule that permitted it, in all processes that use this server; what is refused afterwards counts, too.

use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};

/// How many seconds a change counts.
const SECONDS: i64 = 60;
/// From how many users and rules on those without a change in the last minute are forgotten.
const MANY: usize = 1024;

/// The changes of the last minute, by user and rule: the second of each.
#[derive(Debug, Default)]
pub(crate) struct ChangeQuotas(Mutex<HashMap<String, VecDeque<i64>>>);

impl ChangeQuotas {
    /// Takes room for one change in one of some quotas, each a key and how many it allows; otherwise returns in how many seconds one has room.
    pub fn take(&self, quotas: &[(String, u32)], now: i64) -> Result<(), i64> {
        let mut all = self.0.lock();
        let is_over = |second: &i64| (now - second).abs() >= SECONDS;
        if all.len() >= MANY {
            all.retain(|_, seconds| seconds.back().is_some_and(|second| !is_over(second)));
        }
        let mut wait = SECONDS;
        for (key, most) in quotas {
            let seconds = all.entry(key.clone()).or_default();
            while seconds.front().is_some_and(is_over) {
                seconds.pop_front();
            }
            if seconds.len() < *most as usize {
                seconds.push_back(now);
                return Ok(());
            }
            // The oldest of those that fill the quota makes room when it is over.
            let oldest = seconds.get(seconds.len() - *most as usize).copied().unwrap_or(now);
            wait = wait.min((oldest + SECONDS - now).max(1));
        }
        Err(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_room_for_so_many_changes() {
        let quotas = ChangeQuotas::default();
        let of = |most: u32| [("ann".to_owned(), most)];
        assert_eq!([0, 10].map(|now| quotas.take(&of(2), now)), [Ok(()), Ok(())]);
        assert_eq!(quotas.take(&of(2), 20), Err(40));
        // Another user has another quota, and one of two quotas is enough.
        assert_eq!(quotas.take(&[("bob".to_owned(), 1)], 20), Ok(()));
        assert_eq!(quotas.take(&[("ann".to_owned(), 2), ("ann, too".to_owned(), 1)], 20), Ok(()));
        assert_eq!(quotas.take(&of(2), 59), Err(1));
        assert_eq!(quotas.take(&of(2), 60), Ok(()));
        assert_eq!(quotas.take(&of(2), 61), Err(9));
        // A quota that was lowered, and a clock that was set back.
        assert_eq!(quotas.take(&of(1), 61), Err(59));
        assert_eq!(quotas.take(&of(2), 50), Err(20));
    }
}
