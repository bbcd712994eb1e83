//! Field sets in all their forms: `FieldsV1`, nested lists, nested lists with a string table, and bytes.

use crate::{Error, ErrorKind};
use tenure_apply::Managers;
use tenure_fields::{
    FieldSet, Path,
    compact::{Encoding, ManagerRecord, decode_object, encode_object},
    fields_v1,
};
use tenure_value::{Limits, Value, json};

/// An encoded set, or the encoded managers of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoded {
    /// A form that is text.
    Text(String),
    /// The binary form.
    Bytes(Vec<u8>),
}

/// Encodes a set or the managers of an object. `document` is a FieldsV1 object, a list as in `metadata.managedFields`, or an object with
/// such a list. The forms are those of `tenure fields encode`; only `binary` and `fields-v1` hold several managers.
pub fn encode(document: &Value, form: &str) -> Result<Encoded, Error> {
    let encoding: Encoding =
        form.parse().map_err(|error: tenure_fields::Error| Error::argument(error.to_string()))?;
    let bytes = match (read(document)?, encoding) {
        (Content::Set(set), encoding) => encoding.encode(&set)?,
        (Content::Managers(records), Encoding::Binary) => encode_object(&records)?,
        (Content::Managers(records), Encoding::FieldsV1) => json::to_vec(&entries(&records)),
        (Content::Managers(records), encoding) => match records.as_slice() {
            [one] => encoding.encode(&one.fields.clone().unwrap_or_default())?,
            several => {
                let message = format!(
                    "{form} holds one set and there are {} managers; encode the fieldsV1 of one of them",
                    several.len()
                );
                return Err(Error::argument(message));
            }
        },
    };
    match encoding {
        Encoding::Binary => Ok(Encoded::Bytes(bytes)),
        _ => String::from_utf8(bytes)
            .map(Encoded::Text)
            .map_err(|error| Error::new(ErrorKind::InvalidObject, error.to_string())),
    }
}

/// Decodes any form that [`encode`] writes. The result is a FieldsV1 object, or a list as in `metadata.managedFields`.
pub fn decode(bytes: &[u8]) -> Result<Value, Error> {
    match content(bytes)? {
        Content::Set(set) => Ok(fields_v1::to_value(&set)),
        Content::Managers(records) => Ok(entries(&records)),
    }
}

/// Returns `managedFields` with an entry for each manager, whatever form they have.
pub fn expand(managed_fields: &Value) -> Result<Value, Error> {
    Ok(Managers::from_value(managed_fields)?.to_value())
}

/// Returns `managedFields` as one compact entry for all managers.
pub fn compact(managed_fields: &Value) -> Result<Value, Error> {
    Ok(Value::array([Managers::from_value(managed_fields)?.to_compact()?.to_value()]))
}

/// Returns the paths of a FieldsV1 object, in their order.
pub fn paths(set: &Value) -> Result<Vec<String>, Error> {
    let set = fields_v1::from_value(set)?;
    Ok((&set).into_iter().map(|path| path.quoted().to_string()).collect())
}

/// Returns the FieldsV1 object of paths, as [`paths`] writes them.
pub fn from_paths(paths: &[String]) -> Result<Value, Error> {
    let paths = paths.iter().map(|text| Path::parse(text)).collect::<Result<Vec<Path>, _>>();
    let paths = paths.map_err(|error| Error::argument(error.to_string()))?;
    Ok(fields_v1::to_value(&paths.iter().collect::<FieldSet>()))
}

enum Content {
    Managers(Vec<ManagerRecord>),
    Set(FieldSet),
}

fn entries(records: &[ManagerRecord]) -> Value {
    Value::array(records.iter().map(ManagerRecord::to_value))
}

fn content(bytes: &[u8]) -> Result<Content, Error> {
    match bytes.trim_ascii_start().first() {
        None => Err(Error::argument("there is nothing to decode; give a set in one of its forms")),
        Some(b'[') => {
            let set = Encoding::NestedLists.decode(bytes).or_else(|_| Encoding::StringTable.decode(bytes));
            set.map(Content::Set).or_else(|error| document(bytes).map_err(|_| error.into()))
        }
        Some(b'{') => document(bytes),
        Some(_) if bytes.first().is_some_and(|version| version & 0x80 != 0) => {
            Ok(Content::Managers(decode_object(bytes)?))
        }
        Some(_) => Ok(Content::Set(Encoding::Binary.decode(bytes)?)),
    }
}

fn document(bytes: &[u8]) -> Result<Content, Error> {
    let value = json::parse(bytes, &Limits::TRUSTED).map_err(|error| Error::argument(error.to_string()))?;
    read(&value)
}

/// Reads a FieldsV1 object, a list of managers, or an object with managers.
fn read(value: &Value) -> Result<Content, Error> {
    let managers = value.at(["metadata", "managedFields"]).or_else(|| value.get("managedFields"));
    match managers.unwrap_or(value) {
        list @ Value::Array(_) => {
            let expanded = Managers::from_value(list)?.to_value();
            let records = expanded.as_array().into_iter().flatten().map(ManagerRecord::from_value);
            Ok(Content::Managers(records.collect::<Result<_, _>>()?))
        }
        _ if value.get("apiVersion").is_some() => {
            Err(Error::argument("metadata.managedFields is missing; get the object with its managed fields"))
        }
        set => Ok(Content::Set(fields_v1::from_value(set)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_back() {
        let set: Value =
            r#"{"f:spec":{"f:replicas":{},"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{}}}}}"#
                .parse()
                .unwrap();
        for form in Encoding::ALL.map(Encoding::name) {
            let bytes = match encode(&set, form).unwrap() {
                Encoded::Text(text) => text.into_bytes(),
                Encoded::Bytes(bytes) => bytes,
            };
            assert_eq!(decode(&bytes), Ok(set.clone()), "{form}");
        }
        let listed = paths(&set).unwrap();
        assert_eq!(listed.len(), 3);
        assert_eq!(from_paths(&listed), Ok(set.clone()));
        let managers: Value = format!(
            r#"[{{"manager":"a","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{set}}},
            {{"manager":"b","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{set}}}]"#
        )
        .parse()
        .unwrap();
        for form in ["binary", "fields-v1"] {
            let bytes = match encode(&managers, form).unwrap() {
                Encoded::Text(text) => text.into_bytes(),
                Encoded::Bytes(bytes) => bytes,
            };
            assert_eq!(decode(&bytes), Ok(managers.clone()), "{form}");
        }
        assert_eq!(expand(&compact(&managers).unwrap()), Ok(managers.clone()));
        assert!(encode(&managers, "nested-lists").unwrap_err().message.contains("2 managers"));
        assert!(encode(&set, "xml").is_err() && decode(b"").is_err() && decode(b"{]").is_err());
    }
}
