//! Order, equality and hash of values inside path elements. It differs from the order of documents: numbers
//! come first and are compared by value (`1` and `1.0` are the same element), then strings, booleans, lists,
//! objects and `null`. This is the order in which kube-apiserver sorts the elements of a set.

use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
};
use tenure_value::{Object, Value};

/// The rank of each kind in the order.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// Compares two values as parts of path elements.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.as_str().cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let differ = a.iter().zip(b.iter()).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
            differ.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => compare_objects(a, b),
        (a, b) if rank(a) != rank(b) => rank(a).cmp(&rank(b)),
        (a, b) => compare_numbers(a, b),
    }
}

/// Compares two objects name by name, value by value; a prefix comes first.
pub(crate) fn compare_objects(a: &Object, b: &Object) -> Ordering {
    if a.ptr_eq(b) {
        return Ordering::Equal;
    }
    for ((a_name, a_value), (b_name, b_value)) in a.iter().zip(b.iter()) {
        let order = a_name.as_str().cmp(b_name).then_with(|| compare(a_value, b_value));
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

fn compare_numbers(a: &Value, b: &Value) -> Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        // A float that is not integral differs from every integer by more than rounding can hide.
        _ => match (a, b) {
            (Value::Float(a), Value::Float(b)) => a.get().partial_cmp(&b.get()).unwrap_or(Ordering::Equal),
            (Value::Float(float), other) => compare_float(float.get(), whole(other)),
            (other, Value::Float(float)) => compare_float(float.get(), whole(other)).reverse(),
            _ => Ordering::Equal,
        },
    }
}

/// Compares a float that is not integral, or larger than any integer, with an integer.
fn compare_float(float: f64, integer: Option<i128>) -> Ordering {
    // The cast truncates towards zero, so the sign decides if the rest is equal.
    let by_sign = if float < 0.0 { Ordering::Less } else { Ordering::Greater };
    (float as i128).cmp(&integer.unwrap_or_default()).then(by_sign)
}

/// Returns an integral number as an integer, if it fits.
fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(number.get())),
        Value::Float(number) => {
            let number = number.get();
            (number.fract() == 0.0 && number.abs() < 1e36).then_some(number as i128)
        }
        _ => None,
    }
}

/// Hashes a value so that equal values of path elements have equal hashes.
pub(crate) fn hash<H: Hasher>(value: &Value, state: &mut H) {
    rank(value).hash(state);
    match value {
        Value::Null => {}
        Value::Bool(flag) => flag.hash(state),
        Value::String(text) => text.as_str().hash(state),
        Value::Array(items) => {
            items.len().hash(state);
            items.iter().for_each(|item| hash(item, state));
        }
        Value::Object(object) => hash_object(object, state),
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => match (whole(value), value) {
            (None, Value::Float(number)) => number.hash(state),
            (amount, _) => amount.hash(state),
        },
    }
}

/// Hashes an object in agreement with [`compare_objects`].
pub(crate) fn hash_object<H: Hasher>(object: &Object, state: &mut H) {
    object.len().hash(state);
    for (name, value) in object {
        name.as_str().hash(state);
        hash(value, state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::DefaultHasher;

    fn float(number: f64) -> Value {
        Value::float(number).unwrap()
    }

    fn hashed(value: &Value) -> u64 {
        let mut state = DefaultHasher::new();
        hash(value, &mut state);
        state.finish()
    }

    #[test]
    fn numbers_come_first_then_strings_booleans_lists_objects_and_null() {
        let ascending = [
            float(-1e300),
            Value::Int(i64::MIN),
            float(-2.5),
            Value::Int(-2),
            float(-0.5),
            Value::Int(0),
            float(0.5),
            Value::Int(1),
            float(1.5),
            Value::Int(2),
            Value::Int(10),
            Value::Int(i64::MAX),
            Value::unsigned(u64::MAX),
            float(1e300),
            Value::from(""),
            Value::from("10"),
            Value::from("2"),
            Value::from("a"),
            Value::Bool(false),
            Value::Bool(true),
            Value::array([]),
            Value::array([Value::Int(1)]),
            Value::array([Value::Int(1), Value::Int(0)]),
            Value::array([Value::Int(2)]),
            Value::object([("", Value::Null); 0]),
            Value::object([("a", Value::Int(1))]),
            Value::object([("a", Value::Int(1)), ("b", Value::Int(1))]),
            Value::object([("a", Value::Int(2))]),
            Value::object([("b", Value::Int(0))]),
            Value::Null,
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a:?} and {b:?}");
            }
        }
    }

    #[test]
    fn equal_numbers_are_the_same_element_in_any_notation() {
        for (a, b) in [
            (Value::Int(80), float(80.0)),
            (Value::Int(0), float(-0.0)),
            (Value::unsigned(1 << 63), float(9_223_372_036_854_775_808.0)),
            (Value::array([Value::Int(1)]), Value::array([float(1.0)])),
        ] {
            assert_eq!(compare(&a, &b), Ordering::Equal, "{a:?} and {b:?}");
            assert_eq!(hashed(&a), hashed(&b), "{a:?} and {b:?}");
        }
        let beyond_float = Value::Int((1 << 53) + 1);
        assert_eq!(compare(&beyond_float, &float(9_007_199_254_740_992.0)), Ordering::Greater);
    }
}
