//! Counts the cost and the memory of an evaluation and stops it at its limits. Work is charged before it is
//! done.

use crate::Error;

/// Limits of one evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum cost.
    pub cost: u64,
    /// How many bytes the values that the evaluation creates may take.
    pub bytes: usize,
    /// How many bytes functions may scan whose cost does not depend on sizes, such as `size`.
    pub scanned: usize,
}

impl Limits {
    /// Returns limits without a cost limit, for trusted expressions.
    pub const fn unlimited_cost() -> Limits {
        Limits { cost: u64::MAX, ..Limits::new() }
    }

    /// Returns the limits that Kubernetes sets for one evaluation.
    pub const fn new() -> Limits {
        Limits { cost: 1_000_000, bytes: 128 << 20, scanned: 256 << 20 }
    }

    /// Lowers the cost limit to the rest of a budget.
    pub fn within(self, budget: u64) -> Limits {
        Limits { cost: self.cost.min(budget), ..self }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::new()
    }
}

/// Counts costs and bytes against limits.
#[derive(Debug)]
pub struct Meter {
    limits: Limits,
    cost: u64,
    bytes: usize,
    scanned: usize,
}

impl Meter {
    /// Creates a meter that starts at zero.
    pub fn new(limits: Limits) -> Meter {
        Meter { limits, cost: 0, bytes: 0, scanned: 0 }
    }

    /// Charges work that is about to be done.
    #[inline]
    pub fn charge(&mut self, cost: u64) -> Result<(), Error> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limits.cost { Err(Error::CostLimit) } else { Ok(()) }
    }

    /// Counts bytes that are about to be allocated.
    #[inline]
    pub fn allocate(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.limits.bytes { Err(Error::SizeLimit(self.limits.bytes)) } else { Ok(()) }
    }

    /// Counts bytes that are about to be scanned at a cost that does not depend on their number.
    #[inline]
    pub fn scan(&mut self, bytes: usize) -> Result<(), Error> {
        self.scanned = self.scanned.saturating_add(bytes);
        if self.scanned > self.limits.scanned { Err(Error::CostLimit) } else { Ok(()) }
    }

    /// Returns the bytes scanned so far.
    pub fn scanned(&self) -> usize {
        self.scanned
    }

    /// Returns the cost charged so far.
    pub fn cost(&self) -> u64 {
        self.cost
    }
}
