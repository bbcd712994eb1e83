//! Types of expressions, and declarations of the documents that expressions read.

mod decl;
mod escape;
mod signature;

pub(crate) use decl::MAX_DOCUMENT_BYTES;
pub use decl::{Decl, Equality, ListSemantics};
pub use escape::{escape, unescape};
pub(crate) use signature::Signature;

use std::{fmt, sync::Arc};
use tenure_value::Text;

/// The type of an expression.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Type {
    /// Known only at evaluation.
    Dyn,
    /// Follows from an error that is already reported.
    Error,
    /// `null`.
    Null,
    /// `true` and `false`.
    Bool,
    /// 64 bit integers.
    Int,
    /// Unsigned 64 bit integers.
    UInt,
    /// 64 bit floating point numbers.
    Double,
    /// Strings.
    String,
    /// Bytes.
    Bytes,
    /// Timestamps.
    Timestamp,
    /// Durations.
    Duration,
    /// Types as values, such as the result of `type(1)`.
    Type,
    /// Lists of items of a type.
    List(Arc<Type>),
    /// Maps from keys to values.
    Map(Arc<Type>, Arc<Type>),
    /// A value of a type, or empty.
    Optional(Arc<Type>),
    /// Objects with declared fields.
    Object(Decl),
    /// A type of a function library, by its name, such as `kubernetes.Quantity`.
    Named(Text),
    /// A type parameter of a signature, such as `T`.
    Param(Text),
    /// A type parameter of one call, inferred by the type checker.
    Var(u32),
}

impl Type {
    /// Returns the type of lists with items of a type.
    pub fn list(item: Type) -> Type {
        Type::List(Arc::new(item))
    }

    /// Returns the type of maps between two types.
    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new(key), Arc::new(value))
    }

    /// Returns the type of optional values of a type.
    pub fn optional(ty: Type) -> Type {
        Type::Optional(Arc::new(ty))
    }

    /// Returns a type of a function library.
    pub fn named(name: impl Into<Text>) -> Type {
        Type::Named(name.into())
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Type::Dyn | Type::Error)
    }

    /// Whether all values of the type have the same size.
    pub(crate) fn is_scalar(&self) -> bool {
        match self {
            Type::Bool | Type::Int | Type::UInt | Type::Double | Type::Timestamp | Type::Duration => true,
            Type::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => a == b,
            (Type::Map(k, v), Type::Map(l, w)) => k == l && v == w,
            (Type::Object(a), Type::Object(b)) => a.ptr_eq(b),
            (Type::Named(a), Type::Named(b)) | (Type::Param(a), Type::Param(b)) => a == b,
            (Type::Var(a), Type::Var(b)) => a == b,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other) && self.is_plain(),
        }
    }
}

impl Type {
    /// Whether the type is fully determined by its variant.
    fn is_plain(&self) -> bool {
        !matches!(
            self,
            Type::List(_)
                | Type::Map(..)
                | Type::Optional(_)
                | Type::Object(_)
                | Type::Named(_)
                | Type::Param(_)
                | Type::Var(_)
        )
    }
}

/// Prints the type as it appears in messages.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dyn => f.write_str("dyn"),
            Type::Error => f.write_str("!error!"),
            Type::Null => f.write_str("null"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::UInt => f.write_str("uint"),
            Type::Double => f.write_str("double"),
            Type::String => f.write_str("string"),
            Type::Bytes => f.write_str("bytes"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Duration => f.write_str("duration"),
            Type::Type => f.write_str("type"),
            Type::List(item) => write!(f, "list({item})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Optional(inner) => write!(f, "optional_type({inner})"),
            Type::Object(decl) => f.write_str(decl.object_name().unwrap_or("object")),
            Type::Named(name) | Type::Param(name) => f.write_str(name),
            Type::Var(number) => write!(f, "_var{number}"),
        }
    }
}
