//! A scale as a table.

use crate::object::{meta_text, partial};
use tenure_http::MetaVersion;
use tenure_meta::{
    Timestamp,
    time::{Precision, age},
};
use tenure_value::Value;

/// Returns a scale as a table of one row.
pub fn scale_table(scale: &Value, version: MetaVersion, now: Timestamp) -> Value {
    const COLUMNS: [(&str, &str, &str); 4] = [
        ("Name", "string", "The name of the object that is scaled."),
        ("Desired", "integer", "The number of replicas that the object shall have."),
        ("Available", "integer", "The number of replicas that the object has."),
        ("Age", "string", "The time since the object was created."),
    ];
    let columns = COLUMNS.map(|(name, kind, description)| {
        Value::object([
            ("name", Value::from(name)),
            ("type", Value::from(kind)),
            ("format", Value::from("")),
            ("description", Value::from(description)),
            ("priority", Value::from(0)),
        ])
    });
    let text = |name: &str| meta_text(scale, name);
    let number = |part: &str| scale.at([part, "replicas"]).cloned().unwrap_or(Value::Int(0));
    let created = Timestamp::parse(text("creationTimestamp"), Precision::Seconds);
    let age = created.map_or("<unknown>".into(), |created| age(now.seconds - created.seconds));
    let cells = [Value::from(text("name")), number("spec"), number("status"), Value::from(age)];
    let row = Value::object([("cells", Value::array(cells)), ("object", partial(scale, version))]);
    Value::object([
        ("kind", Value::from("Table")),
        ("apiVersion", Value::from(version.api_version())),
        ("metadata", Value::object([("resourceVersion", Value::from(text("resourceVersion")))])),
        ("columnDefinitions", Value::array(columns)),
        ("rows", Value::array([row])),
    ])
}
