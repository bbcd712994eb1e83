//! Questions about an object and its managers that change neither.

mod extract;
mod report;

pub use extract::extract;
pub use report::{FieldOwners, OwnershipChange, ownership, ownership_by_place, ownership_changes};
