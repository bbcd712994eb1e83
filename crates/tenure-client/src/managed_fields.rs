//! Managed fields as they travel: compact from a server that has the table of this release, `FieldsV1` from every other. What the
//! commands see is always `FieldsV1`.

use std::sync::LazyLock;
use tenure_apply::{ApplyError, CompactManagers, Managers};
use tenure_fields::compact::tables;
use tenure_value::{Object, Value};

/// Returns what a client accepts that wants objects as JSON. Servers that do not know the parameters ignore them.
pub(crate) fn accepted() -> &'static str {
    static ACCEPTED: LazyLock<String> = LazyLock::new(|| match tables::current_hash() {
        Ok(hash) => format!("application/json;managedFields=compact;table={hash}"),
        Err(_) => "application/json".to_owned(),
    });
    &ACCEPTED
}

/// Returns an object, a list of objects or an event about one with the managers as `FieldsV1`.
pub(crate) fn expanded(document: Value) -> Result<Value, ApplyError> {
    let Value::Object(mut fields) = document else { return Ok(document) };
    let compact = |entries: &Value| {
        entries.as_array().is_some_and(|entries| entries.iter().any(CompactManagers::is_entry))
    };
    if let Some(metadata) = fields.get("metadata").and_then(Value::as_object)
        && let Some(entries) = metadata.get("managedFields").filter(|entries| compact(entries))
    {
        let entries = Managers::from_value(entries)?.to_value();
        fields = fields.with("metadata", metadata.with("managedFields", entries));
    }
    if let Some(items) = fields.get("items").and_then(Value::as_array) {
        let items = items.iter().cloned().map(expanded).collect::<Result<Vec<_>, _>>()?;
        fields = fields.with("items", Value::array(items));
    }
    Ok(Value::Object(in_event(fields)?))
}

/// Expands the managers of the object in an event.
fn in_event(fields: Object) -> Result<Object, ApplyError> {
    match (fields.get("type"), fields.get("object")) {
        (Some(Value::String(_)), Some(object @ Value::Object(_))) if fields.len() == 2 => {
            let object = expanded(object.clone())?;
            Ok(fields.with("object", object))
        }
        _ => Ok(fields),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_apply::ManagedFieldsForm;

    const ENTRY: &str = r#"[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}}},"manager":"a","operation":"Apply"}]"#;

    fn object(entries: &Value) -> Value {
        Value::object([
            ("kind", Value::from("ConfigMap")),
            ("metadata", Value::object([("name", Value::from("a")), ("managedFields", entries.clone())])),
        ])
    }

    #[test]
    fn compact_managers_are_expanded_wherever_objects_are() {
        let entries: Value = ENTRY.parse().unwrap();
        let compact = Managers::from_value(&entries).unwrap().to_value_as(ManagedFieldsForm::Compact);
        let list = |entries: &Value| Value::object([("items", Value::array([object(entries)]))]);
        let event =
            |entries: &Value| Value::object([("type", Value::from("ADDED")), ("object", object(entries))]);
        for around in [object, list, event] {
            assert_eq!(expanded(around(&compact)).unwrap(), around(&entries));
            assert_eq!(expanded(around(&entries)).unwrap(), around(&entries));
        }
        assert_eq!(expanded(Value::from("text")).unwrap(), Value::from("text"));
        let unknown = Value::array([Value::object([("fieldsType", Value::from("Compact/0"))])]);
        assert!(expanded(object(&unknown)).unwrap_err().to_string().contains("has no table"));
        assert!(accepted().starts_with("application/json;managedFields=compact;table="));
    }
}
