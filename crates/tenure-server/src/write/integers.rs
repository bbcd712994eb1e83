//! Integers that do not fit the type of their field. Kubernetes refuses them in a text, but cuts off their upper bits when it converts
//! a document that is none: the result of a strategic merge patch or of an apply.

use tenure_catalog::ResourceHandler;
use tenure_profile::{Improvement, Profile};
use tenure_schema::{ScalarKind, Type, TypeRef};
use tenure_value::Value;

/// Returns a document that is no text as Kubernetes converts it to the type of a built-in kind; `None` if all integers fit, and where
/// they are refused instead.
pub(super) fn fitted(
    document: &Value,
    ty: TypeRef<'_>,
    handler: &ResourceHandler,
    profile: Profile,
) -> Option<Value> {
    let is_converted = !handler.is_custom() && !profile.has(Improvement::ClientErrors);
    is_converted.then(|| with_fitting_integers(document, ty)).flatten()
}

/// Returns a document whose integers have as many bits as the types of their fields; `None` if all fit.
fn with_fitting_integers(value: &Value, ty: TypeRef<'_>) -> Option<Value> {
    match (ty.get(), value) {
        (Type::Struct(_), Value::Object(fields)) => fields
            .replaced(|name, value| with_fitting_integers(value, ty.slot(&ty.field(name)?.slot)))
            .map(Value::Object),
        (Type::Map(map), Value::Object(fields)) => {
            fields.replaced(|_, value| with_fitting_integers(value, ty.slot(&map.value))).map(Value::Object)
        }
        (Type::List(list), Value::Array(items)) => {
            items.replaced(|item| with_fitting_integers(item, ty.slot(&list.item))).map(Value::Array)
        }
        (Type::Scalar(scalar), value) if scalar.kind == ScalarKind::Integer => {
            let number = whole(value)?;
            let fitting = Value::Int(if scalar.format == "int64" { number } else { (number as i32).into() });
            (fitting != *value).then_some(fitting)
        }
        _ => None,
    }
}

/// Returns a number without a fraction as 64 bits. What they do not hold is their least number, as processors convert it.
fn whole(value: &Value) -> Option<i64> {
    const END: f64 = i64::MAX as f64;
    match value {
        Value::Int(number) => Some(*number),
        Value::UInt(_) => Some(i64::MIN),
        Value::Float(number) if number.get().fract() == 0.0 => match number.get() {
            held if (-END..END).contains(&held) => Some(held as i64),
            _ => Some(i64::MIN),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_schema::Schema;

    #[test]
    fn integers_lose_what_their_field_cannot_hold() {
        let service = Schema::builtin().kind("v1", "Service").expect("a built-in kind");
        for (port, expected) in [
            ("80", None),
            ("99999999999", Some(1_215_752_191)),
            ("2147483648", Some(-2_147_483_648)),
            ("9223372036854775807", Some(-1)),
            ("9223372036854775808", Some(0)),
            ("-4294967297", Some(-1)),
            ("4294967298.0", Some(2)),
            ("2.0", Some(2)),
            ("-1e300", Some(0)),
            ("1.5", None),
            ("\"x\"", None),
        ] {
            let document: Value = format!(r#"{{"a":1,"spec":{{"ports":[{{"name":"n","port":{port}}}]}}}}"#)
                .parse()
                .expect("JSON");
            let fitting = with_fitting_integers(&document, service);
            let expected = expected.map(|port| {
                format!(r#"{{"a":1,"spec":{{"ports":[{{"name":"n","port":{port}}}]}}}}"#)
                    .parse()
                    .expect("JSON")
            });
            assert_eq!(fitting, expected, "{port}");
        }
    }
}
