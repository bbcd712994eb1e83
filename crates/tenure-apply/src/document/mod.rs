//! A document under its type: which parts have owners of their own, which list item is which, and where two states
//! differ. Knows field sets, but no managers.

pub(crate) mod check;
mod difference;
pub(crate) mod field_nodes;
pub(crate) mod granularity;
pub(crate) mod items;
mod reordered;

pub use difference::Difference;
pub use reordered::reordered;
