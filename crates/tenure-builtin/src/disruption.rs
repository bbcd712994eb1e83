//! The condition of a pod that is evicted, which gives its controllers the reason.

use tenure_meta::{Timestamp, time::Precision};
use tenure_value::{Object, Value};

const DISRUPTION_TARGET: &str = "DisruptionTarget";

fn fields(value: Option<&Value>) -> Object {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Returns a pod with the condition that it is the target of a disruption. An existing condition keeps its time.
pub fn disrupted(pod: &Value, now: Timestamp) -> Value {
    let status = fields(pod.get("status"));
    let conditions = status.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let is = |condition: &&Value| condition.get("type").and_then(Value::as_str) == Some(DISRUPTION_TARGET);
    let says_so = |condition: &&Value| condition.get("status").and_then(Value::as_str) == Some("True");
    let since = conditions
        .iter()
        .find(is)
        .filter(says_so)
        .and_then(|condition| condition.get("lastTransitionTime"))
        .cloned();
    let condition = Value::object([
        ("type", Value::from(DISRUPTION_TARGET)),
        ("status", Value::from("True")),
        ("reason", Value::from("EvictionByEvictionAPI")),
        ("message", Value::from("Eviction API: evicting")),
        ("lastProbeTime", Value::Null),
        ("lastTransitionTime", since.unwrap_or_else(|| now.format(Precision::Seconds).into())),
    ]);
    let others = conditions.iter().filter(|condition| !is(condition)).cloned();
    let conditions = Value::array(others.chain([condition]));
    fields(Some(pod)).with("status", status.with("conditions", conditions)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_marked_as_the_target_of_a_disruption_once() {
        let pod: Value = r#"{"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#.parse().unwrap();
        let marked = disrupted(&pod, Timestamp { seconds: 1, nanos: 0 });
        let conditions = marked.at(["status", "conditions"]).and_then(Value::as_array).unwrap();
        assert_eq!(conditions.len(), 2);
        assert_eq!(conditions[1].get("reason"), Some(&"EvictionByEvictionAPI".into()));
        assert_eq!(disrupted(&marked, Timestamp { seconds: 2, nanos: 0 }), marked);
    }
}
