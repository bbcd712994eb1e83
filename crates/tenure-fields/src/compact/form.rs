//! The forms of a field set by name, for those who choose one at run time: tools that show what each costs.

use super::{binary, nested_lists};
use crate::{Error, FieldSet, fields_v1};
use std::{fmt, str::FromStr};
use tenure_value::Position;

/// A way to write a field set.
///
/// ```
/// use tenure_fields::compact::Form;
///
/// let set = Form::FieldsV1.decode(br#"{"f:spec":{"f:replicas":{}}}"#)?;
/// let form: Form = "nested-lists".parse()?;
/// assert_eq!(form.encode(&set)?, br#"[4,"spec",[0,"replicas"]]"#);
/// assert_eq!(Form::Binary.decode(&Form::Binary.encode(&set)?)?, set);
/// # Ok::<(), tenure_fields::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// The JSON of the API.
    FieldsV1,
    /// Nested lists.
    NestedLists,
    /// Nested lists with the strings of a table.
    StringTable,
    /// Bytes, as a store keeps them.
    Binary,
}

impl Form {
    /// All forms, the largest first.
    pub const ALL: [Form; 4] = [Form::FieldsV1, Form::NestedLists, Form::StringTable, Form::Binary];

    /// Returns the form's name.
    pub fn name(self) -> &'static str {
        match self {
            Form::FieldsV1 => "fields-v1",
            Form::NestedLists => "nested-lists",
            Form::StringTable => "string-table",
            Form::Binary => "binary",
        }
    }

    /// Writes a set in this form.
    pub fn encode(self, set: &FieldSet) -> Result<Vec<u8>, Error> {
        match self {
            Form::FieldsV1 => Ok(fields_v1::to_vec(set)),
            Form::NestedLists => Ok(nested_lists::to_text(set).into_bytes()),
            Form::StringTable => nested_lists::to_text_with_table(set).map(String::into_bytes),
            Form::Binary => binary::encode(set),
        }
    }

    /// Reads a set in this form.
    pub fn decode(self, bytes: &[u8]) -> Result<FieldSet, Error> {
        match self {
            Form::FieldsV1 => fields_v1::parse(bytes),
            Form::NestedLists => nested_lists::parse(text(bytes)?),
            Form::StringTable => nested_lists::parse_with_table(text(bytes)?),
            Form::Binary => binary::decode(bytes),
        }
    }
}

fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|error| Error::Syntax {
        problem: "invalid UTF-8; this form is text".to_owned(),
        position: Position::of(bytes, error.valid_up_to()),
    })
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Form {
    type Err = Error;

    fn from_str(name: &str) -> Result<Form, Error> {
        let names = Form::ALL.map(Form::name).join(", ");
        let unknown = || Error::UnknownForm { name: name.to_owned(), names };
        Form::ALL.into_iter().find(|form| form.name() == name).ok_or_else(unknown)
    }
}
