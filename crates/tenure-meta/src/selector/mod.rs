//! Label and field selectors, which narrow lists and watches.

mod field;
mod label;
mod selectable;
mod term;

pub use field::FieldSelector;
pub use label::{LabelSelector, selector_text};
pub use selectable::SelectableField;
pub use term::{IndexTerm, IndexedBy};
