//! The memory of requests in flight: bodies that are being read or worked on, and responses that clients have not read yet. All
//! of them share one budget; a request that does not fit is answered with 429, so that clients retry and the process survives.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

/// How many bytes requests in flight may occupy together.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    large: Arc<Counter>,
    /// Bodies that are still small have a budget of the same size for themselves, so that large ones do not keep them out.
    small: Arc<Counter>,
}

#[derive(Debug)]
struct Counter {
    limit: usize,
    used: AtomicUsize,
}

/// Bytes of a [`MemoryBudget`], which are given back when this is dropped.
#[derive(Debug)]
pub struct Reservation {
    counter: Arc<Counter>,
    bytes: usize,
}

impl Default for MemoryBudget {
    fn default() -> MemoryBudget {
        MemoryBudget::new(MemoryBudget::DEFAULT)
    }
}

impl MemoryBudget {
    /// The bytes of a budget unless the operator chooses another.
    pub const DEFAULT: usize = 512 << 20;
    /// Bodies and responses up to this size are not counted, except for bodies that have not arrived completely.
    pub const SMALL: usize = 64 << 10;

    /// Creates a budget.
    pub fn new(limit: usize) -> MemoryBudget {
        let counter = || Arc::new(Counter { limit, used: AtomicUsize::new(0) });
        MemoryBudget { large: counter(), small: counter() }
    }

    /// Returns the bytes in use.
    pub fn used(&self) -> usize {
        self.large.used.load(Relaxed)
    }

    /// Returns a reservation of nothing, which can grow.
    pub fn reservation(&self) -> Reservation {
        Reservation { counter: self.large.clone(), bytes: 0 }
    }

    /// Returns a reservation of nothing for a body that is still small.
    pub fn small_reservation(&self) -> Reservation {
        Reservation { counter: self.small.clone(), bytes: 0 }
    }

    /// Reserves bytes, if there are so many left.
    pub fn reserve(&self, bytes: usize) -> Option<Reservation> {
        let mut reservation = self.reservation();
        reservation.grow(bytes).then_some(reservation)
    }
}

impl Reservation {
    /// Reserves more bytes. Returns false, without a change, if there are not so many left.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let add = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.counter.limit);
        let reserved = self.counter.used.fetch_update(Relaxed, Relaxed, add).is_ok();
        self.bytes += if reserved { bytes } else { 0 };
        reserved
    }

    /// Gives bytes back.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.counter.used.fetch_sub(bytes, Relaxed);
    }

    /// Returns the bytes that are reserved.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_never_exceeded_and_returns() {
        let budget = MemoryBudget::new(100);
        let mut first = budget.reserve(60).unwrap();
        assert!(budget.reserve(41).is_none());
        let second = budget.reserve(40).unwrap();
        assert!(!first.grow(1) && first.bytes() == 60);
        first.shrink(10);
        assert!(first.grow(10));
        drop(second);
        assert_eq!(budget.used(), 60);
        drop(first);
        assert_eq!(budget.used(), 0);
        assert!(budget.reserve(usize::MAX).is_none());
    }
}
