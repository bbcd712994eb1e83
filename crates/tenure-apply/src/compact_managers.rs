//! The compact form of `managedFields`: all managers of an object in one entry, in the binary encoding of `tenure-fields`. The
//! entry names the table that the bytes were written with; a reader without that table refuses them and never guesses.

use crate::{ApplyError, Manager, Managers, Operation, Timestamp};
use tenure_fields::{
    FieldSet,
    compact::{ManagerRecord, decode_object, decode_object_within, encode_object, tables},
};
use tenure_value::{
    Text, Value, base64,
    json::{self, Style},
};

/// How `metadata.managedFields` is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ManagedFieldsForm {
    /// As an entry with `FieldsV1` for each manager.
    #[default]
    FieldsV1,
    /// As one entry for all managers, in the compact encoding.
    Compact,
    /// Not at all.
    Omitted,
}

/// The beginning of the `fieldsType` of a compact entry; the content hash of its table follows.
const COMPACT: &str = "Compact/";

/// The most content of a compact entry in a request, counted as in [`decode_object_within`]: about what a request of the largest
/// size has as `FieldsV1`.
const MAX_CONTENT: u64 = 3 << 20;

/// All managers of an object in the compact encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactManagers {
    /// The `fieldsType` of the entry, which names the table.
    pub fields_type: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl CompactManagers {
    /// Returns the `fieldsType` of entries that this release writes.
    pub fn fields_type() -> Result<String, ApplyError> {
        let hash = tables::current_hash().map_err(|error| problem(error.to_string()))?;
        Ok(format!("{COMPACT}{hash}"))
    }

    /// Whether an entry of `managedFields` is compact.
    pub fn is_entry(entry: &Value) -> bool {
        entry.get("fieldsType").and_then(Value::as_str).is_some_and(|name| name.starts_with(COMPACT))
    }

    /// Returns the entry of `managedFields`.
    pub fn to_value(&self) -> Value {
        Value::object([
            ("fieldsType", Value::from(self.fields_type.as_str())),
            ("fieldsV1", Value::from(base64::encode(&self.bytes))),
        ])
    }

    /// Reads the managers of a compact entry.
    pub(crate) fn read(entry: &Value) -> Result<Vec<Manager>, String> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let hash = text("fieldsType").strip_prefix(COMPACT).unwrap_or_default();
        let table = tables::with_hash(hash).ok_or_else(|| {
            format!("fieldsType: this release has no table {hash:?}; send the managers as FieldsV1")
        })?;
        let bytes = base64::decode(text("fieldsV1"))
            .map_err(|at| format!("fieldsV1: expected base64, got an invalid character at {at}"))?;
        if bytes.first().is_none_or(|first| u32::from(first & 0x7f) != table.version()) {
            return Err(format!("fieldsV1: the bytes were not written with table {hash:?}"));
        }
        let records =
            decode_object_within(&bytes, MAX_CONTENT).map_err(|error| format!("fieldsV1: {error}"))?;
        records.iter().try_for_each(check)?;
        records.into_iter().map(from_record).collect()
    }
}

impl Managers {
    /// Encodes all managers with the current table.
    pub fn to_compact(&self) -> Result<CompactManagers, ApplyError> {
        Ok(CompactManagers { fields_type: CompactManagers::fields_type()?, bytes: self.encode()? })
    }

    /// Encodes all managers for a store.
    pub fn encode(&self) -> Result<Vec<u8>, ApplyError> {
        let records: Vec<ManagerRecord> = self.iter().map(record).collect();
        encode_object(&records).map_err(|error| problem(format!("managers cannot be encoded: {error}")))
    }

    /// Decodes all managers of a store, in the order in which they were encoded.
    pub fn decode(bytes: &[u8]) -> Result<Managers, ApplyError> {
        let records = decode_object(bytes).map_err(|error| problem(error.to_string()))?;
        let managers = records.into_iter().map(from_record).collect::<Result<Vec<_>, String>>();
        Ok(Managers::new(managers.map_err(problem)?))
    }

    /// Returns the value of `metadata.managedFields` in a form. Managers that have no compact form, because they own far more than
    /// any object has, are shown as `FieldsV1`.
    pub fn to_value_as(&self, form: ManagedFieldsForm) -> Value {
        match form {
            ManagedFieldsForm::Omitted => Value::Null,
            ManagedFieldsForm::FieldsV1 => self.to_value(),
            ManagedFieldsForm::Compact => match self.to_compact() {
                Ok(compact) => Value::array([compact.to_value()]),
                Err(_) => self.to_value(),
            },
        }
    }

