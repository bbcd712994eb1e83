//! Owners as people and programs read them: one form for all commands.

use tenure_apply::{Managers, Timestamp};
use tenure_fields::Path;
use tenure_value::{Object, Value};

pub use tenure_apply::Owner;

/// Returns the owners of a path, in the order of the managers.
pub fn owners_of(managers: &Managers, path: &Path) -> Vec<Owner> {
    managers.iter().filter(|manager| manager.fields.has(path)).map(Owner::from).collect()
}

/// Returns the operation of an owner, with the subresource if it wrote through one, such as `Update/status`.
pub fn operation(owner: &Owner) -> String {
    match owner.subresource.as_str() {
        "" => owner.operation.to_string(),
        subresource => format!("{}/{subresource}", owner.operation),
    }
}

/// Returns an owner in a few words, such as `alice (Apply, 5m)`.
pub fn describe(owner: &Owner, now: Timestamp) -> String {
    match owner.time {
        Some(_) => format!("{} ({}, {})", owner.name, operation(owner), age(owner.time, now)),
        None => format!("{} ({})", owner.name, operation(owner)),
    }
}

/// Returns owners as an enumeration in a sentence; `no manager` if there are none.
pub fn describe_all(owners: &[Owner], now: Timestamp) -> String {
    let words: Vec<String> = owners.iter().map(|owner| describe(owner, now)).collect();
    match words.as_slice() {
        [] => "no manager".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Returns an owner as a document.
pub fn to_value(owner: &Owner) -> Value {
    let mut shown = Object::default()
        .with("manager", owner.name.clone())
        .with("operation", owner.operation.as_str())
        .with("apiVersion", owner.api_version.clone());
    if !owner.subresource.is_empty() {
        shown = shown.with("subresource", owner.subresource.clone());
    }
    if let Some(time) = owner.time {
        shown = shown.with("time", time.to_string());
    }
    Value::Object(shown)
}

/// Returns owners as a document.
pub fn list(owners: &[Owner]) -> Value {
    Value::array(owners.iter().map(to_value))
}

/// Seconds per unit of an age, the age from which the unit is used, and its letter; the largest unit first.
const UNITS: [(i64, i64, char); 4] =
    [(86_400, 2 * 86_400, 'd'), (3_600, 2 * 3_600, 'h'), (60, 120, 'm'), (1, 0, 's')];

/// Returns the age of a time in one unit, such as `5m`; a dash if the time is unknown.
pub fn age(time: Option<Timestamp>, now: Timestamp) -> String {
    let Some(time) = time else { return "-".into() };
    let seconds = (now.unix() - time.unix()).max(0);
    let unit = UNITS.iter().find(|(_, from, _)| seconds >= *from);
    unit.map_or_else(|| "0s".into(), |(unit, _, letter)| format!("{}{letter}", seconds / unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        let now = Timestamp::from_unix(1_000_000);
        for (seconds, shown) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (7_199, "119m"),
            (7_200, "2h"),
            (172_800, "2d"),
            (-5, "0s"),
        ] {
            assert_eq!(age(Some(Timestamp::from_unix(1_000_000 - seconds)), now), shown);
        }
        assert_eq!(age(None, now), "-");
    }
}
