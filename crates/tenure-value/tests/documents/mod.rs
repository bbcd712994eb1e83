//! Generates documents, and predicts how they round-trip.

use proptest::prelude::*;
use tenure_value::Value;

/// Generates any value of a document.
pub fn values() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (-1000..1000i64).prop_map(Value::Int),
        any::<u64>().prop_map(Value::unsigned),
        prop::num::f64::NORMAL.prop_map(|number| Value::float(number).unwrap()),
        (-1e22..1e22f64).prop_map(|number| Value::float(number.trunc()).unwrap()),
        (-1e6..1e6f64).prop_map(|number| Value::float(number.trunc()).unwrap()),
        any::<String>().prop_map(Value::from),
        "[a-z]{0,30}".prop_map(Value::from),
    ];
    scalar.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::array),
            prop::collection::vec((any::<String>(), inner), 0..6).prop_map(Value::object),
        ]
    })
}

/// Returns a value after formatting and parsing: an integral float below 10²¹ is formatted as an integer and
/// becomes that integer if one can represent it.
pub fn as_read(value: &Value) -> Value {
    match value {
        Value::Float(number) if number.get().fract() != 0.0 || number.get().abs() >= 1e21 => value.clone(),
        Value::Float(number) => {
            let digits = number.get().to_string();
            let signed = digits.parse().map(Value::Int);
            signed.or_else(|_| digits.parse().map(Value::unsigned)).unwrap_or_else(|_| value.clone())
        }
        Value::Array(items) => Value::array(items.iter().map(as_read)),
        Value::Object(object) => {
            Value::object(object.iter().map(|(name, value)| (name.clone(), as_read(value))))
        }
        other => other.clone(),
    }
}
