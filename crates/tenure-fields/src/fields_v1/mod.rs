//! `FieldsV1`: a field set as JSON, as in `metadata.managedFields[].fieldsV1`. A member name is a qualifier
//! and an element (`f:name`, `k:{"name":"web"}`, `v:"item"`, `i:0`), and its value is the set below it; `.`
//! says that the path that ends here is in the set, and is omitted if nothing is below.
//!
//! kube-apiserver writes the members of a set in one of two orders, see [`Order`].

mod element;
mod read;
mod trailing;
mod value;
mod write;

pub use read::{parse, parse_ordered};
pub use trailing::without_trailing_text;
pub use value::{from_value, to_value};
pub use write::{to_vec, write, write_in};

/// The order of the members of a level. The two differ if list items are identified by numbers: `2` comes
/// before `10`, but `"v:2"` after `"v:10"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By the bytes of their names, as kube-apiserver writes custom resources.
    #[default]
    Names,
    /// By their elements, as kube-apiserver writes built-in kinds.
    Elements,
}
