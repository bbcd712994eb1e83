//! A total order and an exact equality of values: first by kind, then by content. Floats use `total_cmp`, so equality,
//! order and hash agree.

use super::{Array, Object, Value};
use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
};

/// The rank of each variant in the order.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Int(_) => 2,
        Value::UInt(_) => 3,
        Value::Float(_) => 4,
        Value::String(_) => 5,
        Value::Array(_) => 6,
        Value::Object(_) => 7,
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => a.cmp(b),
            (Value::String(a), Value::String(b)) => a.cmp(b),
            (Value::Array(a), Value::Array(b)) => a.cmp(b),
            (Value::Object(a), Value::Object(b)) => a.cmp(b),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::UInt(a), Value::UInt(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::String(a), Value::String(b)) => a == b,
            (Value::Array(a), Value::Array(b)) => a == b,
            (Value::Object(a), Value::Object(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        rank(self).hash(state);
        match self {
            Value::Null => {}
            Value::Bool(flag) => flag.hash(state),
            Value::Int(number) => number.hash(state),
            Value::UInt(number) => number.hash(state),
            Value::Float(number) => number.hash(state),
            Value::String(text) => text.hash(state),
            Value::Array(array) => array.hash(state),
            Value::Object(object) => object.hash(state),
        }
    }
}

macro_rules! by_content {
    ($type:ty, $content:ident) => {
        impl PartialEq for $type {
            fn eq(&self, other: &$type) -> bool {
                self.ptr_eq(other) || self.$content() == other.$content()
            }
        }

        impl Eq for $type {}

        impl Ord for $type {
            fn cmp(&self, other: &$type) -> Ordering {
                if self.ptr_eq(other) { Ordering::Equal } else { self.$content().cmp(other.$content()) }
            }
        }

        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &$type) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Hash for $type {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.$content().hash(state);
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                Value::from(self.clone()).fmt(f)
            }
        }
    };
}

by_content!(Array, items);
by_content!(Object, fields);
