//! A fault as a document, such as `{"effect": "conflict", "kind": "ConfigMap", "times": 2}`.

use super::field::{Fields, Problem};
use crate::fault::{Effect, Fault};
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

/// The longest latency.
const LONGEST: Duration = Duration::from_secs(3600);
