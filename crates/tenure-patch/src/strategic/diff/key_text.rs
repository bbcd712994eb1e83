//! Scalars as text, by which calculated patches sort and match keys: `80` and `80.0` are the same key, and `10` comes
//! before `9`.

use std::{borrow::Cow, cmp::Ordering};
use tenure_value::Value;

/// Compares two scalars as text.
pub(super) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        _ => text(left).cmp(&text(right)),
    }
}

/// Returns a scalar as text.
pub(super) fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        value => Cow::Owned(value.to_string()),
    }
}

/// Whether keys can be compared as they are: all strings, all integers or all booleans.
pub(super) fn uniform<'v>(mut keys: impl Iterator<Item = &'v Value>) -> bool {
    let Some(first) = keys.next() else { return true };
    match first {
        Value::String(_) => keys.all(|key| matches!(key, Value::String(_))),
        Value::Int(_) => keys.all(|key| matches!(key, Value::Int(_))),
        Value::Bool(_) => keys.all(|key| matches!(key, Value::Bool(_))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_as_text() {
        let mut numbers = [Value::Int(9), Value::Int(10), Value::Int(100), Value::Int(80)];
        numbers.sort_by(compare);
        assert_eq!(numbers, [Value::Int(10), Value::Int(100), Value::Int(80), Value::Int(9)]);
        assert_eq!(compare(&Value::Int(80), &Value::float(80.0).unwrap()), Ordering::Equal);
        assert_eq!(compare(&Value::from("80"), &Value::Int(80)), Ordering::Equal);
    }
}
