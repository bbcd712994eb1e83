//! An object as it is stored and as the API returns it. A stored value is the managers in their compact encoding, followed by
//! the JSON of the object; the resource version is the revision of the entry and is not stored.

use bytes::Bytes;
use tenure_apply::{ManagedFieldsForm, Managers};
use tenure_fields::FieldSet;
use tenure_http::MetaVersion;
use tenure_meta::{ApiError, Resource};
use tenure_store::{Entry, Revision};
use tenure_value::{
    Limits, Object, Text, Value,
    json::{self, ObjectPrinter, Style},
};

/// The first byte of every stored value.
const FORMAT: u8 = 1;
/// The initial capacity of a buffer: most objects fit, with their managers.
const ROOM: usize = 8 * 1024;

/// An object with its managers, at one revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The object, without `managedFields` and `resourceVersion`.
    pub object: Value,
    /// The field managers.
    pub managers: Managers,
    /// The revision of its last change.
    pub revision: Revision,
}

impl Stored {
    /// Reads an entry of the store.
    pub fn read(entry: &Entry) -> Result<Stored, ApiError> {
        decode(&entry.value.bytes())
            .map(|(object, managers)| Stored { object, managers, revision: entry.modified })
            .map_err(|why| unreadable(entry, &why))
    }

    /// Reads an entry of the store without its managers.
    pub fn read_object(entry: &Entry) -> Result<Stored, ApiError> {
        let object = split(&entry.value.bytes())
            .and_then(|(_, object)| json::parse(object, &Limits::TRUSTED).map_err(|error| error.to_string()));
        object
            .map(|object| Stored { object, managers: Managers::default(), revision: entry.modified })
            .map_err(|why| unreadable(entry, &why))
    }

    /// Returns the object as clients see it.
    pub fn shown(&self) -> Value {
        shown(&self.object, Some(&self.managers), Some(self.revision))
    }

    /// Returns the object as clients see it, as JSON: the text of [`shown`](Stored::shown), without building
    /// the document of the managers.
    pub fn to_json(&self, form: ManagedFieldsForm, fields: impl Fn(&FieldSet, &mut Vec<u8>)) -> Vec<u8> {
        Document::print(&self.object).with_metadata(self, form, fields)
    }
}

fn unreadable(entry: &Entry, why: &str) -> ApiError {
    ApiError::internal(format!("the stored value of {} cannot be read: {why}", entry.key.escape_ascii()))
}

/// An object as JSON: as it is stored and, except for what the API adds to its metadata, as it is returned.
pub struct Document {
    text: Bytes,
    /// The offsets in the text where `managedFields` and `resourceVersion` are inserted; `None` for a document without
    /// such places, which no stored object is.
    seams: Option<[usize; 2]>,
}

impl Document {
    fn print(object: &Value) -> Document {
        let mut text = Vec::with_capacity(ROOM);
        let seams = print(object, &mut text);
        Document { text: text.into(), seams }
    }

    /// Returns the text with what the API adds to the metadata of the object that it is of; `fields` prints the
    /// fields of a manager, as [`fields_v1::write`](tenure_fields::fields_v1::write) does.
    pub fn with_metadata(
        &self,
        stored: &Stored,
        form: ManagedFieldsForm,
        fields: impl Fn(&FieldSet, &mut Vec<u8>),
    ) -> Vec<u8> {
        let held = Some(&stored.managers).filter(|_| form != ManagedFieldsForm::Omitted);
        let Some([managers_at, version_at]) = self.seams else {
            return json::to_vec(&shown_as(&stored.object, &stored.managers, form, stored.revision));
        };
        let mut out = Vec::with_capacity(ROOM);
        out.extend_from_slice(&self.text[..managers_at]);
        if let Some(held) = held.filter(|held| !held.is_empty()) {
            out.extend_from_slice(b"\"managedFields\":");
            held.write_json_as(form, &mut out, fields);
            out.push(b',');
        }
        out.extend_from_slice(&self.text[managers_at..version_at]);
        if stored.revision != Revision::ZERO {
            out.extend_from_slice(b"\"resourceVersion\":\"");
            out.extend_from_slice(itoa::Buffer::new().format(stored.revision.get()).as_bytes());
            out.extend_from_slice(b"\",");
        }
        out.extend_from_slice(&self.text[version_at..]);
        out
    }
}

/// Prints an object, and returns the seams of the text.
fn print(object: &Value, out: &mut Vec<u8>) -> Option<[usize; 2]> {
    let metadata = object.as_object().zip(object.get("metadata").and_then(Value::as_object));
    let Some((fields, metadata)) = metadata.filter(|(_, metadata)| has_seams(metadata)) else {
        json::write(object, out);
        return None;
    };
    let mut seams = [0, 0];
    ObjectPrinter::append(out, Style::Kubernetes, |printer| {
        printer.object(fields, |printer, _, name, value| match name {
            "metadata" => printer.object(metadata, |printer, start, name, value| {
                for (seam, added) in seams.iter_mut().zip(ADDED) {
                    if *seam == 0 && name > added {
                        *seam = start;
                    }
                }
                printer.value(value);
            }),
            _ => printer.value(value),
        });
    });
    Some(seams)
}

