//! The type of documents. Equality is exact: `80` and `80.0` differ, as they do as merge keys; [`Value::same`] compares
//! numbers by value.

mod array;
mod object;
mod order;

pub use array::Array;
pub use object::{Object, ObjectBuilder};

use crate::{
    Text,
    number::{Float, LargeUint},
};
use std::fmt;

/// A document or a part of one.
#[derive(Clone, Default)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer that fits 64 signed bits.
    Int(i64),
    /// An integer above `i64::MAX` that fits 64 unsigned bits; smaller ones are [`Value::Int`].
    UInt(LargeUint),
    /// A number written with a fraction or an exponent, or too large for an integer.
    Float(Float),
    /// A string.
    String(Text),
    /// A list.
    Array(Array),
    /// A map of fields.
    Object(Object),
}

/// The kind of a [`Value`], formatted as in error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// An integer.
    Integer,
    /// A number with a fraction or exponent.
    Float,
    /// A string.
    String,
    /// A list.
    Array,
    /// A map.
    Object,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Null => "null",
            Kind::Bool => "boolean",
            Kind::Integer => "integer",
            Kind::Float => "number",
            Kind::String => "string",
            Kind::Array => "list",
            Kind::Object => "object",
        })
    }
}

impl Value {
    /// Builds an object from fields in any order. If a name occurs twice, the last one wins.
    pub fn object<N: Into<Text>>(fields: impl IntoIterator<Item = (N, Value)>) -> Value {
        Value::Object(Object::from_unsorted(
            fields.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        ))
    }

    /// Builds an array.
    pub fn array(items: impl IntoIterator<Item = Value>) -> Value {
        Value::Array(items.into_iter().collect())
    }

    /// Returns the value of a float; `None` for NaN and infinity, which documents cannot contain.
    pub fn float(number: f64) -> Option<Value> {
        Float::new(number).map(Value::Float)
    }

    /// Returns this value with floats in the place of integers above the signed range, as which Kubernetes reads them; `None` if it
    /// has none.
    pub fn with_float_integers(&self) -> Option<Value> {
        match self {
            Value::UInt(number) => Value::float(number.get() as f64),
            Value::Array(items) => items.replaced(Value::with_float_integers).map(Value::Array),
            Value::Object(fields) => {
                fields.replaced(|_, value| value.with_float_integers()).map(Value::Object)
            }
            _ => None,
        }
    }

    /// Returns the value of an unsigned integer: a [`Value::Int`] if it fits, otherwise a [`Value::UInt`].
    pub fn unsigned(number: u64) -> Value {
        LargeUint::new(number).map_or(Value::Int(number as i64), Value::UInt)
    }

    /// Returns the kind of this value.
    pub fn kind(&self) -> Kind {
        match self {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Bool,
            Value::Int(_) | Value::UInt(_) => Kind::Integer,
            Value::Float(_) => Kind::Float,
            Value::String(_) => Kind::String,
            Value::Array(_) => Kind::Array,
            Value::Object(_) => Kind::Object,
        }
    }

    /// Returns the field of that name, if this is an object that has it.
    #[inline]
    pub fn get<N: AsRef<str> + ?Sized>(&self, name: &N) -> Option<&Value>
    where
        Text: PartialEq<N>,
    {
        self.as_object()?.get(name)
    }

    /// Returns the value at a path of field names.
    pub fn at<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Option<&Value> {
        names.into_iter().try_fold(self, |value, name| value.get(name))
    }

    /// Returns the string, if this is one.
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the boolean, if this is one.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// Returns the integer, if this is one that fits 64 signed bits.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the number as a float, if this is a number of any kind.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Int(number) => Some(*number as f64),
            Value::UInt(number) => Some(number.get() as f64),
            Value::Float(number) => Some(number.get()),
            _ => None,
        }
    }

    /// Returns the object, if this is one.
    #[inline]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the array, if this is one.
    #[inline]
    pub fn as_array(&self) -> Option<&Array> {
        match self {
            Value::Array(array) => Some(array),
            _ => None,
        }
    }

    /// Whether this is `null`.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether this is neither an object nor an array.
    #[inline]
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Value::Object(_) | Value::Array(_))
    }

    /// Whether both share the same memory, so that they are equal without a comparison. They may be equal otherwise too.
    #[inline]
    pub fn ptr_eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Object(a), Value::Object(b)) => a.ptr_eq(b),
            (Value::Array(a), Value::Array(b)) => a.ptr_eq(b),
            _ => false,
        }
    }

    /// Whether both are equal if numbers are compared by value: `1` and `1.0` are the same.
    pub fn same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Object(a), Value::Object(b)) => {
                a.ptr_eq(b)
                    || a.len() == b.len()
                        && a.iter().zip(b.iter()).all(|((m, v), (n, w))| m == n && v.same(w))
            }
            (Value::Array(a), Value::Array(b)) => {
                a.ptr_eq(b) || a.len() == b.len() && a.iter().zip(b.iter()).all(|(v, w)| v.same(w))
            }
            (Value::Float(_), _) | (_, Value::Float(_)) => {
                matches!((self.as_f64(), other.as_f64()), (Some(a), Some(b)) if a == b)
            }
            _ => self == other,
        }
    }
}

macro_rules! from_signed {
    ($($t:ty)*) => {$(
        impl From<$t> for Value {
            fn from(number: $t) -> Value {
                Value::Int(i64::from(number))
            }
        }
    )*};
}
from_signed!(i8 i16 i32 i64 u8 u16 u32);

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::unsigned(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Bool(flag)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(Text::new(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(Text::from(text))
    }
}

impl From<Text> for Value {
    fn from(text: Text) -> Value {
        Value::String(text)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Value {
        Value::Object(object)
    }
}

impl From<Array> for Value {
    fn from(array: Array) -> Value {
        Value::Array(array)
    }
}

/// Formats the value like JSON, for messages in tests and errors.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(flag) => write!(f, "{flag}"),
            Value::Int(number) => write!(f, "{number}"),
            Value::UInt(number) => write!(f, "{number:?}"),
            Value::Float(number) => write!(f, "{number:?}"),
            Value::String(text) => write!(f, "{text:?}"),
            Value::Array(array) => f.debug_list().entries(array.iter()).finish(),
            Value::Object(object) => f.debug_map().entries(object.iter()).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_three_words() {
        assert_eq!(size_of::<Value>(), 24);
    }

    #[test]
    fn equality_distinguishes_integers_from_floats_and_sameness_does_not() {
        let (whole, float) = (Value::Int(80), Value::float(80.0).unwrap());
        assert_ne!(whole, float);
        assert!(whole.same(&float));
        assert!(Value::array([whole]).same(&Value::array([float])));
        assert!(!Value::from("80").same(&Value::Int(80)));
    }
}
