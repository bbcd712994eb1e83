//! Two states of an object side by side. Lines are paired by the field that they show, never by their number: a pair is the same
//! field on both sides, and a line without a partner was added or removed. Takes n log n time for n lines.

use crate::{Blame, Line, Ownership};
use std::collections::HashMap;
use tenure_value::{Object, Value};

/// How many equal lines stay around those that differ.
const CONTEXT: usize = 3;

/// Lines of two states of an object, in pairs.
#[derive(Clone, Debug)]
pub struct SideBySide<'b> {
    rows: Vec<SideBySideRow<'b>>,
}

/// One row: a line of the older state, one of the newer, or both.
#[derive(Clone, Copy, Debug)]
pub struct SideBySideRow<'b> {
    /// The line of the older state.
    pub before: Option<&'b Line>,
    /// The line of the newer state.
    pub after: Option<&'b Line>,
}

/// How a row differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// The same text and owners.
    Same,
    /// The same text, other owners.
    Owners,
    /// Another text.
    Changed,
    /// Only in the newer state.
    Added,
    /// Only in the older state.
    Removed,
}

impl RowKind {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            RowKind::Same => "same",
            RowKind::Owners => "owners",
            RowKind::Changed => "changed",
            RowKind::Added => "added",
            RowKind::Removed => "removed",
        }
    }
}

impl SideBySideRow<'_> {
    /// Returns how the row differs.
    pub fn kind(&self) -> RowKind {
        match (self.before, self.after) {
            // What the server maintains, such as the resourceVersion, is not compared.
            (Some(before), Some(after)) if is_maintained(before) && is_maintained(after) => RowKind::Same,
            (Some(before), Some(after)) if bare(before) != bare(after) => RowKind::Changed,
            (Some(before), Some(after)) if names(before) != names(after) => RowKind::Owners,
            (Some(_), Some(_)) => RowKind::Same,
            (Some(_), None) => RowKind::Removed,
            _ => RowKind::Added,
        }
    }
}

impl<'b> SideBySide<'b> {
    /// Pairs the lines of two states.
    pub fn of(before: &'b Blame, after: &'b Blame) -> SideBySide<'b> {
        let (old, new) = (keys(&before.lines), keys(&after.lines));
        let places: HashMap<&Key, usize> = new.iter().enumerate().map(|(at, key)| (key, at)).collect();
        let pairs: Vec<(usize, usize)> = old
            .iter()
            .enumerate()
            .filter_map(|(at, key)| places.get(key).map(|other| (at, *other)))
            .collect();
        let mut rows = Vec::with_capacity(new.len());
        let (mut left, mut right) = (0, 0);
        let end = (before.lines.len(), after.lines.len());
        for (at, other) in in_order(&pairs).into_iter().chain([end]) {
            rows.extend(
                before.lines[left..at].iter().map(|line| SideBySideRow { before: Some(line), after: None }),
            );
            rows.extend(
                after.lines[right..other]
                    .iter()
                    .map(|line| SideBySideRow { before: None, after: Some(line) }),
            );
            if (at, other) != end {
                rows.push(SideBySideRow { before: before.lines.get(at), after: after.lines.get(other) });
            }
            (left, right) = (at + 1, other + 1);
        }
        SideBySide { rows }
    }

    /// Returns all rows.
    pub fn rows(&self) -> &[SideBySideRow<'b>] {
        &self.rows
    }

    /// Returns the rows that differ with some lines around them as a document. A row is its kind, the text of both lines (`null` where
    /// there is none) and the owners of both; a number stands for so many equal rows that are left out.
    pub fn to_value(&self) -> Value {
        let kinds: Vec<RowKind> = self.rows.iter().map(SideBySideRow::kind).collect();
        let mut kept = vec![false; kinds.len()];
        for at in (0..kinds.len()).filter(|at| kinds[*at] != RowKind::Same) {
            kept[at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(kinds.len())].fill(true);
        }
        let (mut shown, mut left_out) = (Vec::new(), 0_i64);
        for (at, row) in self.rows.iter().enumerate() {
            if !kept[at] {
                left_out += 1;
                continue;
            }
            if left_out > 0 {
                shown.push(Value::from(std::mem::take(&mut left_out)));
            }
            let text = |line: Option<&Line>| line.map_or(Value::Null, |line| Value::from(line.text.as_str()));
            let path = row.after.or(row.before).map(|line| line.path.quoted().to_string());
            shown.push(
                Object::default()
                    .with("kind", kinds[at].word())
                    .with("before", text(row.before))
                    .with("after", text(row.after))
                    .with("beforeOwners", owners(row.before))
                    .with("afterOwners", owners(row.after))
                    .with("path", path.unwrap_or_default())
                    .into(),
            );
        }
        if left_out > 0 {
            shown.push(Value::from(left_out));
        }
        Value::array(shown)
    }
}