/// What the API adds to metadata, in order.
const ADDED: [&str; 2] = ["managedFields", "resourceVersion"];

/// Whether metadata has none of what the API adds, and something behind it.
fn has_seams(metadata: &Object) -> bool {
    metadata.fields().last().is_some_and(|(last, _)| last.as_str() > ADDED[1])
        && !ADDED.iter().any(|name| metadata.contains(name))
}

/// An object as it goes into the store.
pub struct Encoded {
    /// The value of the store.
    pub value: Bytes,
    /// The part of the value that is the object.
    pub document: Document,
}

/// Writes an object and its managers for the store.
pub fn encode(object: &Value, managers: &Managers) -> Result<Bytes, ApiError> {
    Ok(encode_new(object, managers)?.value)
}

/// Writes a new object and its managers for the store.
pub fn encode_new(object: &Value, managers: &Managers) -> Result<Encoded, ApiError> {
    Ok(join(&compact(managers)?, object))
}

/// Writes an object for the store that takes the place of a live one, of which the store has this value. Managers that
/// are as they were, as those of an object that is written many times a second, are not encoded again.
pub fn encode_after(
    object: &Value,
    managers: &Managers,
    live: &Stored,
    value: Option<&[u8]>,
) -> Result<Encoded, ApiError> {
    match value.filter(|_| live.managers == *managers).map(split) {
        Some(Ok((same, _))) => Ok(join(same, object)),
        _ => Ok(join(&compact(managers)?, object)),
    }
}

fn compact(managers: &Managers) -> Result<Vec<u8>, ApiError> {
    managers.encode().map_err(|error| ApiError::internal(error.to_string()))
}

fn join(compact: &[u8], object: &Value) -> Encoded {
    let mut bytes = Vec::with_capacity(ROOM);
    bytes.push(FORMAT);
    bytes.extend((compact.len() as u32).to_le_bytes());
    bytes.extend_from_slice(compact);
    let start = bytes.len();
    let seams = print(object, &mut bytes).map(|seams| seams.map(|seam| seam - start));
    let value = Bytes::from(bytes);
    Encoded { document: Document { text: value.slice(start..), seams }, value }
}

/// Splits a value of the store into managers and object.
pub(crate) fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), String> {
    let [FORMAT, rest @ ..] = bytes else { return Err("it is of an unknown format".into()) };
    let (length, rest) = rest.split_first_chunk::<4>().ok_or("it is too short")?;
    Ok(rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or("it is too short")?)
}

/// Reads the object and the managers of a value of the store, or says what is wrong with it.
pub fn decode(bytes: &[u8]) -> Result<(Value, Managers), String> {
    let (compact, document) = split(bytes)?;
    let managers = Managers::decode(compact).map_err(|error| error.to_string())?;
    let object = json::parse(document, &Limits::TRUSTED).map_err(|error| error.to_string())?;
    Ok((object, managers))
}

/// Returns an object with what the API adds to its metadata, the managers in a form.
pub fn shown_as(object: &Value, managers: &Managers, form: ManagedFieldsForm, revision: Revision) -> Value {
    with_added(object, Some(managers).filter(|_| form != ManagedFieldsForm::Omitted), form, Some(revision))
}

/// Returns an object with what the API adds to its metadata.
pub fn shown(object: &Value, managers: Option<&Managers>, revision: Option<Revision>) -> Value {
    with_added(object, managers, ManagedFieldsForm::FieldsV1, revision)
}

fn with_added(
    object: &Value,
    managers: Option<&Managers>,
    form: ManagedFieldsForm,
    revision: Option<Revision>,
) -> Value {
    let Some(fields) = object.as_object() else { return object.clone() };
    let metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let managed = managers
        .filter(|managers| !managers.is_empty())
        .map(|managers| ("managedFields", managers.to_value_as(form)));
    let version = revision
        .filter(|revision| *revision != Revision::ZERO)
        .map(|revision| ("resourceVersion", Value::from(revision.to_string())));
    Value::Object(fields.with("metadata", insert(&metadata, managed.into_iter().chain(version))))
}

/// Returns an object with a few fields set, in one copy.
fn insert<'a>(object: &Object, added: impl Iterator<Item = (&'a str, Value)>) -> Object {
    let mut fields = object.fields().to_vec();
    for (name, value) in added {
        match fields.binary_search_by(|(field, _)| field.as_str().cmp(name)) {
            Ok(at) => fields[at].1 = value,
            Err(at) => fields.insert(at, (Text::new(name), value)),
        }
    }
    Object::from_sorted(fields)
}

