//! Managed fields in any encoding: an object, a list of managers, or one field set. The encoding is detected.

use crate::{Error, document::read_bytes, place::Place};
use std::path::Path;
use tenure_fields::{
    FieldSet,
    compact::{Encoding, ManagerRecord, decode_object},
};
use tenure_value::{Limits, Value, yaml};

/// Managed fields.
pub enum Input {
    /// The managers of an object.
    Managers(Vec<ManagerRecord>),
    /// A single field set.
    Set(FieldSet),
}

impl Input {
    /// Reads a file, or standard input where it is `-`.
    pub fn read(file: &Path) -> Result<Input, Error> {
        let bytes = read_bytes(file)?;
        Input::parse(&bytes).map_err(|problem| Error::document(&Place::of(file), problem))
    }

    fn parse(bytes: &[u8]) -> Result<Input, String> {
        let message = |error: tenure_fields::Error| error.to_string();
        let text = bytes.trim_ascii();
        if let Some(digits) = text.strip_prefix(b"0x") {
            return Input::binary(&from_hexadecimal(digits)?);
        }
        match text.first() {
            None => Err("it is empty; give an object, a field set or one of its compact forms".into()),
            Some(b'[') => {
                match Encoding::NestedLists.decode(text).or_else(|_| Encoding::StringTable.decode(text)) {
                    Ok(set) => Ok(Input::Set(set)),
                    Err(error) => Input::document(text).map_err(|_| message(error)),
                }
            }
            Some(b'{' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'#' | b'"') => Input::document(text),
            Some(_) => Input::binary(bytes),
        }
    }

    fn binary(bytes: &[u8]) -> Result<Input, String> {
        let managers = bytes.first().is_some_and(|version| version & 0x80 != 0);
        match managers {
            true => decode_object(bytes).map(Input::Managers),
            false => Encoding::Binary.decode(bytes).map(Input::Set),
        }
        .map_err(|error| error.to_string())
    }

    /// Reads JSON or YAML: an object, its `managedFields`, or one FieldsV1 set.
    fn document(text: &[u8]) -> Result<Input, String> {
        let value = yaml::parse_any(text, &Limits::TRUSTED).map_err(|error| error.to_string())?;
        if let Some(entries) = value.at(["metadata", "managedFields"]).or(value.get("managedFields")) {
            return records(entries).map(Input::Managers);
        }
        if value.as_array().is_some() {
            return records(&value).map(Input::Managers);
        }
        if value.get("apiVersion").is_some() {
            return Err("metadata.managedFields is missing; get the object with `kubectl get -o yaml \
                        --show-managed-fields`"
                .into());
        }
        let set = tenure_fields::fields_v1::from_value(&value);
        set.map(Input::Set).map_err(|error| error.to_string())
    }

    /// Keeps the managers of a name, or all.
    pub fn only(self, name: Option<&str>) -> Result<Input, String> {
        let (Input::Managers(records), Some(name)) = (&self, name) else { return Ok(self) };
        let named: Vec<ManagerRecord> =
            records.iter().filter(|record| record.manager == name).cloned().collect();
        if named.is_empty() {
            let names: Vec<&str> = records.iter().map(|record| record.manager.as_str()).collect();
            return Err(format!("no manager is named {name:?}; the managers are {}", names.join(", ")));
        }
        Ok(Input::Managers(named))
    }
}

/// Reads the entries of `managedFields`.
pub fn records(entries: &Value) -> Result<Vec<ManagerRecord>, String> {
    let entries = entries
        .as_array()
        .ok_or_else(|| format!("managedFields must be a list, found {}", entries.kind()))?;
    let record = |(at, entry): (usize, &Value)| {
        ManagerRecord::from_value(entry).map_err(|error| format!("managedFields[{at}]: {error}"))
    };
    entries.iter().enumerate().map(record).collect()
}

fn from_hexadecimal(digits: &[u8]) -> Result<Vec<u8>, String> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some((digit(high)? * 16 + digit(low)?) as u8),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(pair).collect();
    bytes.ok_or_else(|| "0x must be followed by pairs of hexadecimal digits".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_detected() {
        let set = Encoding::FieldsV1
            .decode(br#"{"f:spec":{".":{},"f:ports":{"k:{\"port\":80}":{"f:name":{}}}}}"#)
            .unwrap();
        for form in Encoding::ALL {
            let Ok(Input::Set(read)) = Input::parse(&form.encode(&set).unwrap()) else { panic!("{form}") };
            assert_eq!(read, set, "{form}");
        }
        for form in Encoding::ALL {
            let Ok(Input::Set(read)) = Input::parse(&form.encode(&FieldSet::default()).unwrap()) else {
                panic!("{form}")
            };
            assert!(read.is_empty(), "{form}");
        }
        let hexadecimal: String =
            Encoding::Binary.encode(&set).unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(
            matches!(Input::parse(format!("0x{hexadecimal}\n").as_bytes()), Ok(Input::Set(read)) if read == set)
        );
    }

    #[test]
    fn input_without_managers_is_an_error() {
        let error = |text: &str| Input::parse(text.as_bytes()).map(|_| ()).unwrap_err();
        assert!(error("apiVersion: v1\nkind: Pod\n").contains("--show-managed-fields"));
        assert!(error("").contains("it is empty"));
        assert!(error("0x1").contains("pairs"));
        assert!(error("[7").contains("unknown table 7"), "{}", error("[7"));
    }
}
