//! The comparison: every field that one of the methods changes, with its value before and after each.

use super::methods::Attempt;
use std::collections::BTreeMap;
use tenure_apply::{LAST_APPLIED, Managers, ownership};
use tenure_fields::{Path, PathElement};
use tenure_schema::TypeRef;
use tenure_value::{Text, Value};

/// Metadata that changes with every write.
const SERVER_MAINTAINED: [&str; 5] =
    ["creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"];

/// The effect of a method on a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Unchanged.
    Same,
    /// Added.
    Added(Value),
    /// Changed.
    Changed(Value),
    /// Removed.
    Removed,
    /// Refused, because of a conflict with this owner.
    Conflict(String),
    /// Refused, because of another field.
    Refused,
}

/// A field that one of the methods changes.
pub struct Row {
    /// The path.
    pub path: String,
    /// The live value.
    pub live: Option<Value>,
    /// The effects of the methods.
    pub cells: Vec<Cell>,
}

impl Row {
    /// Whether the methods have different effects.
    pub fn differs(&self) -> bool {
        self.cells.windows(2).any(|pair| pair[0] != pair[1])
    }
}

/// All fields that one of the methods changes.
pub struct Table {
    /// The fields, in the order of their paths.
    pub rows: Vec<Row>,
    refused: bool,
}

/// The leaves of an object; several with the same path are numbered.
type Leaves = BTreeMap<(Path, Part), Value>;

/// A part of a field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The value with this number.
    Value(usize),
    /// The order of the items.
    Order,
}

impl Table {
    /// Compares the live object with the results.
    pub fn of(live: &Value, attempts: &[Attempt], ty: TypeRef<'_>) -> Table {
        let before = leaves(live, ty);
        let after: Vec<Option<Leaves>> = attempts
            .iter()
            .map(|attempt| attempt.result.as_ref().ok().map(|object| leaves(object, ty)))
            .collect();
        let mut places: BTreeMap<&(Path, Part), ()> = before.keys().map(|place| (place, ())).collect();
        after.iter().flatten().for_each(|leaves| places.extend(leaves.keys().map(|place| (place, ()))));
        let mut rows: Vec<Row> = Vec::new();
        for place in places.into_keys() {
            let live = before.get(place);
            let cells: Vec<Cell> = attempts
                .iter()
                .zip(&after)
                .map(|(attempt, leaves)| match leaves {
                    Some(leaves) => cell(live, leaves.get(place)),
                    None => refused(attempt, &place.0),
                })
                .collect();
            let orders_differ = place.1 != Part::Order
                || cells.iter().all(|cell| !matches!(cell, Cell::Added(_) | Cell::Removed));
            if orders_differ && cells.iter().any(|cell| !matches!(cell, Cell::Same | Cell::Refused)) {
                rows.push(Row { path: named(place), live: live.cloned(), cells });
            }
        }
        Table { rows, refused: attempts.iter().any(|attempt| attempt.result.is_err()) }
    }

    /// Whether the methods have different results.
    pub fn differs(&self) -> bool {
        self.refused || self.rows.iter().any(Row::differs)
    }

    /// Returns the rows as a document.
    pub fn to_value(&self) -> Value {
        let cell = |cell: &Cell| {
            Value::object(match cell {
                Cell::Same => vec![("result", Value::from("same"))],
                Cell::Added(value) => vec![("result", Value::from("added")), ("value", value.clone())],
                Cell::Changed(value) => vec![("result", Value::from("changed")), ("value", value.clone())],
                Cell::Removed => vec![("result", Value::from("removed"))],
                Cell::Conflict(owner) => {
                    vec![("result", Value::from("conflict")), ("owner", Value::from(owner.as_str()))]
                }
                Cell::Refused => vec![("result", Value::from("refused"))],
            })
        };
        let row = |row: &Row| {
            Value::object([
                ("path", Value::from(row.path.as_str())),
                ("live", row.live.clone().unwrap_or_default()),
                ("methods", Value::array(row.cells.iter().map(cell))),
                ("differs", Value::from(row.differs())),
            ])
        };
        Value::array(self.rows.iter().map(row))
    }
}

fn named((path, part): &(Path, Part)) -> String {
    match part {
        Part::Value(0) => path.to_string(),
        Part::Value(number) => format!("{path} (entry {})", number + 1),
        Part::Order => format!("{path} (order)"),
    }
}

fn cell(live: Option<&Value>, after: Option<&Value>) -> Cell {
    match (live, after) {
        (Some(live), Some(after)) if live.same(after) => Cell::Same,
        (None, None) => Cell::Same,
        (Some(_), Some(after)) => Cell::Changed(after.clone()),
        (None, Some(after)) => Cell::Added(after.clone()),
        (Some(_), None) => Cell::Removed,
    }
}

fn refused(attempt: &Attempt, path: &Path) -> Cell {
    let Err(refusal) = &attempt.result else { return Cell::Refused };
    let path = path.to_string();
    let owners: Vec<&str> = refusal
        .conflicts
        .iter()
        .filter(|(field, _)| *field == path)
        .map(|(_, owner)| owner.as_str())
        .collect();
    if owners.is_empty() { Cell::Refused } else { Cell::Conflict(owners.join(", ")) }
}

fn leaves(object: &Value, ty: TypeRef<'_>) -> Leaves {
    let mut leaves = Leaves::new();
    let mut orders: BTreeMap<Path, Vec<Value>> = BTreeMap::new();
    for leaf in ownership(object, &Managers::default(), ty) {
        if is_server_maintained(&leaf.path) {
            continue;
        }
        for (at, element) in leaf.path.elements().iter().enumerate() {
            let item = match element {
                PathElement::Key(keys) => Value::Object(keys.clone()),
                PathElement::Value(value) => value.clone(),
                PathElement::Field(_) | PathElement::Index(_) => continue,
            };
            let items = orders.entry(leaf.path.elements()[..at].into()).or_default();
            if !items.contains(&item) {
                items.push(item);
            }
        }
        let mut number = 0;
        while leaves.contains_key(&(leaf.path.clone(), Part::Value(number))) {
            number += 1;
        }
        leaves.insert((leaf.path, Part::Value(number)), leaf.value);
    }
    let orders = orders.into_iter().filter(|(_, items)| items.len() > 1);
    leaves.extend(orders.map(|(path, items)| ((path, Part::Order), Value::array(items))));
    leaves
}

fn is_server_maintained(path: &Path) -> bool {
    let names: Vec<&Text> = path
        .elements()
        .iter()
        .map_while(|element| match element {
            PathElement::Field(name) => Some(name),
            _ => None,
        })
        .collect();
    match names.as_slice() {
        [metadata, name] if *metadata == "metadata" => SERVER_MAINTAINED.contains(&name.as_str()),
        [metadata, annotations, name] if *metadata == "metadata" && *annotations == "annotations" => {
            *name == LAST_APPLIED
        }
        _ => false,
    }
}