/// Returns the metadata of an object as a `PartialObjectMetadata` of a version.
pub fn partial(object: &Value, version: MetaVersion) -> Value {
    Value::object([
        ("apiVersion", Value::from(version.api_version())),
        ("kind", Value::from("PartialObjectMetadata")),
        ("metadata", object.get("metadata").cloned().unwrap_or_else(|| Object::default().into())),
    ])
}

/// Returns the metadata of an object.
pub fn metadata(object: &Value) -> Object {
    object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Returns a text of an object's metadata, empty when there is none.
pub fn meta_text<'v>(object: &'v Value, field: &str) -> &'v str {
    object.at(["metadata", field]).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the object with other metadata.
pub fn with_metadata(object: &Value, metadata: Object) -> Value {
    Value::Object(object.as_object().cloned().unwrap_or_default().with("metadata", metadata))
}

/// Returns the object without what only the API adds: `managedFields` and `resourceVersion`.
pub fn bare(object: &Value) -> Value {
    let metadata = metadata(object);
    if !metadata.contains("managedFields") && !metadata.contains("resourceVersion") {
        return object.clone();
    }
    with_metadata(object, metadata.without("managedFields").without("resourceVersion"))
}

/// Returns the fields of a part of an object; none where it is absent.
pub fn fields(part: Option<&Value>) -> Object {
    part.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Returns a time in whole seconds, as metadata has it.
pub fn seconds(time: tenure_meta::Timestamp) -> String {
    time.format(tenure_meta::time::Precision::Seconds)
}

/// The prefix of all objects in the store.
pub const OBJECTS: &str = "objects/";

/// Where the objects of a resource are in the store; `namespace` is empty for all of them.
pub fn prefix(resource: &Resource, namespace: &str) -> String {
    place(resource, namespace, "")
}

/// Where an object is in the store.
pub fn key(resource: &Resource, namespace: &str, name: &str) -> String {
    place(resource, namespace, name)
}

fn place(resource: &Resource, namespace: &str, name: &str) -> String {
    let group = if resource.storage.0.is_empty() { "core" } else { &resource.storage.0 };
    let below = if namespace.is_empty() { "" } else { "/" };
    let parts = [OBJECTS, group, "/", &resource.name, "/", namespace, below, name];
    let mut place = String::with_capacity(parts.iter().map(|part| part.len()).sum());
    parts.iter().for_each(|part| place.push_str(part));
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_apply::{Manager, Operation, Timestamp};
    use tenure_fields::fields_v1;

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

    const FORMS: [ManagedFieldsForm; 3] =
        [ManagedFieldsForm::FieldsV1, ManagedFieldsForm::Compact, ManagedFieldsForm::Omitted];

    #[test]
    fn an_object_is_printed_as_it_is_shown() {
        let held = fields(
            r#"{"f:data":{"f:k":{}},"f:list":{"k:{\"name\":\"a<b\"}":{".":{},"f:x":{}},"v:10":{},"v:2":{}}}"#,
        );
        let manager = |name: &str| Manager {
            name: name.into(),
            operation: Operation::Update,
            api_version: "v1".into(),
            subresource: "status".into(),
            time: Timestamp::parse("2026-01-02T03:04:05Z"),
            fields: held.clone(),
        };
        let all = [Managers::default(), Managers::new([manager("alice"), manager("bob \"b\" & co")])];
        for object in [
            "{}",
            r#"{"kind":"ConfigMap"}"#,
            r#"{"a":1,"metadata":{}}"#,
            r#"{"data":{"k":"v"},"metadata":{"labels":{"a":"b"},"name":"a","uid":"u"},"spec":{"x":[1,null]}}"#,
            r#"{"metadata":{"managedFields":[],"resourceVersion":"1"},"z":{}}"#,
            r#"{"metadata":null}"#,
            "[]",
        ] {
            for managers in &all {
                for revision in [Revision::ZERO, Revision::from_number(7)] {
                    let object = object.parse::<Value>().unwrap();
                    let stored = Stored { object, managers: managers.clone(), revision };
                    for say in FORMS {
                        let expected = json::to_string(&shown_as(&stored.object, managers, say, revision));
                        assert_eq!(
                            String::from_utf8(stored.to_json(say, fields_v1::write)).unwrap(),
                            expected
                        );
                        let encoded = encode_after(&stored.object, managers, &stored, None).unwrap();
                        let again =
                            encode_after(&stored.object, managers, &stored, Some(&encoded.value)).unwrap();
                        assert_eq!(encoded.value, again.value);
                        let spliced = again.document.with_metadata(&stored, say, fields_v1::write);
                        assert_eq!(String::from_utf8(spliced).unwrap(), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn a_broken_value_is_an_error() {
        let object: Value = r#"{"kind":"ConfigMap"}"#.parse().unwrap();
        let bytes = encode(&object, &Managers::default()).unwrap();
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "{end}");
        }
        assert!(decode(&[9, 0, 0, 0, 0]).is_err());
        assert!(decode(&[FORMAT, 255, 255, 255, 255, 1]).is_err());
    }
}
