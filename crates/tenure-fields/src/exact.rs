//! Numbers whose text is their exact value.

use tenure_value::{Object, Value};

/// Returns a value with its large integral floats as integers, if it has any. The shortest digits of such a
/// float are not its exact value, so a parser that keeps 64-bit integers exact would find a different
/// element.
pub(crate) fn exact(value: &Value) -> Option<Value> {
    has_large_float(value).then(|| with_integers(value))
}

fn has_large_float(value: &Value) -> bool {
    match value {
        Value::Float(float) => large_integer(float.get()).is_some(),
        Value::Array(items) => items.iter().any(has_large_float),
        Value::Object(fields) => fields.iter().any(|(_, value)| has_large_float(value)),
        _ => false,
    }
}

fn with_integers(value: &Value) -> Value {
    match value {
        Value::Float(float) => large_integer(float.get()).unwrap_or_else(|| value.clone()),
        Value::Array(items) => Value::array(items.iter().map(with_integers)),
        Value::Object(fields) => Value::Object(Object::from_sorted(
            fields.iter().map(|(name, value)| (name.clone(), with_integers(value))),
        )),
        other => other.clone(),
    }
}

/// Returns a float as an integer if it is beyond the range where all integers are floats and fits 64 bits.
fn large_integer(float: f64) -> Option<Value> {
    const SPARSE: f64 = (1u64 << 53) as f64;
    if float.fract() != 0.0 || float.abs() < SPARSE {
        return None;
    }
    let whole = float as i128;
    i64::try_from(whole).map(Value::Int).or(u64::try_from(whole).map(Value::unsigned)).ok()
}
