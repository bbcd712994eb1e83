//! Conversion between entries of `managedFields` and records of the binary encoding. An operation or
//! `fieldsType` that only another release knows is preserved.

use super::ManagerRecord;
use crate::{Error, fields_v1};
use tenure_value::{Text, Value};

impl ManagerRecord {
    /// Converts an entry of `managedFields`.
    ///
    /// ```
    /// use tenure_fields::compact::ManagerRecord;
    ///
    /// let entry = r#"{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}},"manager":"kubectl","operation":"Apply"}"#;
    /// let entry = entry.parse().unwrap();
    /// assert_eq!(ManagerRecord::from_value(&entry)?.to_value(), entry);
    /// # Ok::<(), tenure_fields::Error>(())
    /// ```
    pub fn from_value(entry: &Value) -> Result<ManagerRecord, Error> {
        let wrong = |path: &str, problem: String| Error::Document { path: path.to_owned(), problem };
        let object = entry.as_object().ok_or_else(|| {
            wrong("managedFields", format!("expected an entry with a manager and its fields, found {entry}"))
        })?;
        let text = |name: &str| match object.get(name) {
            None | Some(Value::Null) => Ok(Text::default()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(wrong(name, format!("expected a string, found {other}"))),
        };
        Ok(ManagerRecord {
            manager: text("manager")?,
            operation: text("operation")?,
            api_version: text("apiVersion")?,
            time: text("time")?,
            subresource: text("subresource")?,
            fields_type: text("fieldsType")?,
            fields: object.get("fieldsV1").map(fields_v1::from_value).transpose()?,
        })
    }

    /// Returns the entry of `managedFields`.
    pub fn to_value(&self) -> Value {
        let texts = [
            ("manager", &self.manager),
            ("operation", &self.operation),
            ("apiVersion", &self.api_version),
            ("time", &self.time),
            ("subresource", &self.subresource),
            ("fieldsType", &self.fields_type),
        ];
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        let texts = texts.map(|(name, text)| (name, Value::String(text.clone())));
        let fields = self.fields.iter().map(|fields| ("fieldsV1", fields_v1::to_value(fields)));
        Value::object(texts.chain(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_round_trip() {
        for text in [
            "{}",
            r#"{"fieldsType":"FieldsV2","manager":"later","operation":"Guess"}"#,
            r#"{"apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{},"manager":"a","operation":"Update","subresource":"status","time":"2026-01-02T03:04:05Z"}"#,
        ] {
            let entry: Value = text.parse().unwrap();
            assert_eq!(ManagerRecord::from_value(&entry).map(|record| record.to_value()), Ok(entry));
        }
    }

    #[test]
    fn invalid_entries_are_rejected() {
        let error = |text: &str| ManagerRecord::from_value(&text.parse().unwrap()).unwrap_err().to_string();
        assert_eq!(error(r#"{"manager":1}"#), "manager: expected a string, found 1");
        assert!(error("[]").starts_with("managedFields: expected an entry"));
    }
}
