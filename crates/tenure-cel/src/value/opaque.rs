//! Types that functions bring along.

use std::{any::Any, fmt};

/// A value of a type that only functions know, such as an address or an authorizer.
pub trait Opaque: Any + fmt::Debug + Send + Sync {
    /// Returns the name of the type, as signatures write it.
    fn type_name(&self) -> &str;

    /// Whether both are the same.
    fn equals(&self, other: &dyn Opaque) -> bool;

    /// Returns this value, to be [downcast](super::Val::downcast).
    fn as_any(&self) -> &dyn Any;

    /// Returns the size that costs are counted by.
    fn size(&self) -> Option<u64> {
        None
    }
}
