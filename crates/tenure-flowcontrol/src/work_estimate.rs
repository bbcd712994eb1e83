//! How many seats a request takes. A list takes a seat for every 100,000 bytes that it has in memory at once, all other requests
//! take one.

use crate::{Level, seats::Seats};

/// The bytes of a list for each seat.
const BYTES_PER_SEAT: u64 = 100_000;
/// The most bytes of a list that are in memory at once, as it is sent while it is made.
const MAX_BYTES_AT_ONCE: u64 = 1_000_000;

/// What is known of a list before it is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListEstimate {
    /// How many objects the resource has.
    pub objects: u64,
    /// The bytes of an object, on average.
    pub object_bytes: u64,
    /// The most objects of the response, if the request limits them.
    pub limit: Option<u64>,
    /// Whether a field selector names the only object.
    pub is_single: bool,
}

impl ListEstimate {
    /// Returns how many seats the list takes. A level may allow fewer.
    pub fn seats(&self) -> u32 {
        let objects = match (self.is_single, self.limit) {
            (true, _) => 1,
            (false, Some(limit)) if limit > 0 => limit.min(self.objects),
            (false, _) => self.objects,
        };
        let bytes = objects.saturating_mul(self.object_bytes).min(MAX_BYTES_AT_ONCE);
        bytes.div_ceil(BYTES_PER_SEAT).max(1) as u32
    }
}

/// Returns the most seats that one request of a level takes: 15 % of those of the level, and no more than each queue of a hand
/// can have.
pub(crate) fn widest(level: &Level, seats: Option<Seats>) -> u32 {
    let (Level::Limited { queuing, .. }, Some(seats)) = (level, seats) else { return 1 };
    let hand = queuing.map_or(1, |queuing| queuing.hand_size.max(1)) as u32;
    (seats.nominal * 15 / 100).min(seats.nominal / hand).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_takes_a_seat_for_every_hundred_thousand_bytes() {
        for (objects, object_bytes, limit, is_single, seats) in [
            (0, 0, None, false, 1),
            (1, 100_000, None, false, 1),
            (1, 100_001, None, false, 2),
            (100, 5_000, None, false, 5),
            (100, 5_000, Some(0), false, 5),
            (100, 5_000, Some(30), false, 2),
            (100, 5_000, Some(500), false, 5),
            (100, 5_000, None, true, 1),
            (100_000, 5_000, None, false, 10),
            (u64::MAX, u64::MAX, None, false, 10),
        ] {
            let estimate = ListEstimate { objects, object_bytes, limit, is_single };
            assert_eq!(estimate.seats(), seats, "{estimate:?}");
        }
    }
}