    /// Appends the value of `metadata.managedFields` in a form as JSON; `fields` appends a set, as for
    /// [`write_json`](Managers::write_json).
    pub fn write_json_as(
        &self,
        form: ManagedFieldsForm,
        out: &mut Vec<u8>,
        fields: impl Fn(&FieldSet, &mut Vec<u8>),
    ) {
        if form != ManagedFieldsForm::Compact {
            return self.write_json(out, fields);
        }
        let Ok(compact) = self.to_compact() else { return self.write_json(out, fields) };
        out.extend_from_slice(b"[{\"fieldsType\":");
        json::write_text(&compact.fields_type, Style::Kubernetes, out);
        out.extend_from_slice(b",\"fieldsV1\":\"");
        out.extend_from_slice(base64::encode(&compact.bytes).as_bytes());
        out.extend_from_slice(b"\"}]");
    }
}

fn problem(problem: String) -> ApplyError {
    ApplyError::BadManager { index: 0, problem }
}

fn record(manager: &Manager) -> ManagerRecord {
    ManagerRecord {
        manager: manager.name.clone(),
        operation: manager.operation.as_str().into(),
        api_version: manager.api_version.clone(),
        time: manager.time.map(|time| time.to_string().into()).unwrap_or_default(),
        subresource: manager.subresource.clone(),
        fields_type: Text::new_static("FieldsV1"),
        fields: Some(manager.fields.clone()),
    }
}

/// Checks what a client may have written differently from a store.
fn check(record: &ManagerRecord) -> Result<(), String> {
    if record.api_version.is_empty() {
        return Err("apiVersion: must not be empty".to_owned());
    }
    if record.fields_type != "FieldsV1" {
        return Err(format!("fieldsType: expected FieldsV1, got {:?}", record.fields_type));
    }
    match record.time.as_str() {
        given if !given.is_empty() && Timestamp::parse(given).is_none() => {
            Err(format!("time: expected a time such as 2020-01-02T03:04:05Z, got {given:?}"))
        }
        _ => Ok(()),
    }
}

fn from_record(record: ManagerRecord) -> Result<Manager, String> {
    let operation = match record.operation.as_str() {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        other => return Err(format!("operation: expected Apply or Update, got {other:?}")),
    };
    Ok(Manager {
        name: record.manager,
        operation,
        api_version: record.api_version,
        subresource: record.subresource,
        time: Timestamp::parse(&record.time),
        fields: record.fields.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_fields::fields_v1;

    fn managers() -> Managers {
        let manager = |name: &str, operation, subresource: &str, fields: &str| Manager {
            name: name.into(),
            operation,
            api_version: "apps/v1".into(),
            subresource: subresource.into(),
            time: Timestamp::parse("2026-01-02T03:04:05Z"),
            fields: fields_v1::parse(fields.as_bytes()).unwrap(),
        };
        Managers::new([
            manager(
                "kubectl",
                Operation::Apply,
                "",
                r#"{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{}}}}}}}"#,
            ),
            manager("controller", Operation::Update, "status", r#"{"f:status":{"f:replicas":{}}}"#),
        ])
    }

    #[test]
    fn compact_managers_are_read_as_they_were_written() {
        for managers in [Managers::default(), managers()] {
            for form in [ManagedFieldsForm::Compact, ManagedFieldsForm::FieldsV1] {
                let value = managers.to_value_as(form);
                assert_eq!(Managers::from_value(&value).unwrap(), managers);
                let mut text = Vec::new();
                managers.write_json_as(form, &mut text, fields_v1::write);
                assert_eq!(String::from_utf8(text).unwrap(), value.to_string());
            }
        }
        let compact = managers().to_value_as(ManagedFieldsForm::Compact).to_string();
        assert!(compact.len() * 2 < managers().to_value().to_string().len(), "{compact}");
    }

    #[test]
    fn entries_of_another_table_are_refused() {
        let CompactManagers { fields_type, bytes } = managers().to_compact().unwrap();
        let error = |fields_type: &str, bytes: &[u8]| {
            let entry = CompactManagers { fields_type: fields_type.into(), bytes: bytes.to_vec() }.to_value();
            Managers::from_value(&Value::array([entry])).unwrap_err().to_string()
        };
        let unknown = error("Compact/00000000000000000000000000000000", &bytes);
        assert!(unknown.contains("send the managers as FieldsV1"), "{unknown}");
        let mut other = bytes.clone();
        other[0] ^= 0x7f;
        assert!(error(&fields_type, &other).contains("were not written with table"));
        assert!(error(&fields_type, &[]).contains("were not written with table"));
        assert!(error(&fields_type, &bytes[..bytes.len() - 1]).contains("fieldsV1: "));
        let entry = Value::object([("fieldsType", Value::from(fields_type)), ("fieldsV1", Value::from("*"))]);
        let text = Managers::from_value(&Value::array([entry])).unwrap_err().to_string();
        assert!(text.contains("expected base64"), "{text}");
    }
}
