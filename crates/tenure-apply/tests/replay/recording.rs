//! Which parts of a recorded response are reliable, and which may be used. Defaults are used only at
//! positions that were empty before the step or that the applier has just given up; any other discrepancy is
//! a difference.

use crate::recordings::TIMES;
use tenure_apply::{Manager, Managers};
use tenure_fields::{FieldSet, Node, PathElement};
use tenure_value::{Object, Value};

const SYSTEM: [&str; 7] =
    ["creationTimestamp", "generation", "managedFields", "namespace", "resourceVersion", "selfLink", "uid"];
/// Fields that the recorded server changes after ownership is decided.
const BOOKKEEPING: [&str; 1] = ["deprecated.daemonset.template.generation"];

/// Returns an object without server-managed metadata.
pub fn bare(object: &Value) -> Value {
    let (Some(fields), Some(metadata)) =
        (object.as_object(), object.get("metadata").and_then(Value::as_object))
    else {
        return object.clone();
    };
    let metadata = SYSTEM.iter().fold(metadata.clone(), |metadata, name| metadata.without(name));
    Value::Object(fields.with("metadata", metadata))
}

/// Returns the managers as recordings show them: without the order that depends on the clock, and with times
/// reduced to their presence.
pub fn shown(managers: &Managers) -> Vec<String> {
    let mut shown: Vec<String> = managers.iter().map(line).collect();
    shown.sort();
    shown
}

fn line(manager: &Manager) -> String {
    let fields = tenure_fields::fields_v1::to_value(&manager.fields);
    let time = if manager.time.is_some() { "timed" } else { "untimed" };
    format!(
        "{} {} {} {:?} {time} {}",
        manager.operation,
        manager.name,
        manager.api_version,
        manager.subresource,
        tenure_value::json::to_string(&fields)
    )
}

/// Returns the managers of a recorded response.
pub fn managers(answer: &Value) -> Managers {
    let Some(entries) = answer.at(["metadata", "managedFields"]).and_then(Value::as_array) else {
        return Managers::default();
    };
    // Recordings have TIME for any time.
    let timed = entries.iter().map(|entry| match entry {
        Value::Object(entry) if entry.contains("time") => {
            Value::Object(entry.with("time", Value::from("2000-01-01T00:00:00Z")))
        }
        other => other.clone(),
    });
    Managers::from_value(&Value::array(timed)).expect("recorded managers")
}

pub fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Int(number) => *number == 0,
        Value::Float(number) => number.get() == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.iter().all(|(_, value)| is_zero(value)),
        Value::UInt(_) => false,
    }
}

/// What the applier owned before, at one position.
#[derive(Clone, Copy)]
pub enum Before<'a> {
    Below(&'a FieldSet),
    Covered,
    Unheld,
}

impl<'a> Before<'a> {
    fn step(self, element: &PathElement) -> Before<'a> {
        match self {
            Before::Below(set) => match set.nodes().iter().find(|node| node.element == *element) {
                Some(Node { included: true, .. }) => Before::Covered,
                Some(node) => Before::Below(&node.children),
                None => Before::Unheld,
            },
            other => other,
        }
    }

    fn may_be_refilled(self) -> bool {
        !matches!(self, Before::Unheld)
    }
}

/// Returns the computed object, completed with the defaults of the recorded response, or where the two
/// differ. Times masked by the recording are kept.
pub fn complete(
    made: &Value,
    recorded: &Value,
    live: Option<&Value>,
    config: Option<&Value>,
    before: Before<'_>,
) -> Result<Value, String> {
    if made == recorded {
        return Ok(made.clone());
    }
    match (made, recorded) {
        (Value::String(_), Value::String(masked)) if masked == "UID" => Ok(made.clone()),
        // Not touched by the apply and changed anyway: internal to the recorded server.
        (made, recorded) if made.is_scalar() && live == Some(made) && config.is_none() => {
            Ok(recorded.clone())
        }
        // On creation the recorded server may append to a list.
        (Value::Array(made), Value::Array(recorded)) if live.is_none() && recorded.starts_with(made) => {
            Ok(Value::Array(recorded.clone()))
        }
        (Value::Object(made), Value::Object(recorded)) => fields(made, recorded, live, config, before),
        (Value::Array(made), Value::Array(recorded)) if made.len() == recorded.len() => {
            let live = live.and_then(Value::as_array);
            let config = config.and_then(Value::as_array);
            let items = made.iter().zip(recorded.iter()).enumerate().map(|(at, (made, recorded))| {
                let live = live.and_then(|live| counterpart(made, live, at));
                let before = match before {
                    Before::Below(set) => owned_item(set, made),
                    other => other,
                };
                let config = config.and_then(|config| counterpart(made, config, at));
                complete(made, recorded, live, config, before).map_err(|error| format!("[{at}]{error}"))
            });
            items.collect::<Result<Vec<_>, _>>().map(Value::array)
        }
        (made, recorded) if is_zero(made) && !recorded.is_null() => Ok(recorded.clone()),
        (made, recorded) if same_amount(made, recorded) => Ok(recorded.clone()),

        (made, recorded) => Err(format!(": made {made:?}, recorded {recorded:?}")),
    }
}

fn owned_item<'a>(set: &'a FieldSet, item: &Value) -> Before<'a> {
    let leads = |node: &&Node| match &node.element {
        PathElement::Key(keys) => {
            keys.iter().all(|(name, value)| item.get(name).is_none_or(|own| own == value))
        }
        PathElement::Value(value) => value == item,
        _ => false,
    };
    match set.nodes().iter().find(leads) {
        Some(node) => Before::Below(&node.children),
        None => Before::Unheld,
    }
}

