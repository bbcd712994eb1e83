//! Holders as people and programs read them: one form for all commands.

use crate::terminal::age;
use tenure_apply::{Owner, Timestamp};
use tenure_value::{Object, Value};

/// Returns how a holder writes, with the endpoint where it is not the object's own.
pub fn operation(holder: &Owner) -> String {
    match holder.subresource.as_str() {
        "" => holder.operation.to_string(),
        subresource => format!("{}/{subresource}", holder.operation),
    }
}

/// Returns a holder in a few words, such as `alice (Apply, 5m)`.
pub fn describe(holder: &Owner, now: Timestamp) -> String {
    match holder.time {
        Some(_) => format!("{} ({}, {})", holder.name, operation(holder), age(holder.time, now)),
        None => format!("{} ({})", holder.name, operation(holder)),
    }
}

/// Returns holders in a few words each, as a list in a sentence.
pub fn describe_all(holders: &[Owner], now: Timestamp) -> String {
    let words: Vec<String> = holders.iter().map(|holder| describe(holder, now)).collect();
    match words.as_slice() {
        [] => "nobody".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns a holder as a document for programs.
pub fn to_value(holder: &Owner) -> Value {
    let mut shown = Object::default()
        .with("manager", holder.name.clone())
        .with("operation", holder.operation.as_str())
        .with("apiVersion", holder.api_version.clone());
    if !holder.subresource.is_empty() {
        shown = shown.with("subresource", holder.subresource.clone());
    }
    if let Some(time) = holder.time {
        shown = shown.with("time", time.to_string());
    }
    Value::Object(shown)
}

/// Returns holders as a document for programs.
pub fn list(holders: &[Owner]) -> Value {
    Value::array(holders.iter().map(to_value))
}
