//! The whole-object form: all managers of an object in one document, so that what their sets share is
//! written once. Each manager begins with a byte that says which of its parts are the common ones.

use super::{
    Writer, codes,
    read::{Failed, Reader, Room},
    time, version, write,
};
use crate::{
    Error, FieldSet,
    compact::{Table, tables},
};
use tenure_value::Text;

/// One entry of an object's `managedFields`; what the entry does not have is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagerRecord {
    /// The manager's name.
    pub manager: Text,
    /// `Apply` or `Update`.
    pub operation: Text,
    /// The version that the set is of, such as `apps/v1`.
    pub api_version: Text,
    /// When the entry changed last, as `2026-01-02T03:04:05Z`.
    pub time: Text,
    /// The subresource it was written through, such as `status`.
    pub subresource: Text,
    /// The form that the API shows the set in, `FieldsV1`.
    pub fields_type: Text,
    /// The set; nothing where the entry has none, which is not the same as an empty set.
    pub fields: Option<FieldSet>,
}

/// The values of two bits of the first byte; the fourth says that a string follows.
const OPERATIONS: [&str; 3] = ["Apply", "Update", ""];
const SUBRESOURCES: [&str; 3] = ["", "status", "scale"];
const FOLLOWS: u8 = 3;
/// Where the two bits of each part begin.
const OPERATION: u8 = 0;
const TIME: u8 = 2;
const SUBRESOURCE: u8 = 4;
/// The bit of another apiVersion than that of the manager before.
const API_VERSION: u8 = 0x40;
/// The bit of an entry that is not a set in the form `FieldsV1`.
const UNUSUAL: u8 = 0x80;
const FIELDS_V1: &str = "FieldsV1";

/// The values of the bits of the time; [`FOLLOWS`] is a text.
const NO_TIME: u8 = 0;
const LATER: u8 = 1;
const EARLIER: u8 = 2;

/// Encodes all managers of an object, with the table that is written.
pub fn encode_object(records: &[ManagerRecord]) -> Result<Vec<u8>, Error> {
    encode_object_in(records, tables::written()?, &mut write::Room::default())
}

/// Encodes all managers of an object with a table, in the room of another document.
pub(super) fn encode_object_in(
    records: &[ManagerRecord],
    table: &Table,
    room: &mut write::Room,
) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::within(table, room);
    writer.byte(codes::OBJECT | table.version() as u8);
    writer.number(records.len() as u64);
    let (mut api_version, mut clock) = ("", time::BASE);
    for record in records {
        write_record(record, api_version, &mut clock, &mut writer)?;
        api_version = &record.api_version;
    }
    Ok(writer.finish(room))
}

fn write_record<'a>(
    record: &'a ManagerRecord,
    api_version: &str,
    clock: &mut i64,
    writer: &mut Writer<'a>,
) -> Result<(), Error> {
    let common = |values: &[&str; 3], text: &str| {
        values.iter().position(|value| *value == text).map_or(FOLLOWS, |place| place as u8)
    };
    let operation = common(&OPERATIONS, &record.operation);
    let subresource = common(&SUBRESOURCES, &record.subresource);
    let seconds = time::seconds(&record.time);
    let when = match seconds {
        _ if record.time.is_empty() => NO_TIME,
        None => FOLLOWS,
        Some(seconds) if seconds >= *clock => LATER,
        Some(_) => EARLIER,
    };
    let usual = record.fields_type == FIELDS_V1 && record.fields.is_some();
    let mut first = operation << OPERATION | when << TIME | subresource << SUBRESOURCE;
    if record.api_version != api_version {
        first |= API_VERSION;
    }
    if !usual {
        first |= UNUSUAL;
    }
    writer.byte(first);
    writer.text(&record.manager);
    if operation == FOLLOWS {
        writer.text(&record.operation);
    }
    if first & API_VERSION != 0 {
        writer.text(&record.api_version);
    }
    match seconds {
        Some(seconds) => {
            writer.number(seconds.abs_diff(*clock));
            *clock = seconds;
        }
        None if when == FOLLOWS => writer.text(&record.time),
        None => {}
    }
    if subresource == FOLLOWS {
        writer.text(&record.subresource);
    }
    if !usual {
        writer.text(&record.fields_type);
        writer.byte(record.fields.is_some().into());
    }
    record.fields.as_ref().map_or(Ok(()), |set| writer.set(set))
}

/// Decodes all managers of an object.
pub fn decode_object(bytes: &[u8]) -> Result<Vec<ManagerRecord>, Error> {
    decode_object_in(bytes, &mut Room::default())
}

/// Decodes all managers of an object in the room of another document.
pub(super) fn decode_object_in(bytes: &[u8], room: &mut Room) -> Result<Vec<ManagerRecord>, Error> {
    let table = tables::table(version(bytes, 0)?)?;
    let mut reader = Reader::new(bytes, 1, table, room);
    let records = read_all(&mut reader);
    reader.finish(room, records)
}

fn read_all(reader: &mut Reader<'_>) -> Result<Vec<ManagerRecord>, Failed> {
    let count = reader.count()?;
    // A manager takes two bytes at least, and far more in memory: room is made as they come.
    let mut records: Vec<ManagerRecord> = Vec::with_capacity(count.min(16));
    let mut clock = time::BASE;
    for _ in 0..count {
        let api_version = records.last().map(|record| record.api_version.clone()).unwrap_or_default();
        records.push(read(api_version, &mut clock, reader)?);
    }
    reader.end()?;
    Ok(records)
}

fn read(api_version: Text, clock: &mut i64, reader: &mut Reader<'_>) -> Result<ManagerRecord, Failed> {
    let first = reader.byte()?;
    let bits = |at: u8| first >> at & 3;
    let manager = reader.text()?;
    let operation = match OPERATIONS.get(usize::from(bits(OPERATION))) {
        Some(operation) => Text::new_static(operation),
        None => reader.text()?,
    };
    let api_version = if first & API_VERSION == 0 { api_version } else { reader.text()? };
    let time = match bits(TIME) {
        NO_TIME => Text::default(),
        FOLLOWS => reader.text()?,
        direction => read_time(direction, clock, reader)?,
    };
    let subresource = match SUBRESOURCES.get(usize::from(bits(SUBRESOURCE))) {
        Some(subresource) => Text::new_static(subresource),
        None => reader.text()?,
    };
    let (fields_type, has_fields) = match first & UNUSUAL {
        0 => (Text::new_static(FIELDS_V1), true),
        _ => {
            let fields_type = reader.text()?;
            match reader.byte()? {
                0 => (fields_type, false),
                1 => (fields_type, true),
                byte => {
                    return Err(
                        reader.wrong_before(&format!("found {byte}, expected 0 for no set or 1 for one"))
                    );
                }
            }
        }
    };
    let fields = if has_fields { Some(reader.set()?) } else { None };
    Ok(ManagerRecord { manager, operation, api_version, time, subresource, fields_type, fields })
}

fn read_time(direction: u8, clock: &mut i64, reader: &mut Reader<'_>) -> Result<Text, Failed> {
    let amount = i64::try_from(reader.number()?).ok();
    let seconds = match direction {
        LATER => amount.and_then(|amount| clock.checked_add(amount)),
        _ => amount.and_then(|amount| clock.checked_sub(amount)),
    };
    match seconds.and_then(|seconds| time::spelled(seconds).map(|text| (seconds, text))) {
        Some((seconds, text)) => {
            *clock = seconds;
            Ok(Text::from(text))
        }
        None => Err(reader.wrong_before("a time is outside of the years 0 to 9999")),
    }
}
