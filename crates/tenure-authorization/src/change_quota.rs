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

/// How often something may change in a minute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quota {
    /// Whose changes count together.
    pub key: String,
    /// How many there may be.
    pub most: u32,
}

impl ChangeQuotas {
    /// Takes room for one write, which needs one quota of each of these choices; nothing is taken if a choice has none with room. Then
    /// returns in how many seconds it has.
    pub fn take(&self, choices: &[Vec<Quota>], now: i64) -> Result<(), i64> {
        let mut all = self.0.lock();
        let is_over = |second: &i64| (now - second).abs() >= SECONDS;
        if all.len() >= MANY {
            all.retain(|_, seconds| seconds.back().is_some_and(|second| !is_over(second)));
        }
        let mut taken: Vec<&str> = Vec::new();
        for choice in choices {
            if choice.iter().any(|quota| taken.contains(&quota.key.as_str())) {
                continue;
            }
            let mut wait = SECONDS;
            let with_room = choice.iter().find(|quota| {
                let seconds = all.entry(quota.key.clone()).or_default();
                while seconds.front().is_some_and(is_over) {
                    seconds.pop_front();
                }
                // The oldest of those that fill the quota makes room when it is over.
                let oldest =
                    seconds.len().checked_sub(quota.most as usize).and_then(|place| seconds.get(place));
                wait = wait.min(oldest.map_or(wait, |oldest| (oldest + SECONDS - now).max(1)));
                oldest.is_none()
            });
            taken.push(&with_room.ok_or(wait)?.key);
        }
        for key in taken {
            all.entry(key.to_owned()).or_default().push_back(now);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_room_for_so_many_changes() {
        let quotas = ChangeQuotas::default();
        let quota = |name: &str, most| Quota { key: name.to_owned(), most };
        let ann = |most| [vec![quota("ann", most)]];
        assert_eq!([0, 10].map(|now| quotas.take(&ann(2), now)), [Ok(()), Ok(())]);
        assert_eq!(quotas.take(&ann(2), 20), Err(40));
        // Another user has another quota, and one of two quotas is enough.
        assert_eq!(quotas.take(&[vec![quota("bob", 1)]], 20), Ok(()));
        assert_eq!(quotas.take(&[vec![quota("ann", 2), quota("ann, too", 1)]], 20), Ok(()));
        // A write that needs two and gets one takes none; one quota is enough for two choices.
        let both = [vec![quota("new", 1)], vec![quota("bob", 1)]];
        assert_eq!(quotas.take(&both, 21), Err(59));
        assert_eq!(quotas.take(&[both[0].clone(), both[0].clone()], 22), Ok(()));
        assert_eq!(quotas.take(&both[..1], 22), Err(60));
        assert_eq!(quotas.take(&ann(2), 59), Err(1));
        assert_eq!(quotas.take(&ann(2), 60), Ok(()));
        assert_eq!(quotas.take(&ann(2), 61), Err(9));
        // A quota that was lowered, and a clock that was set back.
        assert_eq!(quotas.take(&ann(1), 61), Err(59));
        assert_eq!(quotas.take(&ann(2), 50), Err(20));
    }
}
