//! A value without the parts at some paths, for comparisons that ignore what may change.

use tenure_value::{Object, Text, Value};

/// Returns a value without the parts at some paths; `[]` denotes every item of a list.
pub(super) fn without(value: &Value, paths: &[Text]) -> Value {
    paths.iter().fold(value.clone(), |value, path| {
        let steps: Vec<&str> = path.split('.').collect();
        strip(&value, &steps)
    })
}

fn strip(value: &Value, steps: &[&str]) -> Value {
    let [step, rest @ ..] = steps else { return value.clone() };
    let (name, each) = step.strip_suffix("[]").map_or((*step, false), |name| (name, true));
    let Some(fields) = value.as_object() else { return value.clone() };
    let Some(below) = fields.get(name) else { return value.clone() };
    let changed = match (below, rest) {
        (_, []) => return Value::Object(fields.without(name)),
        (Value::Array(items), rest) if each => Value::array(items.iter().map(|item| strip(item, rest))),
        (below, rest) => strip(below, rest),
    };
    // A struct without fields counts as absent.
    match changed.as_object().is_some_and(Object::is_empty) {
        true => Value::Object(fields.without(name)),
        false => fields.with(name, changed).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutable_parts_are_ignored_in_comparisons() {
        let spec: Value =
            r#"{"a":1,"c":[{"image":"x","n":1},{"image":"y","n":2}],"t":{"s":1}}"#.parse().unwrap();
        let stripped = without(&spec, &["a".into(), "c[].image".into(), "t.s".into()]);
        assert_eq!(stripped, r#"{"c":[{"n":1},{"n":2}]}"#.parse().unwrap());
    }
}
