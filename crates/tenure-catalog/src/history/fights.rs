//! Fights and counts of writes as people and programs read them.

use crate::Target;
use tenure_history::{Churn, FieldCount, Fight, Side, WriterCount};
use tenure_meta::time::{Precision, Timestamp};
use tenure_value::{Object, Value};

/// Whether the client of a request may read an object.
pub type MayRead<'r> = dyn Fn(&Target) -> bool + Sync + 'r;

/// Describes a fight in a sentence, without its end.
fn describe(fight: &Fight) -> String {
    let side = |side: &Side| match side.value.as_str() {
        "" => format!("{} removes it", side.manager),
        value => format!("{} sets it to {value}", side.manager),
    };
    let sides: Vec<String> = fight.sides.iter().map(side).collect();
    format!(
        "Managers keep overwriting {}: {}; {} times since {}",
        fight.path,
        sides.join(", "),
        fight.overwrites,
        time(fight.since)
    )
}

/// Describes a fight without its values, which are for those alone who may read the object.
pub fn describe_without_values(fight: &Fight) -> String {
    let names: Vec<&str> = fight.sides.iter().map(|side| side.manager.as_str()).collect();
    format!(
        "Managers keep overwriting {}: {}; {} times since {}",
        fight.path,
        names.join(", "),
        fight.overwrites,
        time(fight.since)
    )
}

/// Says what to do about a fight.
pub fn advice(fight: &Fight) -> String {
    let names: Vec<&str> = fight.sides.iter().map(|side| side.manager.as_str()).collect();
    let names = match names.as_slice() {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        names => names.concat(),
    };
    format!(
        "Decide which of {names} should own the field, and leave it out of what the others write: out of their manifests, or with \
         their setting that ignores it"
    )
}

/// Whether a document shows the values of a fight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FightValues {
    /// The client may read the object.
    Shown,
    /// The client may not.
    Hidden,
}

/// Returns the fights that are not over as a document; `object` tells which object a key of the store is, and whether the client may
/// read it.
pub fn document(fights: &[Fight], object: impl Fn(&str) -> (Value, FightValues)) -> Value {
    Value::object([
        ("apiVersion", Value::from("tenure.dev/v1")),
        ("kind", Value::from("FightList")),
        ("items", Value::array(fights.iter().map(|fight| one(object(&fight.key), fight)))),
    ])
}

/// Returns who wrote most and which fields changed most, as a document.
pub fn writers(churn: &Churn, most: usize) -> Value {
    let writer = |count: WriterCount| {
        Value::object([
            ("manager", Value::from(count.manager)),
            ("changes", Value::unsigned(count.changes)),
            ("noops", Value::unsigned(count.noops)),
        ])
    };
    let field = |count: FieldCount| {
        Value::object([
            ("resource", Value::from(count.resource)),
            ("path", Value::from(count.path)),
            ("changes", Value::unsigned(count.changes)),
            ("manager", Value::from(count.manager)),
        ])
    };
    Value::object([
        ("apiVersion", Value::from("tenure.dev/v1")),
        ("kind", Value::from("WriterList")),
        ("writers", Value::array(churn.writers(most).into_iter().map(writer))),
        ("fields", Value::array(churn.fields(most).into_iter().map(field))),
    ])
}

fn one((object, values): (Value, FightValues), fight: &Fight) -> Value {
    let shows_values = values == FightValues::Shown;
    let side = |side: &Side| {
        let shown = Object::default()
            .with("manager", side.manager.as_str())
            .with("overwrites", Value::unsigned(side.overwrites));
        Value::from(match side.value.as_str() {
            "" => shown,
            value if shows_values => shown.with("value", value),
            _ => shown.with("hidden", true),
        })
    };
    Value::object([
        ("object", object),
        ("path", Value::from(fight.path.as_str())),
        ("sides", Value::array(fight.sides.iter().map(side))),
        ("overwrites", Value::unsigned(fight.overwrites)),
        ("since", Value::from(time(fight.since))),
        ("last", Value::from(time(fight.last))),
        ("message", Value::from(if shows_values { describe(fight) } else { describe_without_values(fight) })),
        ("advice", Value::from(advice(fight))),
    ])
}

fn time(milliseconds: u64) -> String {
    let seconds = i64::try_from(milliseconds / 1000).unwrap_or_default();
    Timestamp { seconds, nanos: 0 }.format(Precision::Seconds)
}
