//! An object as the store keeps it and as the API shows it. In the store, managers are in their compact form and
//! stand before the JSON of the rest; the resource version is the entry's revision and stands nowhere.

use crate::{Failure, kinds::Resource};
use bytes::Bytes;
use tenure_apply::{Manager, Managers, Operation, Timestamp};
use tenure_fields::compact::{ManagerRecord, decode_object, encode_object};
use tenure_store::{Entry, Revision};
use tenure_value::{Limits, Object, Text, Value, json};

/// The first byte of every value in the store.
const FORMAT: u8 = 1;

/// An object with its managers, at one revision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored {
    /// The object, without `managedFields` and `resourceVersion`.
    pub object: Value,
    /// Who holds what.
    pub managers: Managers,
    /// The revision of its last change.
    pub revision: Revision,
}

impl Stored {
    /// Reads an entry of the store.
    pub fn read(entry: &Entry) -> Result<Stored, Failure> {
        decode(&entry.value)
            .map(|(object, managers)| Stored { object, managers, revision: entry.modified })
            .map_err(|why| {
                Failure::internal(format!(
                    "the stored value of {} cannot be read: {why}",
                    entry.key.escape_ascii()
                ))
            })
    }

    /// Returns the object as clients see it.
    pub fn shown(&self) -> Value {
        shown(&self.object, Some(&self.managers), Some(self.revision))
    }
}

/// Writes an object and its managers for the store.
pub(crate) fn encode(object: &Value, managers: &Managers) -> Result<Bytes, Failure> {
    let records: Vec<ManagerRecord> = managers.iter().map(record).collect();
    let compact = encode_object(&records)
        .map_err(|error| Failure::internal(format!("managers cannot be encoded: {error}")))?;
    let mut bytes = Vec::with_capacity(compact.len() + 1024);
    bytes.push(FORMAT);
    bytes.extend((compact.len() as u32).to_le_bytes());
    bytes.extend(compact);
    json::write(object, &mut bytes);
    Ok(bytes.into())
}

fn decode(bytes: &[u8]) -> Result<(Value, Managers), String> {
    let [FORMAT, rest @ ..] = bytes else { return Err("it is of an unknown format".into()) };
    let (length, rest) = rest.split_first_chunk::<4>().ok_or("it is too short")?;
    let (compact, document) =
        rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or("it is too short")?;
    let records = decode_object(compact).map_err(|error| error.to_string())?;
    let managers = records.into_iter().map(manager).collect::<Result<Managers, String>>()?;
    let object = json::parse(document, &Limits::TRUSTED).map_err(|error| error.to_string())?;
    Ok((object, managers))
}

fn record(manager: &Manager) -> ManagerRecord {
    ManagerRecord {
        manager: manager.name.clone(),
        operation: manager.operation.as_str().into(),
        api_version: manager.api_version.clone(),
        time: manager.time.map(|time| time.to_string().into()).unwrap_or_default(),
        subresource: manager.subresource.clone(),
        fields_type: "FieldsV1".into(),
        fields: Some(manager.fields.clone()),
    }
}

fn manager(record: ManagerRecord) -> Result<Manager, String> {
    Ok(Manager {
        operation: match record.operation.as_str() {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            other => return Err(format!("{other:?} is no operation of a manager")),
        },
        time: Timestamp::parse(&record.time),
        name: record.manager,
        api_version: record.api_version,
        subresource: record.subresource,
        fields: record.fields.unwrap_or_default(),
    })
}

/// Returns an object with what the API adds to its metadata.
pub(crate) fn shown(object: &Value, managers: Option<&Managers>, revision: Option<Revision>) -> Value {
    let Some(fields) = object.as_object() else { return object.clone() };
    let metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let managed = managers
        .filter(|managers| !managers.is_empty())
        .map(|managers| ("managedFields", managers.to_value()));
    let version = revision
        .filter(|revision| *revision != Revision::ZERO)
        .map(|revision| ("resourceVersion", Value::from(revision.to_string())));
    Value::Object(fields.with("metadata", insert(&metadata, managed.into_iter().chain(version))))
}

/// Returns an object with a few fields set, in one copy.
fn insert<'a>(object: &Object, added: impl Iterator<Item = (&'a str, Value)>) -> Object {
    let mut fields = object.fields().to_vec();
    for (name, value) in added {
        match fields.binary_search_by(|(of, _)| of.as_str().cmp(name)) {
            Ok(at) => fields[at].1 = value,
            Err(at) => fields.insert(at, (Text::new(name), value)),
        }
    }
    Object::from_sorted(fields)
}

/// Returns the metadata of an object.
pub(crate) fn metadata(object: &Value) -> Object {
    object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Returns a text of an object's metadata, empty when there is none.
pub(crate) fn meta_text<'v>(object: &'v Value, field: &str) -> &'v str {
    object.at(["metadata", field]).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the object with other metadata.
pub(crate) fn with_metadata(object: &Value, metadata: Object) -> Value {
    Value::Object(object.as_object().cloned().unwrap_or_default().with("metadata", metadata))
}

/// Returns the object without what only the API adds: `managedFields` and `resourceVersion`.
pub(crate) fn bare(object: &Value) -> Value {
    let metadata = metadata(object);
    if !metadata.contains("managedFields") && !metadata.contains("resourceVersion") {
        return object.clone();
    }
    with_metadata(object, metadata.without("managedFields").without("resourceVersion"))
}

/// Where the objects of a resource are in the store; `namespace` is empty for all of them.
pub(crate) fn prefix(resource: &Resource, namespace: &str) -> String {
    let group = if resource.storage.0.is_empty() { "core" } else { &resource.storage.0 };
    let collection = format!("objects/{group}/{}/", resource.name);
    if namespace.is_empty() { collection } else { format!("{collection}{namespace}/") }
}

/// Where an object is in the store.
pub(crate) fn key(resource: &Resource, namespace: &str, name: &str) -> String {
    prefix(resource, namespace) + name
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_fields::{FieldSet, fields_v1};

    fn fields(text: &str) -> FieldSet {
        fields_v1::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn an_object_is_read_as_it_was_written() {
        let object: Value =
            r#"{"data":{"k":"v"},"kind":"ConfigMap","metadata":{"name":"a"}}"#.parse().unwrap();
        let managers = Managers::new([Manager {
            name: "alice".into(),
            operation: Operation::Apply,
            api_version: "v1".into(),
            subresource: "".into(),
            time: Timestamp::parse("2026-01-02T03:04:05Z"),
            fields: fields(r#"{"f:data":{"f:k":{}}}"#),
        }]);
        let bytes = encode(&object, &managers).unwrap();
        assert_eq!(decode(&bytes).unwrap(), (object.clone(), managers.clone()));
        let shown = shown(&object, Some(&managers), Some(Revision::from_number(7)));
        assert_eq!(shown.at(["metadata", "resourceVersion"]), Some(&Value::from("7")));
        assert_eq!(bare(&shown), object);
    }

    #[test]
    fn a_broken_value_is_an_error_and_no_panic() {
        let object: Value = r#"{"kind":"ConfigMap"}"#.parse().unwrap();
        let bytes = encode(&object, &Managers::default()).unwrap();
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "{end}");
        }
        assert!(decode(&[9, 0, 0, 0, 0]).is_err());
        assert!(decode(&[FORMAT, 255, 255, 255, 255, 1]).is_err());
    }
}