/// Finds the item of a list that most likely corresponds.
pub fn counterpart<'v>(item: &Value, list: &'v [Value], at: usize) -> Option<&'v Value> {
    for keys in [
        &["containerPort", "protocol"][..],
        &["port", "protocol"],
        &["port", "proto"],
        &["name"],
        &["type"],
        &["uid"],
        &["ip"],
        &["mountPath"],
        &["topologyKey"],
    ] {
        if item.get(keys[0]).is_some()
            && keys.iter().all(|key| list.iter().chain([item]).any(|item| item.get(key).is_some()))
        {
            return list.iter().find(|other| keys.iter().all(|key| other.get(key) == item.get(key)));
        }
    }
    list.get(at)
}

fn fields(
    made: &Object,
    recorded: &Object,
    live: Option<&Value>,
    config: Option<&Value>,
    before: Before<'_>,
) -> Result<Value, String> {
    let mut all = recorded.clone();
    for (name, value) in made {
        let within = |error: String| format!(".{name}{error}");
        let before = before.step(&PathElement::Field(name.clone()));
        match recorded.get(name) {
            Some(recorded) if recorded.as_str() == Some("TIME") && TIMES.contains(&name.as_str()) => {
                all = all.with(name.clone(), value.clone());
            }
            Some(recorded) => {
                let live = live.and_then(|live| live.get(name));
                let config = config.and_then(|config| config.get(name));
                all =
                    all.with(name.clone(), complete(value, recorded, live, config, before).map_err(within)?);
            }
            None if is_zero(value) => {}
            // Not used, and dropped with the steps that it depended on.
            None if !before.may_be_refilled()
                && live.is_some_and(|live| live.get(name) == Some(value))
                && config.is_none_or(|config| config.get(name).is_none()) => {}
            None => return Err(format!(".{name}: made {value:?}, recorded nothing")),
        }
    }
    for (name, value) in recorded {
        if made.contains(name) {
            continue;
        }
        let before = before.step(&PathElement::Field(name.clone()));
        let lived = live.and_then(|live| live.get(name));
        if lived.is_some_and(|lived| !is_zero(lived)) && !before.may_be_refilled() {
            return Err(format!(".{name}: made nothing, recorded {value:?}"));
        }
    }
    Ok(Value::Object(all))
}

/// Whether a quantity differs only in notation.
fn same_amount(made: &Value, recorded: &Value) -> bool {
    let amount = |value: &Value| -> Option<f64> {
        let text = match value {
            Value::String(text) => text.to_string(),
            other => return other.as_f64(),
        };
        let units = [
            ("m", 1e-3),
            ("k", 1e3),
            ("M", 1e6),
            ("G", 1e9),
            ("Ki", 1024.0),
            ("Mi", 1048576.0),
            ("Gi", 1073741824.0),
        ];
        for (unit, factor) in units {
            if let Some(number) = text.strip_suffix(unit).and_then(|number| number.parse::<f64>().ok()) {
                return Some(number * factor);
            }
        }
        text.parse().ok()
    };
    match (amount(made), amount(recorded)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// Returns a recorded object with its masked times taken from the request or the previous object.
pub fn unmasked(recorded: &Value, sources: &[Option<&Value>]) -> Value {
    match recorded {
        Value::Object(fields) => Value::Object(Object::from_sorted(fields.iter().map(|(name, value)| {
            let below: Vec<Option<&Value>> =
                sources.iter().map(|source| source.and_then(|source| source.get(name))).collect();
            let value = match value.as_str() {
                Some(masked)
                    if masked == "TIME" && TIMES.contains(&name.as_str())
                        || masked == "UID" && name == "uid" =>
                {
                    below.iter().flatten().next().map_or_else(|| value.clone(), |source| (*source).clone())
                }
                _ => unmasked(value, &below),
            };
            (name.clone(), value)
        }))),
        Value::Array(items) => Value::array(items.iter().enumerate().map(|(at, item)| {
            let below: Vec<Option<&Value>> = sources
                .iter()
                .map(|source| source.and_then(Value::as_array).and_then(|list| counterpart(item, list, at)))
                .collect();
            unmasked(item, &below)
        })),
        other => other.clone(),
    }
}

/// Returns a new object without unexplained values: not present before, not in the request, and not owned in
/// the recording. The recorded server added them after ownership was decided.
pub fn without_late_changes(
    new: &Value,
    live: Option<&Value>,
    body: Option<&Value>,
    owned: &[&FieldSet],
    replaces: bool,
) -> Value {
    let Value::Object(fields) = new else { return new.clone() };
    let kept = fields.iter().filter_map(|(name, value)| {
        let element = PathElement::Field(name.clone());
        let live = live.and_then(|live| live.get(name));
        let body = body.and_then(|body| body.get(name));
        let nodes: Vec<&Node> = owned.iter().filter_map(|set| set.node(&element)).collect();
        let gone = live.is_none() || replaces;
        if gone && body.is_none_or(is_zero) && nodes.is_empty() {
            return None;
        }
        if BOOKKEEPING.contains(&name.as_str()) && body.is_none() {
            // A replacement without the count restarts it.
            let value = if replaces { Value::from("0") } else { live.unwrap_or(value).clone() };
            return Some((name.clone(), value));
        }
        let counts = BOOKKEEPING.iter().any(|name| value.get(name).is_some());
        if nodes.iter().any(|node| node.included && node.children.is_empty()) && !counts {
            return Some((name.clone(), value.clone()));
        }
        let below: Vec<&FieldSet> = nodes.iter().map(|node| &node.children).collect();
        Some((name.clone(), without_late_changes(value, live, body, &below, replaces)))
    });
    Value::Object(Object::from_sorted(kept))
}
