//! The cost of functions: estimated from the sizes that arguments can have, and charged for the arguments of a call.

mod model;
mod size;

pub use model::Cost;
pub(crate) use model::{Argument, LIST_COST, MAP_COST, STRUCT_COST};
pub(crate) use size::Size;

/// Returns by how much an estimated cost exceeds a limit, as messages print it.
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
        // With one digit, a small excess would print as 1.0x.
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    }
}
