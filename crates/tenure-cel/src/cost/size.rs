//! Ranges of sizes, and the cost of scanning them.

/// The minimum and the maximum of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub min: u64,
    pub max: u64,
}

impl Size {
    pub const UNKNOWN: Size = Size { min: 0, max: u64::MAX };

    pub fn fixed(size: u64) -> Size {
        Size { min: size, max: size }
    }

    pub fn plus(self, other: Size) -> Size {
        Size { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub fn times(self, other: Size) -> Size {
        Size { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub fn union(self, other: Size) -> Size {
        Size { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Returns the cost of scanning the largest value, from the cost of one element.
    pub fn cost(self, each: f64) -> u64 {
        scaled(self.max, each)
    }
}

/// Multiplies a cost by a factor and rounds up.
pub(crate) fn scaled(amount: u64, factor: f64) -> u64 {
    // The conversion saturates at the limits of u64.
    (amount as f64 * factor).ceil() as u64
}
