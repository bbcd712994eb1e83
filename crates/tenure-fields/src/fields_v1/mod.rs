//! `FieldsV1`: a field set as JSON, the form of `metadata.managedFields[].fieldsV1`. A member's name is a
//! qualifier and an element (`f:name`, `k:{"name":"web"}`, `v:"item"`, `i:0`), its value the set below;
//! `.` says that the path that ends here is in the set, and is left out where nothing is below.
//!
//! A kube-apiserver writes one set in one of two orders of members, see [`Order`].

mod element;
mod read;
mod value;
mod write;

pub use read::{parse, parse_ordered};
pub use value::{from_value, to_value};
pub use write::{to_vec, write, write_in};

/// The order in which the members of one level are written; the two differ where list items are told
/// apart by numbers, as `2` comes before `10` but `"v:2"` after `"v:10"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By the bytes of their names: so a kube-apiserver writes the objects of custom resources.
    #[default]
    Names,
    /// By their elements: so it writes the objects of built-in kinds.
    Elements,
}
