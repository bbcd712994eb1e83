//! What expressions cost, before they run (estimated from declared bounds) and while they run.

mod estimate;
mod meter;
mod model;
mod size;

pub(crate) use estimate::estimate;
pub use meter::{Limits, Meter};
pub use model::Cost;
pub(crate) use model::{Argument, LIST_COST, MAP_COST, STRUCT_COST};
pub(crate) use size::Size;

/// Returns by how much an estimated cost exceeds a limit, in the words of messages.
///
/// ```
/// use tenure_cel::excess;
///
/// assert_eq!(excess(16_000_000, 10_000_000), "1.6x");
/// assert_eq!(excess(10_485_750, 10_000_000), "1.048575x");
/// assert_eq!(excess(u64::MAX, 10_000_000), "more than 100x");
/// ```
pub fn excess(cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    if factor > 100.0 {
        "more than 100x".into()
    } else if factor < 1.5 {
        // One digit would say that a limit is exceeded 1.0 times.
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    }
}
