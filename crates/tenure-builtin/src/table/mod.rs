//! How tables show objects: columns and cells as data (`data/tables.json`), with a function only where a cell
//! weighs several parts of an object. Ages are counted from a time that the caller gives.

mod cell;
mod describe;
mod function;
mod pod;

use super::{Kinds, pack::TABLES};
use cell::Cell;
use std::{collections::HashMap, sync::LazyLock};
use tenure_meta::{Resource, Row, Timestamp};
use tenure_value::{Text, Value};

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: Text,
    /// The OpenAPI type of the cells, as clients are told it.
    pub kind: Text,
    /// `name` for the column that names the object; otherwise empty.
    pub format: Text,
    /// What the column shows.
    pub description: Text,
    /// 0 for columns that are always shown, more for those of a wide table.
    pub priority: i64,
}

impl Column {
    /// Returns the definition as the API writes it.
    pub fn definition(&self) -> Value {
        Value::object([
            ("name", Value::from(self.name.clone())),
            ("type", Value::from(self.kind.clone())),
            ("format", Value::from(self.format.clone())),
            ("description", Value::from(self.description.clone())),
            ("priority", Value::from(self.priority)),
        ])
    }
}

/// The table of a resource.
#[derive(Debug)]
pub struct Table {
    columns: Box<[Column]>,
    cells: Box<[Cell]>,
}

impl Table {
    /// Returns the columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the cells of an object, one for each column.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        self.cells.iter().map(|cell| cell.show(object, now)).collect()
    }

    fn from_rows(rows: &[Value]) -> Table {
        let column = |row: &Value| Column {
            name: row.text("name"),
            kind: row.get("type").and_then(Value::as_str).map_or("string".into(), Text::new),
            format: row.text("format"),
            description: row.text("description"),
            priority: row.get("priority").and_then(Value::as_i64).unwrap_or(0),
        };
        Table {
            columns: rows.iter().map(column).collect(),
            cells: rows.iter().map(|row| Cell::compile(row.get("cell").unwrap_or(&Value::Null))).collect(),
        }
    }
}

/// The tables of resources that have none of their own: a name and a time.
static PLAIN: LazyLock<Table> = LazyLock::new(|| Table::from_rows(TABLES.items("plain")));

static BY_RESOURCE: LazyLock<HashMap<Text, Table>> = LazyLock::new(|| {
    let tables = TABLES.get("tables").and_then(Value::as_object).map(|of| of.fields()).unwrap_or_default();
    let table = |rows: &Value| Table::from_rows(rows.as_array().map(|rows| rows.items()).unwrap_or_default());
    tables.iter().map(|(name, rows)| (name.clone(), table(rows))).collect()
});

impl Kinds {
    /// Returns the table of a resource.
    pub fn table(&self, resource: &Resource) -> &'static Table {
        let name = format!("{} {}", resource.api_version, resource.name);
        BY_RESOURCE.get(name.as_str()).unwrap_or(&PLAIN)
    }
}
