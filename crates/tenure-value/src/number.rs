//! Numbers whose range is guaranteed by their type: a float is finite, and a large integer exceeds 64 signed bits. Their
//! constructors check this, so equality, order and JSON are defined for every value.

use std::{cmp::Ordering, fmt, hash};

/// A finite 64-bit float. Two floats are equal if their bits are, so `0.0` and `-0.0` differ.
///
/// ```
/// use tenure_value::{Float, Value};
///
/// assert_eq!(Float::new(0.5).map(Value::Float), Value::float(0.5));
/// assert_eq!(Float::new(f64::NAN), None);
/// ```
#[derive(Clone, Copy)]
pub struct Float(f64);

impl Float {
    /// Returns the number if it is finite.
    pub const fn new(number: f64) -> Option<Float> {
        if number.is_finite() { Some(Float(number)) } else { None }
    }

    /// Returns the number.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Float) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Float {}

impl Ord for Float {
    fn cmp(&self, other: &Float) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Float {
    fn partial_cmp(&self, other: &Float) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl hash::Hash for Float {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl fmt::Debug for Float {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An integer above `i64::MAX` that fits 64 unsigned bits.
///
/// ```
/// use tenure_value::{LargeUint, Value};
///
/// assert_eq!(LargeUint::new(80), None);
/// assert_eq!(Value::unsigned(80), Value::Int(80));
/// assert_eq!(LargeUint::new(u64::MAX).map(Value::UInt), Some(Value::unsigned(u64::MAX)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LargeUint(u64);

impl LargeUint {
    /// Returns the integer if it exceeds 64 signed bits.
    pub const fn new(number: u64) -> Option<LargeUint> {
        if number > i64::MAX as u64 { Some(LargeUint(number)) } else { None }
    }

    /// Returns the integer.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for LargeUint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
