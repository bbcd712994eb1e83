//! Objects as table rows: the columns of a definition, or the age if it has none.

use super::json_path::JsonPath;
use tenure_meta::{Timestamp, ValueExt, time::Precision, time::age};
use tenure_value::{Text, Value};

/// The type of the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellType {
    Integer,
    Number,
    String,
    Boolean,
    Date,
}

const TYPES: [(&str, CellType); 5] = [
    ("integer", CellType::Integer),
    ("number", CellType::Number),
    ("string", CellType::String),
    ("boolean", CellType::Boolean),
    ("date", CellType::Date),
];

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    definition: Value,
    cell_type: CellType,
    path: JsonPath,
}

impl Column {
    /// Parses the columns of a version; the default is the age.
    pub(crate) fn read_all(columns: &[Value]) -> Box<[Column]> {
        if columns.is_empty() {
            let age = [
                ("name", "Age"),
                ("type", "date"),
                ("jsonPath", ".metadata.creationTimestamp"),
                ("description", CREATION),
            ];
            return Column::read(&Value::object(age.map(|(name, value)| (name, Value::from(value)))))
                .into_iter()
                .collect();
        }
        columns.iter().filter_map(Column::read).collect()
    }

    fn read(column: &Value) -> Option<Column> {
        let word = column.text("type");
        let name = column.text("name");
        let description = match column.text("description") {
            words if words.is_empty() => {
                format!("Custom resource definition column (in JSONPath format): {}", column.text("jsonPath"))
                    .into()
            }
            words => words,
        };
        let definition = Value::object([
            ("name", Value::from(name)),
            ("type", Value::from(word.clone())),
            ("format", Value::from(column.text("format"))),
            ("description", Value::from(description)),
            ("priority", column.get("priority").cloned().unwrap_or(Value::Int(0))),
        ]);
        let cell_type = TYPES.iter().find(|row| row.0 == word).map_or(CellType::String, |row| row.1);
        Some(Column { definition, cell_type, path: JsonPath::parse(&column.text("jsonPath")).ok()? })
    }

    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let found = self.path.find(object);
        let Some(first) = found.first().copied() else { return Value::Null };
        match self.cell_type {
            CellType::Integer => match first {
                Value::Float(number) => Value::Int(number.get() as i64),
                Value::Int(_) | Value::UInt(_) => first.clone(),
                _ => Value::Null,
            },
            CellType::Number => match first {
                Value::Int(_) | Value::UInt(_) | Value::Float(_) => first.clone(),
                _ => Value::Null,
            },
            CellType::Boolean => first.as_bool().map_or(Value::Null, Value::Bool),
            CellType::String if first.is_null() => Value::Null,
            // If a path has several values the first is shown.
            CellType::String => Value::from(written(first)),
            CellType::Date => match first.as_str() {
                None => Value::Null,
                Some(text) => Value::from(match Timestamp::parse(text, Precision::Seconds) {
                    Some(time) => age(now.seconds_since(time)),
                    None => "<invalid>".into(),
                }),
            },
        }
    }
}

const CREATION: &str =
    "CreationTimestamp is a timestamp representing the server time when this object was created.";
const NAME: &str = "Name must be unique within a namespace.";

fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// Returns the definitions of all columns, starting with the name.
pub(crate) fn definitions(columns: &[Column]) -> Value {
    let name = Value::object([
        ("name", Value::from("Name")),
        ("type", Value::from("string")),
        ("format", Value::from("name")),
        ("description", Value::from(NAME)),
        ("priority", Value::Int(0)),
    ]);
    Value::array(std::iter::once(name).chain(columns.iter().map(|column| column.definition.clone())))
}

/// Returns the cells of an object.
pub(crate) fn cells(columns: &[Column], object: &Value, now: Timestamp) -> Vec<Value> {
    let name = object.at(["metadata", "name"]).cloned().unwrap_or_else(|| Value::from(Text::default()));
    std::iter::once(name).chain(columns.iter().map(|column| column.cell(object, now))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_follow_their_columns_as_recorded() {
        let columns: Value = r#"[{"jsonPath":".spec.a","name":"A","type":"string"},{"description":"count","jsonPath":".spec.n","name":"N","priority":1,"type":"integer"},
            {"jsonPath":".spec.l","name":"L","type":"string"},{"jsonPath":".spec.b","name":"B","type":"boolean"},{"jsonPath":".metadata.creationTimestamp","name":"Since","type":"date"}]"#.parse().unwrap();
        let columns = Column::read_all(columns.as_array().unwrap());
        let now = Timestamp::parse("2026-01-01T01:00:00Z", Precision::Seconds).unwrap();
        let object: Value = r#"{"metadata":{"name":"w","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"a":"x","n":3,"l":[1,"b"],"b":true}}"#.parse().unwrap();
        assert_eq!(
            Value::array(cells(&columns, &object, now)).to_string(),
            r#"["w","x",3,"[1,\"b\"]",true,"60m"]"#
        );
        let empty: Value = r#"{"metadata":{"name":"v"},"spec":{"a":null}}"#.parse().unwrap();
        assert_eq!(
            Value::array(cells(&columns, &empty, now)).to_string(),
            r#"["v",null,null,null,null,null]"#
        );
        let definitions = definitions(&columns);
        assert_eq!(definitions.as_array().unwrap()[2].get("priority"), Some(&1.into()));
    }

    #[test]
    fn the_age_is_the_default_column() {
        let columns = Column::read_all(&[]);
        assert_eq!(definitions(&columns).as_array().unwrap()[1].get("name"), Some(&"Age".into()));
    }
}
