//! How much an agent may change in a minute. Objects are counted, not calls: a plan of fifty objects is fifty changes. Room is taken before
//! a plan is carried out, so that plans at the same time share it, and given back for what was not written.

use parking_lot::Mutex;
use std::collections::VecDeque;
use tenure_apply::Timestamp;

/// How many seconds a change counts.
const SECONDS: i64 = 60;

/// The changes of the last minute, and how many are allowed.
#[derive(Debug)]
pub struct Quota {
    most: usize,
    changes: Mutex<VecDeque<Taken>>,
}

/// Changes that were made together.
#[derive(Debug)]
struct Taken {
    time: i64,
    number: usize,
}

/// Why there is no room.
#[derive(Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// How many changes of the last minute count.
    pub used: usize,
    /// How many are allowed in a minute.
    pub most: usize,
    /// After how many seconds there is room; `None` if there never is.
    pub wait: Option<i64>,
}

impl Quota {
    /// Returns a quota of that many changes in a minute.
    pub fn new(most: usize) -> Quota {
        Quota { most, changes: Mutex::default() }
    }

    /// Takes room for a number of changes, all of it or none.
    pub fn take(&self, number: usize, now: Timestamp) -> Result<(), Exceeded> {
        let (now, most) = (now.unix(), self.most);
        let mut changes = self.changes.lock();
        // A clock that was set back does not free room, and one that was set forward does not take it for long.
        changes.retain(|taken| (now - taken.time).abs() < SECONDS);
        let used: usize = changes.iter().map(|taken| taken.number).sum();
        if used + number <= most {
            changes.push_back(Taken { time: now, number });
            return Ok(());
        }
        let mut left = used;
        let enough = changes.iter().find(|taken| {
            left -= taken.number;
            left + number <= most
        });
        let wait = enough.filter(|_| number <= most).map(|taken| (taken.time + SECONDS - now).max(1));
        Err(Exceeded { used, most, wait })
    }

    /// Gives back room that was taken at a time and not used.
    pub fn give_back(&self, number: usize, time: Timestamp) {
        let mut changes = self.changes.lock();
        if let Some(taken) =
            changes.iter_mut().rev().find(|taken| taken.time == time.unix() && taken.number >= number)
        {
            taken.number -= number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_unix(1_800_000_000 + second)
    }

    #[test]
    fn a_minute_has_room_for_so_many_changes() {
        let quota = Quota::new(5);
        assert_eq!(quota.take(3, at(0)), Ok(()));
        assert_eq!(quota.take(2, at(10)), Ok(()));
        assert_eq!(quota.take(1, at(20)), Err(Exceeded { used: 5, most: 5, wait: Some(40) }));
        assert_eq!(quota.take(4, at(20)), Err(Exceeded { used: 5, most: 5, wait: Some(50) }));
        // What was not written is free again.
        quota.give_back(1, at(10));
        assert_eq!(quota.take(1, at(20)), Ok(()));
        assert_eq!(quota.take(3, at(59)), Err(Exceeded { used: 5, most: 5, wait: Some(1) }));
        assert_eq!(quota.take(3, at(60)), Ok(()));
        // More than a minute ever has room for.
        assert_eq!(quota.take(6, at(300)), Err(Exceeded { used: 0, most: 5, wait: None }));
        // A clock that is set back makes no room.
        assert_eq!(quota.take(5, at(300)), Ok(()));
        assert!(quota.take(1, at(280)).is_err());
    }
}
