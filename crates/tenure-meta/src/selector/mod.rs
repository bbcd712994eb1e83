//! Label and field selectors, which narrow lists and watches.

mod field;
mod label;
mod term;

pub use field::{FieldSelector, SelectableField};
pub use label::{LabelSelector, selector_text};
pub use term::{IndexTerm, IndexedBy};
