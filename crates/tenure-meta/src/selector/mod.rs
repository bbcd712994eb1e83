//! Label and field selectors, which narrow lists and watches.

mod field;
mod label;

pub use field::{FieldSelector, SelectableField};
pub use label::{LabelSelector, selector_text};
