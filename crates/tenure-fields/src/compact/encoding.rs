//! The encodings of a field set by name, for tools that select one at run time.

use super::{binary, nested_lists};
use crate::{Error, FieldSet, fields_v1};
use std::{fmt, str::FromStr};
use tenure_value::Position;

/// An encoding of a field set.
///
/// ```
/// use tenure_fields::compact::Encoding;
///
/// let set = Encoding::FieldsV1.decode(br#"{"f:spec":{"f:replicas":{}}}"#)?;
/// let encoding: Encoding = "nested-lists".parse()?;
/// assert_eq!(encoding.encode(&set)?, br#"[4,"spec",[0,"replicas"]]"#);
/// assert_eq!(Encoding::Binary.decode(&Encoding::Binary.encode(&set)?)?, set);
/// # Ok::<(), tenure_fields::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// The JSON of the API.
    FieldsV1,
    /// Nested lists.
    NestedLists,
    /// Nested lists with the strings of a table.
    StringTable,
    /// Bytes, as a store keeps them.
    Binary,
}

impl Encoding {
    /// All encodings, largest first.
    pub const ALL: [Encoding; 4] =
        [Encoding::FieldsV1, Encoding::NestedLists, Encoding::StringTable, Encoding::Binary];

    /// Returns the name of the encoding.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::FieldsV1 => "fields-v1",
            Encoding::NestedLists => "nested-lists",
            Encoding::StringTable => "string-table",
            Encoding::Binary => "binary",
        }
    }

    /// Encodes a set.
    pub fn encode(self, set: &FieldSet) -> Result<Vec<u8>, Error> {
        match self {
            Encoding::FieldsV1 => Ok(fields_v1::to_vec(set)),
            Encoding::NestedLists => Ok(nested_lists::to_text(set).into_bytes()),
            Encoding::StringTable => nested_lists::to_text_with_table(set).map(String::into_bytes),
            Encoding::Binary => binary::encode(set),
        }
    }

    /// Decodes a set.
    pub fn decode(self, bytes: &[u8]) -> Result<FieldSet, Error> {
        match self {
            Encoding::FieldsV1 => fields_v1::parse(bytes),
            Encoding::NestedLists => nested_lists::parse(text(bytes)?),
            Encoding::StringTable => nested_lists::parse_with_table(text(bytes)?),
            Encoding::Binary => binary::decode(bytes),
        }
    }
}

fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|error| Error::Syntax {
        problem: "invalid UTF-8; this encoding is text".to_owned(),
        position: Position::of(bytes, error.valid_up_to()),
    })
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Encoding {
    type Err = Error;

    fn from_str(name: &str) -> Result<Encoding, Error> {
        let names = Encoding::ALL.map(Encoding::name).join(", ");
        let unknown = || Error::UnknownEncoding { name: name.to_owned(), names };
        Encoding::ALL.into_iter().find(|encoding| encoding.name() == name).ok_or_else(unknown)
    }
}
