//! The compact form of `managedFields`: all managers of an object in one entry, in the binary encoding of `tenure-fields`. The
//! entry names the table that the bytes were written with; a reader without that table refuses them and never guesses.

use crate::{ApplyError, Manager, Operation, Timestamp};
use tenure_fields::compact::{ManagerRecord, decode_object, decode_object_within, encode_object, tables};
use tenure_value::{Text, Value, base64};

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

/// Encodes managers with the current table.
pub(crate) fn encode<'m>(managers: impl Iterator<Item = &'m Manager>) -> Result<Vec<u8>, ApplyError> {
    let records: Vec<ManagerRecord> = managers.map(record).collect();
    encode_object(&records).map_err(|error| problem(format!("managers cannot be encoded: {error}")))
}

/// Decodes managers, in the order in which they were encoded.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<Manager>, ApplyError> {
    let records = decode_object(bytes).map_err(|error| problem(error.to_string()))?;
    records.into_iter().map(from_record).collect::<Result<Vec<_>, String>>().map_err(problem)
}

fn problem(problem: String) -> ApplyError {
    ApplyError::BadManager { index: 0, problem }
}

fn record(manager: &Manager) -> ManagerRecord {
    ManagerRecord {
        manager: manager.name.clone(),
        operation: manager.operation.as_str().into(),
        api_version: manager.api_version.clone(),
        time: manager.time.map(|time| time.text().into()).unwrap_or_default(),
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
