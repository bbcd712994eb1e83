//! Formatting shared by several cells: truncated lists, labels, selectors, access modes.

use tenure_meta::{
    Timestamp,
    time::{self, Precision},
};
use tenure_value::{Object, Value};

/// Formats a scalar.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => other.to_string(),
    }
}

/// Joins strings, up to a maximum, and adds how many more there are.
pub(super) fn list(texts: impl Iterator<Item = String>, separator: &str, most: usize, none: &str) -> String {
    let all: Vec<String> = texts.collect();
    match all.len() {
        0 => none.into(),
        count if count > most => format!("{} + {} more...", all[..most].join(separator), count - most),
        _ => all.join(separator),
    }
}

/// Formats a map of labels.
pub(super) fn labels(labels: Option<&Value>) -> String {
    let fields = labels.and_then(Value::as_object).map(Object::fields).unwrap_or_default();
    list(fields.iter().map(|(name, value)| format!("{name}={}", plain(value))), ",", usize::MAX, "<none>")
}

/// Formats a label selector, sorted by key.
pub(super) fn selector(selector: Option<&Value>) -> String {
    let part = |name: &str| selector.and_then(|selector| selector.get(name));
    let exact = part("matchLabels").and_then(Value::as_object).map(Object::fields).unwrap_or_default();
    let expressions =
        part("matchExpressions").and_then(Value::as_array).map(|list| list.items()).unwrap_or_default();
    let mut terms: Vec<(String, String)> =
        exact.iter().map(|(name, value)| (name.to_string(), format!("{name}={}", plain(value)))).collect();
    for expression in expressions {
        let text = |name: &str| expression.get(name).and_then(Value::as_str).unwrap_or_default();
        let values =
            expression.get("values").and_then(Value::as_array).map(|list| list.items()).unwrap_or_default();
        let mut values: Vec<String> = values.iter().map(plain).collect();
        values.sort();
        let (key, values) = (text("key"), values.join(","));
        let term = match text("operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_string(),
        };
        terms.push((key.to_string(), term));
    }
    terms.sort_by(|a, b| a.0.cmp(&b.0));
    list(terms.into_iter().map(|(_, term)| term), ",", usize::MAX, "<none>")
}

/// Access modes and their abbreviations.
const ACCESS_MODES: [(&str, &str); 4] = [
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
];

/// Formats access modes.
pub(super) fn access_modes(modes: Option<&Value>) -> String {
    let modes = modes.and_then(Value::as_array).map(|modes| modes.items()).unwrap_or_default();
    let has = |mode: &str| modes.iter().any(|listed| listed.as_str() == Some(mode));
    let short: Vec<&str> =
        ACCESS_MODES.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect();
    short.join(",")
}

/// Formats the time since a timestamp; `None` if there is none.
pub(super) fn age(value: Option<&Value>, now: Timestamp) -> Option<String> {
    let text = value?.as_str()?;
    let then = Timestamp::parse(text, Precision::Seconds)?;
    Some(time::age(now.seconds_since(then)))
}
