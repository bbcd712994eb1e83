//! Custom types of function libraries.

use std::{any::Any, fmt};

/// A value of a type that only functions know, such as an IP address or an authorizer.
pub trait Opaque: Any + fmt::Debug + Send + Sync {
    /// Returns the name of the type, as signatures write it.
    fn type_name(&self) -> &str;

    /// Whether both values are equal.
    fn equals(&self, other: &dyn Opaque) -> bool;

    /// Returns this value, to be [downcast](super::Val::downcast).
    fn as_any(&self) -> &dyn Any;

    /// Returns the size by which costs are counted.
    fn size(&self) -> Option<u64> {
        None
    }
}
