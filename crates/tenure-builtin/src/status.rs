//! What the status endpoint keeps or sets besides what a request writes: the times of phases, and what pods never lose.

use std::collections::{HashMap, VecDeque};
use tenure_meta::{Timestamp, codec::is_absent, time::Precision, update::at};
use tenure_value::{Object, Value};

/// Returns a volume with the time of the last change of its phase, unless the request sets another.
pub(crate) fn volume(old: &Object, new: Object, now: Timestamp) -> Object {
    let find =
        |metadata: &Object, name| at(metadata, &["status", name]).filter(|value| !value.is_null()).cloned();
    let (was, is) = (find(old, "lastPhaseTransitionTime"), find(&new, "lastPhaseTransitionTime"));
    let time = match find(old, "phase") == find(&new, "phase") {
        true if is.is_none() => was,
        false if is.is_none() || is == was => Some(now.format(Precision::Seconds).into()),
        _ => None,
    };
    with_status(new, |status| time.map(|time| status.with("lastPhaseTransitionTime", time)))
}

/// Returns a pod with its QoS class, and the observed generations that a request leaves out.
pub(crate) fn pod(old: &Object, new: Object) -> Object {
    with_status(new, |status| {
        let mut result = status.clone();
        for name in ["qosClass", "observedGeneration"] {
            if let (true, Some(was)) = (is_absent(status.get(name), false), at(old, &["status", name])) {
                result = result.with(name, was.clone());
            }
        }
        let conditions = status.get("conditions").and_then(Value::as_array).map(|list| list.items());
        Some(match with_generations(at(old, &["status", "conditions"]), conditions.unwrap_or_default()) {
            Some(conditions) => result.with("conditions", conditions),
            None => result,
        })
    })
}

/// Returns conditions with the observed generations of the old ones of the same type; `None` if all have one.
fn with_generations(old: Option<&Value>, new: &[Value]) -> Option<Value> {
    fn generation(value: &Value) -> Option<&Value> {
        value
            .get("observedGeneration")
            .filter(|observed| observed.as_i64().is_some_and(|observed| observed != 0))
    }
    // Several conditions may have one type.
    let mut former: HashMap<Option<&Value>, VecDeque<Option<&Value>>> = HashMap::new();
    for condition in old.and_then(Value::as_array).map(|list| list.items()).unwrap_or_default() {
        former.entry(condition.get("type")).or_default().push_back(generation(condition));
    }
    let mut changes = false;
    let conditions: Vec<Value> = new
        .iter()
        .map(|condition| {
            let was = former.get_mut(&condition.get("type")).and_then(VecDeque::pop_front).flatten();
            match (was, generation(condition), condition.as_object()) {
                (Some(was), None, Some(fields)) => {
                    changes = true;
                    fields.with("observedGeneration", was.clone()).into()
                }
                _ => condition.clone(),
            }
        })
        .collect();
    changes.then(|| Value::array(conditions))
}

fn with_status(object: Object, change: impl FnOnce(&Object) -> Option<Object>) -> Object {
    let changed = object.get("status").and_then(Value::as_object).and_then(change);
    match changed {
        Some(status) => object.with("status", status),
        None => object,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(status: &str) -> Object {
        let object: Value = format!(r#"{{"status":{status}}}"#).parse().unwrap();
        object.as_object().cloned().unwrap()
    }

    #[test]
    fn pods_keep_their_class_and_what_was_observed() {
        let old = object(
            r#"{"qosClass":"Burstable","observedGeneration":2,"conditions":[{"type":"A","observedGeneration":1},{"type":"A","observedGeneration":2}]}"#,
        );
        let new = object(r#"{"conditions":[{"type":"A"},{"type":"A","observedGeneration":5},{"type":"B"}]}"#);
        let expected = object(
            r#"{"qosClass":"Burstable","observedGeneration":2,"conditions":[{"type":"A","observedGeneration":1},{"type":"A","observedGeneration":5},{"type":"B"}]}"#,
        );
        assert_eq!(pod(&old, new), expected);
        assert_eq!(at(&pod(&old, object("{}")), &["status", "qosClass"]), Some(&"Burstable".into()));
        let given = object(r#"{"qosClass":"Guaranteed","observedGeneration":3}"#);
        assert_eq!(pod(&old, given.clone()), given);
    }

    #[test]
    fn volumes_have_the_time_of_their_phase() {
        let now = Timestamp { seconds: 60, nanos: 0 };
        let old = object(r#"{"phase":"Pending","lastPhaseTransitionTime":"1970-01-01T00:00:30Z"}"#);
        let table = [
            (r#"{"phase":"Pending"}"#, "1970-01-01T00:00:30Z"),
            (r#"{"phase":"Bound"}"#, "1970-01-01T00:01:00Z"),
            (r#"{"phase":"Bound","lastPhaseTransitionTime":"1970-01-01T00:00:30Z"}"#, "1970-01-01T00:01:00Z"),
            (r#"{"phase":"Bound","lastPhaseTransitionTime":"1970-01-01T00:00:45Z"}"#, "1970-01-01T00:00:45Z"),
        ];
        for (new, time) in table {
            let result = volume(&old, object(new), now);
            assert_eq!(at(&result, &["status", "lastPhaseTransitionTime"]), Some(&time.into()), "{new}");
        }
    }
}
