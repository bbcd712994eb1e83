//! The binary encoding: a version byte, then codes. A code is a phrase of the table or a single step; the
//! arguments of its steps follow. `docs/internals/compact-fields.md` specifies the bytes; an incompatible change is a
//! new layout and needs a new version byte.

mod codes;
mod object;
mod read;
mod text;
mod time;
mod varint;
mod write;

pub use object::{ManagerRecord, decode_object, decode_object_within, encode_object, encode_object_with};
pub(crate) use write::Writer;

use super::{Table, tables};
use crate::{Error, FieldSet};
use read::{DecodeBuffers, Reader};

/// The maximum size of a document with all repetitions expanded: sixteen for each node, key field and value,
/// and one for each byte of their strings.
pub const MAX_CONTENT: u64 = 1 << 24;

/// Encodes a set with the current table.
pub fn encode(set: &FieldSet) -> Result<Vec<u8>, Error> {
    encode_with(set, tables::current()?)
}

/// Encodes a set with a table.
pub fn encode_with(set: &FieldSet, table: &Table) -> Result<Vec<u8>, Error> {
    encode_in(set, table, &mut write::EncodeBuffers::default())
}

fn encode_in(set: &FieldSet, table: &Table, buffers: &mut write::EncodeBuffers) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::within(table, buffers);
    writer.byte(table.version() as u8);
    writer.set(set)?;
    Ok(writer.finish(buffers))
}

/// Encodes several documents with the same buffers.
#[derive(Default)]
pub struct Encoder {
    buffers: write::EncodeBuffers,
}

impl Encoder {
    /// Encodes a set with the current table.
    pub fn encode(&mut self, set: &FieldSet) -> Result<Vec<u8>, Error> {
        encode_in(set, tables::current()?, &mut self.buffers)
    }

    /// Encodes all managers of an object with the current table.
    pub fn encode_object(&mut self, records: &[ManagerRecord]) -> Result<Vec<u8>, Error> {
        object::encode_object_in(records, tables::current()?, &mut self.buffers)
    }
}

/// Decodes a set.
pub fn decode(bytes: &[u8]) -> Result<FieldSet, Error> {
    Decoder::default().decode(bytes)
}

fn decode_in(bytes: &[u8], table: &Table, buffers: &mut DecodeBuffers) -> Result<FieldSet, Error> {
    let mut reader = Reader::new(bytes, 1, table, buffers);
    let set = reader.set().and_then(|set| reader.end().map(|()| set));
    reader.finish(buffers, set)
}

/// Decodes several documents with the same buffers.
#[derive(Default)]
pub struct Decoder {
    buffers: DecodeBuffers,
}

impl Decoder {
    /// Decodes a set.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<FieldSet, Error> {
        let version = version(bytes, codes::OBJECT)?;
        decode_in(bytes, tables::table(version)?, &mut self.buffers)
    }

    /// Decodes all managers of an object.
    pub fn decode_object(&mut self, bytes: &[u8]) -> Result<Vec<ManagerRecord>, Error> {
        object::decode_object_in(bytes, MAX_CONTENT, &mut self.buffers)
    }
}

/// Returns the version of the table from the first byte, after checking the kind of document.
fn version(bytes: &[u8], unwanted: u8) -> Result<u32, Error> {
    let problem = match bytes.first() {
        None => "empty input, expected a version byte".to_owned(),
        Some(byte) if byte & codes::OBJECT == unwanted => match unwanted {
            codes::OBJECT => "found the managers of an object, expected one set".to_owned(),
            _ => "found one set, expected the managers of an object".to_owned(),
        },
        Some(byte) if byte & !codes::OBJECT == codes::RESERVED_VERSION => {
            "found a reserved version byte, used only by later releases".to_owned()
        }
        Some(byte) => return Ok(u32::from(byte & !codes::OBJECT)),
    };
    Err(Error::Compact { at: 0, problem })
}
