//! Which objects of a collection a request means: by their labels, by some of their fields.

mod field;
mod label;

pub use field::{FieldSelector, SelectableField};
pub use label::{LabelSelector, selector_text};
