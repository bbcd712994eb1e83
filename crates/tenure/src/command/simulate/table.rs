//! What differs: every leaf of the object that one of the ways changes, with what stands there before and after each.

use super::ways::Ending;
use std::collections::BTreeMap;
use tenure_apply::{LAST_APPLIED, Managers, ownership};
use tenure_fields::{Path, PathElement};
use tenure_schema::TypeRef;
use tenure_value::{Text, Value};

/// Parts of metadata that change with every write and say nothing about the manifest.
const BOOKKEEPING: [&str; 5] = ["creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"];

/// What became of a place in one of the ways.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// It is as it was.
    Same,
    /// It came to be.
    Added(Value),
    /// It became something else.
    Changed(Value),
    /// It went.
    Removed,
    /// The way was refused here, because of whoever this is.
    Contested(String),
    /// The way was refused, for another reason than this place.
    Refused,
}

/// A place that one of the ways changes.
pub struct Row {
    /// Where.
    pub place: String,
    /// What lives there.
    pub live: Option<Value>,
    /// What becomes of it, way by way.
    pub cells: Vec<Cell>,
}

impl Row {
    /// Whether the ways end differently here.
    pub fn differs(&self) -> bool {
        self.cells.windows(2).any(|pair| pair[0] != pair[1])
    }
}

/// All places that one of the ways changes.
pub struct Table {
    /// The places, in the order of their paths.
    pub rows: Vec<Row>,
    refused: bool,
}

/// The leaves of an object; of several that one path leads to, each has its number.
type Leaves = BTreeMap<(Path, Part), Value>;

/// What of a place is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The value of that number that stands there.
    Value(usize),
    /// The order of its items.
    Order,
}

impl Table {
    /// Compares the live object with what became of it.
    pub fn of(live: &Value, endings: &[Ending], ty: TypeRef<'_>) -> Table {
        let before = leaves(live, ty);
        let after: Vec<Option<Leaves>> =
            endings.iter().map(|ending| ending.result.as_ref().ok().map(|object| leaves(object, ty))).collect();
        let mut places: BTreeMap<&(Path, Part), ()> = before.keys().map(|place| (place, ())).collect();
        after.iter().flatten().for_each(|leaves| places.extend(leaves.keys().map(|place| (place, ()))));
        let mut rows: Vec<Row> = Vec::new();
        for place in places.into_keys() {
            let live = before.get(place);
            let cells: Vec<Cell> = endings
                .iter()
                .zip(&after)
                .map(|(ending, leaves)| match leaves {
                    Some(leaves) => cell(live, leaves.get(place)),
                    None => refused(ending, &place.0),
                })
                .collect();
            let orders_differ = place.1 != Part::Order || cells.iter().all(|cell| !matches!(cell, Cell::Added(_) | Cell::Removed));
            if orders_differ && cells.iter().any(|cell| !matches!(cell, Cell::Same | Cell::Refused)) {
                rows.push(Row { place: named(place), live: live.cloned(), cells });
            }
        }
        Table { rows, refused: endings.iter().any(|ending| ending.result.is_err()) }
    }

    /// Whether the ways end differently.
    pub fn ways_differ(&self) -> bool {
        self.refused || self.rows.iter().any(Row::differs)
    }

    /// Returns the rows as a document.
    pub fn to_value(&self) -> Value {
        let cell = |cell: &Cell| {
            Value::object(match cell {
                Cell::Same => vec![("became", Value::from("same"))],
                Cell::Added(value) => vec![("became", Value::from("added")), ("value", value.clone())],
                Cell::Changed(value) => vec![("became", Value::from("changed")), ("value", value.clone())],
                Cell::Removed => vec![("became", Value::from("removed"))],
                Cell::Contested(holder) => {
                    vec![("became", Value::from("contested")), ("holder", Value::from(holder.as_str()))]
                }
                Cell::Refused => vec![("became", Value::from("refused"))],
            })
        };
        let row = |row: &Row| {
            Value::object([
                ("path", Value::from(row.place.as_str())),
                ("live", row.live.clone().unwrap_or_default()),
                ("ways", Value::array(row.cells.iter().map(cell))),
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

fn refused(ending: &Ending, path: &Path) -> Cell {
    let Err(refusal) = &ending.result else { return Cell::Refused };
    let path = path.to_string();
    let holders: Vec<&str> =
        refusal.contested.iter().filter(|(of, _)| *of == path).map(|(_, holder)| holder.as_str()).collect();
    if holders.is_empty() { Cell::Refused } else { Cell::Contested(holders.join(", ")) }
}

fn leaves(object: &Value, ty: TypeRef<'_>) -> Leaves {
    let mut leaves = Leaves::new();
    let mut orders: BTreeMap<Path, Vec<Value>> = BTreeMap::new();
    for leaf in ownership(object, &Managers::default(), ty) {
        if is_bookkeeping(&leaf.path) {
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

fn is_bookkeeping(path: &Path) -> bool {
    let names: Vec<&Text> = path
        .elements()
        .iter()
        .map_while(|element| match element {
            PathElement::Field(name) => Some(name),
            _ => None,
        })
        .collect();
    match names.as_slice() {
        [metadata, name] if *metadata == "metadata" => BOOKKEEPING.contains(&name.as_str()),
        [metadata, annotations, name] if *metadata == "metadata" && *annotations == "annotations" => {
            *name == LAST_APPLIED
        }
        _ => false,
    }
}
