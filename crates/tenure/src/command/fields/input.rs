//! Managed fields as they come: an object or a list of its managers, one set, and every form of both. A form is
//! known by how it begins, so nobody has to name it.

use crate::{
    Error,
    document::{Place, read_bytes},
};
use std::path::Path;
use tenure_fields::{
    FieldSet,
    compact::{Form, ManagerRecord, decode_object},
};
use tenure_value::{Limits, Value, yaml};

/// What was read.
pub enum Input {
    /// All managers of an object.
    Managers(Vec<ManagerRecord>),
    /// One set alone.
    Set(FieldSet),
}

impl Input {
    /// Reads a file, or standard input where it is `-`.
    pub fn read(file: &Path) -> Result<Input, Error> {
        let bytes = read_bytes(file)?;
        Input::parse(&bytes).map_err(|problem| Error::document(&Place::of(file), problem))
    }

    fn parse(bytes: &[u8]) -> Result<Input, String> {
        let told = |error: tenure_fields::Error| error.to_string();
        let text = bytes.trim_ascii();
        if let Some(digits) = text.strip_prefix(b"0x") {
            return Input::binary(&from_hexadecimal(digits)?);
        }
        match text.first() {
            None => Err("there is nothing in it; an object, a field set or one of its compact forms is read".into()),
            Some(b'[') => match Form::NestedLists.decode(text).or_else(|_| Form::StringTable.decode(text)) {
                Ok(set) => Ok(Input::Set(set)),
                Err(error) => Input::document(text).map_err(|_| told(error)),
            },
            Some(b'{' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'#' | b'"') => Input::document(text),
            Some(_) => Input::binary(bytes),
        }
    }

    fn binary(bytes: &[u8]) -> Result<Input, String> {
        let managers = bytes.first().is_some_and(|version| version & 0x80 != 0);
        match managers {
            true => decode_object(bytes).map(Input::Managers),
            false => Form::Binary.decode(bytes).map(Input::Set),
        }
        .map_err(|error| error.to_string())
    }

    /// Reads what is JSON or YAML: an object, its `managedFields`, or one set as the API shows it.
    fn document(text: &[u8]) -> Result<Input, String> {
        let value = yaml::parse_any(text, &Limits::TRUSTED).map_err(|error| error.to_string())?;
        if let Some(entries) = value.at(["metadata", "managedFields"]).or(value.get("managedFields")) {
            return records(entries).map(Input::Managers);
        }
        if value.as_array().is_some() {
            return records(&value).map(Input::Managers);
        }
        if value.get("apiVersion").is_some() {
            return Err("there is no metadata.managedFields; get the object with `kubectl get -o yaml \
                        --show-managed-fields`"
                .into());
        }
        let set = tenure_fields::fields_v1::from_value(&value);
        set.map(Input::Set).map_err(|error| error.to_string())
    }

    /// Returns the managers of that name, or all of them.
    pub fn only(self, name: Option<&str>) -> Result<Input, String> {
        let (Input::Managers(records), Some(name)) = (&self, name) else { return Ok(self) };
        let meant: Vec<ManagerRecord> =
            records.iter().filter(|record| record.manager == name).cloned().collect();
        if meant.is_empty() {
            let names: Vec<&str> = records.iter().map(|record| record.manager.as_str()).collect();
            return Err(format!("there is no manager {name:?}; there are {}", names.join(", ")));
        }
        Ok(Input::Managers(meant))
    }
}

/// Reads the entries of `managedFields`.
pub fn records(entries: &Value) -> Result<Vec<ManagerRecord>, String> {
    let entries = entries.as_array().ok_or_else(|| format!("managedFields is a list, found {}", entries.kind()))?;
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
    bytes.ok_or_else(|| "after 0x come pairs of hexadecimal digits".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_known_by_how_it_begins() {
        let set = Form::FieldsV1.decode(br#"{"f:spec":{".":{},"f:ports":{"k:{\"port\":80}":{"f:name":{}}}}}"#).unwrap();
        for form in Form::ALL {
            let Ok(Input::Set(read)) = Input::parse(&form.encode(&set).unwrap()) else { panic!("{form}") };
            assert_eq!(read, set, "{form}");
        }
        for form in Form::ALL {
            let Ok(Input::Set(read)) = Input::parse(&form.encode(&FieldSet::default()).unwrap()) else {
                panic!("{form}")
            };
            assert!(read.is_empty(), "{form}");
        }
        let hexadecimal: String =
            Form::Binary.encode(&set).unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(matches!(Input::parse(format!("0x{hexadecimal}\n").as_bytes()), Ok(Input::Set(read)) if read == set));
    }

    #[test]
    fn what_has_no_managers_is_told() {
        let told = |text: &str| Input::parse(text.as_bytes()).map(|_| ()).unwrap_err();
        assert!(told("apiVersion: v1\nkind: Pod\n").contains("--show-managed-fields"));
        assert!(told("").contains("nothing in it"));
        assert!(told("0x1").contains("pairs"));
        assert!(told("[7").contains("table 7 is unknown"), "{}", told("[7"));
    }
}
