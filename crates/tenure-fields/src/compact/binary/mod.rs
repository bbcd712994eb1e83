//! The binary form: a version byte, then codes. A code is a phrase of the table or one step; what the
//! steps of a code leave open follows it. `docs/compact-fields.md` gives the bytes; a change here that
//! reads or writes others is a new layout and needs a new version byte.

mod codes;
mod object;
mod phrases;
mod read;
mod ready;
pub(crate) mod step;
mod text;
mod time;
mod varint;
mod write;

pub use object::{ManagerRecord, decode_object, encode_object};
pub use phrases::MOST_PHRASES;
pub(crate) use phrases::Phrases;
pub use step::{Shape, Step};
pub(crate) use write::Writer;

use super::{Table, tables};
use crate::{Error, FieldSet};
use read::{Reader, Room};

/// How much one document may hold when all that it repeats is written out: sixteen for each node, key
/// field and value, and one for each byte of their strings.
pub const MOST_CONTENT: u64 = 1 << 24;

/// Encodes one set with the table that is written.
pub fn encode(set: &FieldSet) -> Result<Vec<u8>, Error> {
    encode_with(set, tables::written()?)
}

/// Encodes one set with a table.
pub fn encode_with(set: &FieldSet, table: &Table) -> Result<Vec<u8>, Error> {
    encode_in(set, table, &mut write::Room::default())
}

fn encode_in(set: &FieldSet, table: &Table, room: &mut write::Room) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::within(table, room);
    writer.byte(table.version() as u8);
    writer.set(set)?;
    Ok(writer.finish(room))
}

/// Encodes documents one after another, each in the memory that the one before needed.
#[derive(Default)]
pub struct Encoder {
    room: write::Room,
}

impl Encoder {
    /// Encodes one set with the table that is written.
    pub fn encode(&mut self, set: &FieldSet) -> Result<Vec<u8>, Error> {
        encode_in(set, tables::written()?, &mut self.room)
    }

    /// Encodes all managers of an object with the table that is written.
    pub fn encode_object(&mut self, records: &[ManagerRecord]) -> Result<Vec<u8>, Error> {
        object::encode_object_in(records, tables::written()?, &mut self.room)
    }
}

/// Decodes one set.
pub fn decode(bytes: &[u8]) -> Result<FieldSet, Error> {
    Decoder::default().decode(bytes)
}

/// Decodes one set with a table, whatever table its version byte names.
pub fn decode_with(bytes: &[u8], table: &Table) -> Result<FieldSet, Error> {
    version(bytes, codes::OBJECT)?;
    decode_in(bytes, table, &mut Room::default())
}

fn decode_in(bytes: &[u8], table: &Table, room: &mut Room) -> Result<FieldSet, Error> {
    let mut reader = Reader::new(bytes, 1, table, room);
    let set = reader.set().and_then(|set| reader.end().map(|()| set));
    reader.finish(room, set)
}

/// Decodes documents one after another, each in the memory that the one before needed.
#[derive(Default)]
pub struct Decoder {
    room: Room,
}

impl Decoder {
    /// Decodes one set.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<FieldSet, Error> {
        let version = version(bytes, codes::OBJECT)?;
        decode_in(bytes, tables::table(version)?, &mut self.room)
    }

    /// Decodes all managers of an object.
    pub fn decode_object(&mut self, bytes: &[u8]) -> Result<Vec<ManagerRecord>, Error> {
        object::decode_object_in(bytes, &mut self.room)
    }
}

/// Returns the table's version from the first byte, where the form's bit is as it should be.
fn version(bytes: &[u8], unwanted: u8) -> Result<u32, Error> {
    let problem = match bytes.first() {
        None => "nothing, expected a version byte".to_owned(),
        Some(byte) if byte & codes::OBJECT == unwanted => match unwanted {
            codes::OBJECT => "found the managers of an object, expected one set".to_owned(),
            _ => "found one set, expected the managers of an object".to_owned(),
        },
        Some(byte) if byte & !codes::OBJECT == codes::RESERVED_VERSION => {
            "found a version byte that only a later release knows".to_owned()
        }
        Some(byte) => return Ok(u32::from(byte & !codes::OBJECT)),
    };
    Err(Error::Compact { at: 0, problem })
}
