//! The status of flow schemas: the condition `Dangling` says whether the priority level that a schema names is missing.

use std::collections::HashSet;
use tenure_value::Value;

/// The type of the condition.
const DANGLING: &str = "Dangling";

/// Returns the names of the schemas whose condition has to be written, each with the condition, without its time.
pub fn dangling_conditions(schemas: &[Value], levels: &[Value]) -> Vec<(String, Value)> {
    let names: HashSet<&str> = levels.iter().map(|level| text(level, &["metadata", "name"])).collect();
    schemas
        .iter()
        .filter_map(|schema| {
            let level = text(schema, &["spec", "priorityLevelConfiguration", "name"]);
            let wanted = condition(level, names.contains(level));
            (!has(schema, &wanted)).then(|| (text(schema, &["metadata", "name"]).to_string(), wanted))
        })
        .collect()
}

fn text<'o>(value: &'o Value, path: &[&str]) -> &'o str {
    value.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the condition of a schema that names a level, with the words of Kubernetes.
fn condition(level: &str, exists: bool) -> Value {
    let (status, reason, rest) = match exists {
        true => ("False", "Found", "and it exists"),
        false => ("True", "NotFound", "but there is no such object"),
    };
    let message =
        format!("This FlowSchema references the PriorityLevelConfiguration object named {level:?} {rest}");
    Value::object([
        ("message", Value::from(message)),
        ("reason", Value::from(reason)),
        ("status", Value::from(status)),
        ("type", Value::from(DANGLING)),
    ])
}

/// Whether a schema has a condition; the time is not compared.
fn has(schema: &Value, wanted: &Value) -> bool {
    let conditions = schema.at(["status", "conditions"]).and_then(Value::as_array);
    let found = conditions
        .and_then(|conditions| conditions.iter().find(|condition| text(condition, &["type"]) == DANGLING));
    found.is_some_and(|found| {
        ["message", "reason", "status"].iter().all(|name| text(found, &[name]) == text(wanted, &[name]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_conditions_that_are_not_true_are_written() {
        let parse = |text: &str| -> Value { text.parse().unwrap() };
        let schema = |name: &str, level: &str, status: &Value| {
            let metadata = Value::object([("name", Value::from(name))]);
            let level = Value::object([("name", Value::from(level))]);
            let spec = Value::object([("priorityLevelConfiguration", level)]);
            let conditions = Value::object([("conditions", Value::array([status.clone()]))]);
            Value::object([("metadata", metadata), ("spec", spec), ("status", conditions)])
        };
        let levels = [parse(r#"{"metadata":{"name":"there"}}"#)];
        let (found, missing) = (condition("there", true), condition("gone", false));
        assert_eq!(
            missing.to_string(),
            r#"{"message":"This FlowSchema references the PriorityLevelConfiguration object named \"gone\" but there is no such object","reason":"NotFound","status":"True","type":"Dangling"}"#
        );
        let timed =
            Value::Object(found.as_object().unwrap().with("lastTransitionTime", "2026-01-01T00:00:00Z"));
        let schemas = [
            schema("a", "there", &Value::Null),
            schema("b", "there", &timed),
            schema("c", "there", &missing),
            schema("d", "gone", &found),
            schema("e", "gone", &missing),
        ];
        assert_eq!(
            dangling_conditions(&schemas, &levels),
            [("a".to_string(), found.clone()), ("c".to_string(), found), ("d".to_string(), missing)]
        );
    }
}
