//! Tables of objects: columns and cells as data (`data/tables.json`), with a function only for cells that
//! depend on several parts of an object. The caller provides the time that ages are relative to.

mod cell;
mod describe;
mod function;
mod pod;

use crate::data::{self, DataError, TABLES, only_known};
use cell::Cell;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use tenure_meta::{Registry, Resource, Timestamp, ValueExt};
use tenure_value::{Text, Value};

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: Text,
    /// The OpenAPI type of the cells.
    pub kind: Text,
    /// `name` for the column with the name of the object; otherwise empty.
    pub format: Text,
    /// The description of the column.
    pub description: Text,
    /// 0 for columns that are always shown, more for those of wide output.
    pub priority: i64,
}

impl Column {
    /// Returns the column definition of the API.
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

    /// Returns the cells of an object, one per column.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        self.cells.iter().map(|cell| cell.show(object, now)).collect()
    }

    fn compile(name: &str, rows: &Value) -> Result<Table, DataError> {
        let wrong = |at: usize, reason: String| DataError::new(TABLES, format!("{name}[{at}]"), reason);
        let rows = rows.as_array().map(|rows| rows.items()).unwrap_or_default();
        if rows.is_empty() {
            return Err(DataError::new(TABLES, name, "expected a list of columns"));
        }
        let (mut columns, mut cells) = (Vec::new(), Vec::new());
        for (at, row) in rows.iter().enumerate() {
            let known = ["cell", "description", "format", "name", "priority", "type"];
            only_known(row, &known).map_err(|reason| wrong(at, reason))?;
            let cell = row.get("cell").ok_or_else(|| wrong(at, "the column has no cell".into()))?;
            cells.push(Cell::compile(cell).map_err(|reason| wrong(at, reason))?);
            columns.push(Column {
                name: row.text("name"),
                kind: row.get("type").and_then(Value::as_str).map_or("string".into(), Text::new),
                format: row.text("format"),
                description: row.text("description"),
                priority: row.get("priority").and_then(Value::as_i64).unwrap_or(0),
            });
        }
        Ok(Table { columns: columns.into(), cells: cells.into() })
    }
}

/// The tables of all resources.
pub(crate) struct Tables {
    /// The default table: name and creation time.
    plain: Table,
    by_resource: HashMap<Text, Table>,
}

impl Tables {
    /// Compiles the rows of the data.
    pub(crate) fn new(registry: &Registry, document: &Value) -> Result<Tables, DataError> {
        let plain = Table::compile("plain", document.get("plain").unwrap_or(&Value::Null))?;
        let name_of = |resource: &Arc<Resource>| format!("{} {}", resource.api_version, resource.name);
        let served: HashSet<String> = registry.resources().iter().map(name_of).collect();
        let mut by_resource = HashMap::new();
        for (name, rows) in data::members(TABLES, document, "tables")? {
            if !served.contains(name.as_str()) {
                return Err(DataError::new(TABLES, name, "no such resource is served"));
            }
            by_resource.insert(name.clone(), Table::compile(name, rows)?);
        }
        Ok(Tables { plain, by_resource })
    }

    /// Returns the table of a resource.
    pub fn of(&self, resource: &Resource) -> &Table {
        let name = format!("{} {}", resource.api_version, resource.name);
        self.by_resource.get(name.as_str()).unwrap_or(&self.plain)
    }
}
