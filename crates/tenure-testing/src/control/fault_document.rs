//! A fault as a document, such as `{"effect": "conflict", "kind": "ConfigMap", "times": 2}`.

use super::field::{Fields, Problem};
use crate::fault::{Effect, Fault};
use serde_json::{Map, Value as Json, json};
use std::time::Duration;

/// The effects by their names.
const EFFECTS: [&str; 10] = [
    "latency",
    "conflict",
    "tooManyRequests",
    "internalError",
    "cutResponse",
    "cutWatch",
    "bookmarksOnly",
    "tooOld",
    "webhookTimeout",
    "staleRead",
];

/// The verbs of requests.
const VERBS: [&str; 9] =
    ["get", "list", "watch", "create", "update", "patch", "apply", "delete", "deletecollection"];

/// Reads a fault.
pub(super) fn read(fields: &mut Fields) -> Result<Fault, Problem> {
    let expected = || format!("use one of {}", EFFECTS.join(", "));
    let name = fields
        .text("effect")?
        .ok_or_else(|| Problem::bad(format!("\"effect\" is missing; {}", expected())))?;
    let effect = match name.as_str() {
        "latency" => {
            let time = fields.duration("time")?.ok_or_else(|| Problem::missing("time", "\"250ms\""))?;
            Effect::Latency(time.min(LONGEST))
        }
        "conflict" => Effect::Conflict,
        "tooManyRequests" => {
            let seconds = fields.number("retryAfter")?.unwrap_or(1);
            Effect::TooManyRequests { retry_after: u32::try_from(seconds).unwrap_or(u32::MAX) }
        }
        "internalError" => Effect::InternalError,
        "cutResponse" => Effect::CutResponse,
        "cutWatch" => {
            let events = fields.number("afterEvents")?.unwrap_or(0);
            Effect::CutWatch { after_events: usize::try_from(events).unwrap_or(usize::MAX) }
        }
        "bookmarksOnly" => Effect::BookmarksOnly,
        "tooOld" => Effect::TooOld,
        "webhookTimeout" => Effect::WebhookTimeout,
        "staleRead" => Effect::StaleRead { revision: fields.number("revision")? },
        _ => return Err(Problem::bad(format!("unknown effect {name:?}; {}", expected()))),
    };
    let mut fault = Fault::from(effect);
    for verb in fields.texts("verb")? {
        if !VERBS.contains(&verb.as_str()) {
            return Err(Problem::bad(format!("unknown verb {verb:?}; use one of {}", VERBS.join(", "))));
        }
        fault = fault.verb(verb);
    }
    if let Some(kind) = fields.text("kind")? {
        fault = fault.kind(kind);
    }
    if let Some(namespace) = fields.text("namespace")? {
        fault = fault.namespace(namespace);
    }
    if let Some(name) = fields.text("name")? {
        fault = fault.name(name);
    }
    if let Some(manager) = fields.text("manager")? {
        fault = fault.manager(manager);
    }
    if let Some(times) = fields.number("times")? {
        fault = fault.times(times);
    }
    Ok(fault)
}

/// Returns the document of a fault.
pub(super) fn write(fault: &Fault) -> Map<String, Json> {
    let (name, detail) = match &fault.effect {
        Effect::Latency(time) => ("latency", Some(("time", json!(format!("{}ms", time.as_millis()))))),
        Effect::Conflict => ("conflict", None),
        Effect::TooManyRequests { retry_after } => {
            ("tooManyRequests", Some(("retryAfter", json!(retry_after))))
        }
        Effect::InternalError => ("internalError", None),
        Effect::CutResponse => ("cutResponse", None),
        Effect::CutWatch { after_events } => ("cutWatch", Some(("afterEvents", json!(after_events)))),
        Effect::BookmarksOnly => ("bookmarksOnly", None),
        Effect::TooOld => ("tooOld", None),
        Effect::WebhookTimeout => ("webhookTimeout", None),
        Effect::StaleRead { revision } => ("staleRead", revision.map(|number| ("revision", json!(number)))),
    };
    let verbs = (!fault.verbs.is_empty()).then(|| ("verb", json!(fault.verbs)));
    let texts = [
        ("kind", &fault.kind),
        ("namespace", &fault.namespace),
        ("name", &fault.name),
        ("manager", &fault.manager),
    ];
    let texts = texts.into_iter().filter_map(|(name, text)| Some((name, json!(text.as_ref()?))));
    let fields = [Some(("effect", json!(name))), detail, verbs].into_iter().flatten().chain(texts);
    let fields = fields.chain(fault.times.map(|times| ("times", json!(times))));
    fields.map(|(name, value)| (name.to_string(), value)).collect()
}

/// The longest latency.
const LONGEST: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_http::Query;

    #[test]
    fn a_fault_is_shown_as_it_was_given() {
        let cases = [
            json!({"effect": "latency", "time": "250ms", "verb": ["get", "list"]}),
            json!({"effect": "conflict", "kind": "ConfigMap", "namespace": "default", "name": "a", "manager": "m", "times": 2}),
            json!({"effect": "tooManyRequests", "retryAfter": 7}),
            json!({"effect": "internalError", "verb": ["apply"]}),
            json!({"effect": "cutResponse"}),
            json!({"effect": "cutWatch", "afterEvents": 3}),
            json!({"effect": "bookmarksOnly"}),
            json!({"effect": "tooOld"}),
            json!({"effect": "webhookTimeout"}),
            json!({"effect": "staleRead", "revision": 42}),
        ];
        assert_eq!(cases.len(), EFFECTS.len());
        for case in cases {
            let query = Query::default();
            let Ok(mut fields) = Fields::read(case.to_string().as_bytes(), &query) else { panic!("{case}") };
            let Ok(fault) = read(&mut fields) else { panic!("{case}") };
            assert_eq!(Json::Object(write(&fault)), case);
        }
    }
}