/// What identifies a line in its state: its field, and which of the lines of that field it is.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    path: String,
    number: usize,
}

fn keys(lines: &[Line]) -> Vec<Key> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let key = |line: &Line| {
        // Lines that no field owns are told apart by their text: the names of parents, and what the server maintains.
        let path = match line.path.is_empty() {
            true => line.text.split(':').next().unwrap_or_default().to_owned(),
            false => line.path.quoted().to_string(),
        };
        let number = counts.entry(path.clone()).or_default();
        *number += 1;
        Key { path, number: *number }
    };
    lines.iter().map(key).collect()
}

/// Returns the longest part of the pairs that is in order on both sides; the first numbers ascend already.
fn in_order(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The last pair of the best sequence of each length, and the pair before each.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, (_, other)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *other);
        previous.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut found = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        found.push(pairs[at]);
        next = previous[at];
    }
    found.reverse();
    found
}

/// Returns the text of a line without what its place in a list adds: an item that gets another first field passes its dash on.
fn bare(line: &Line) -> &str {
    line.text.trim_start_matches([' ', '-'])
}

fn is_maintained(line: &Line) -> bool {
    line.ownership == Ownership::NotOwnable
}

fn names(line: &Line) -> Vec<&str> {
    match &line.ownership {
        Ownership::Owned(owners) => owners.iter().map(|owner| owner.name.as_str()).collect(),
        _ => Vec::new(),
    }
}

fn owners(line: Option<&Line>) -> Value {
    let names = line.map(names).unwrap_or_default();
    Value::array(names.into_iter().map(Value::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LiveObject;
    use tenure_schema::Schema;

    fn blame(data: &str, owner: &str) -> Blame {
        let fields: String = data
            .split(',')
            .filter_map(|pair| pair.split_once(':'))
            .map(|(name, _)| format!("\"f:{}\":{{}},", name.trim_matches('"')))
            .collect();
        let shown = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a","managedFields":[{{"manager":"{owner}",
                "operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{{}}}}}}}]}},
                "data":{{{data}}}}}"#,
            fields.trim_end_matches(',')
        );
        let live = LiveObject::read(&shown.parse().unwrap()).unwrap();
        Blame::of(&live, Schema::builtin().kind("v1", "ConfigMap").unwrap())
    }

    fn told(before: &Blame, after: &Blame) -> Vec<String> {
        let both = SideBySide::of(before, after);
        let text = |line: Option<&Line>| line.map_or("-", |line| line.text.trim()).to_owned();
        let rows = both.rows().iter().filter(|row| row.kind() != RowKind::Same);
        rows.map(|row| format!("{}: {} | {}", row.kind().word(), text(row.before), text(row.after))).collect()
    }

    #[test]
    fn fields_are_paired_and_not_lines() {
        let before = blame(r#""a":"1","b":"2","c":"3""#, "ann");
        let after = blame(r#""b":"2","c":"4","d":"5""#, "ann");
        assert_eq!(
            told(&before, &after),
            ["removed: a: \"1\" | -", "changed: c: \"3\" | c: \"4\"", "added: - | d: \"5\""]
        );
        assert_eq!(told(&before, &before), Vec::<String>::new());
        let others = told(&before, &blame(r#""a":"1","b":"2","c":"3""#, "bob"));
        assert!(others.len() == 3 && others[0].starts_with("owners: "), "{others:?}");
    }

    #[test]
    fn equal_lines_are_left_out_and_counted() {
        let data = |changed: usize| {
            let entry = |at: usize| format!("\"k{at:02}\":\"{}\"", if at == changed { "new" } else { "old" });
            (0..40).map(entry).collect::<Vec<_>>().join(",")
        };
        let (before, after) = (blame(&data(99), "ann"), blame(&data(20), "ann"));
        let shown = SideBySide::of(&before, &after).to_value();
        let rows = shown.as_array().unwrap();
        let numbers: i64 = rows.iter().filter_map(Value::as_i64).sum();
        let others = rows.iter().filter(|row| row.as_i64().is_none()).count();
        assert_eq!((others, numbers as usize + others), (7, before.lines.len()));
    }
}
