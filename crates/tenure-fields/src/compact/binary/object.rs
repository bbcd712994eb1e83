//! The encoding of all managers of an object in one document, in which common parts of their sets are encoded
//! once. Each manager starts with a byte that says which of its attributes have common values.

use super::{
    MAX_CONTENT, Writer, codes,
    read::{DecodeBuffers, Failed, Reader},
    time, version, write,
};
use crate::{
    Error, FieldSet,
    compact::{Table, tables},
};
use tenure_value::Text;

/// An entry of `managedFields`; missing attributes are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagerRecord {
    /// The manager's name.
    pub manager: Text,
    /// `Apply` or `Update`.
    pub operation: Text,
    /// The API version of the fields, such as `apps/v1`.
    pub api_version: Text,
    /// The time of the last change, as `2026-01-02T03:04:05Z`.
    pub time: Text,
    /// The subresource that was written, such as `status`.
    pub subresource: Text,
    /// The value of `fieldsType`, `FieldsV1`.
    pub fields_type: Text,
    /// The fields; `None` if the entry has none, which differs from an empty set.
    pub fields: Option<FieldSet>,
}

/// The values of a two-bit attribute of the first byte; the fourth value says that a string follows.
const OPERATIONS: [&str; 3] = ["Apply", "Update", ""];
const SUBRESOURCES: [&str; 3] = ["", "status", "scale"];
const FOLLOWS: u8 = 3;
/// The positions of the two-bit attributes.
const OPERATION: u8 = 0;
const TIME: u8 = 2;
const SUBRESOURCE: u8 = 4;
/// Set if the API version differs from that of the previous manager.
const API_VERSION: u8 = 0x40;
/// Set if the entry has no fields or another `fieldsType` than `FieldsV1`.
const UNUSUAL: u8 = 0x80;
const FIELDS_V1: &str = "FieldsV1";

/// The values of the time attribute; [`FOLLOWS`] is a string.
const NO_TIME: u8 = 0;
const LATER: u8 = 1;
const EARLIER: u8 = 2;

/// Encodes all managers of an object with the current table.
pub fn encode_object(records: &[ManagerRecord]) -> Result<Vec<u8>, Error> {
    encode_object_in(records, tables::current()?, &mut write::EncodeBuffers::default())
}

/// Encodes all managers of an object with a table.
pub fn encode_object_with(records: &[ManagerRecord], table: &Table) -> Result<Vec<u8>, Error> {
    encode_object_in(records, table, &mut write::EncodeBuffers::default())
}

/// Encodes all managers of an object with a table, in reused buffers.
pub(super) fn encode_object_in(
    records: &[ManagerRecord],
    table: &Table,
    buffers: &mut write::EncodeBuffers,
) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::within(table, buffers);
    writer.byte(codes::OBJECT | table.version() as u8);
    writer.number(records.len() as u64);
    let (mut api_version, mut clock) = ("", time::BASE);
    for record in records {
        write_record(record, api_version, &mut clock, &mut writer)?;
        api_version = &record.api_version;
    }
    Ok(writer.finish(buffers))
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
    decode_object_within(bytes, MAX_CONTENT)
}

/// Decodes all managers of an object that have at most so much content, counted as for [`MAX_CONTENT`].
pub fn decode_object_within(bytes: &[u8], limit: u64) -> Result<Vec<ManagerRecord>, Error> {
    decode_object_in(bytes, limit, &mut DecodeBuffers::default())
}

/// Decodes all managers of an object in reused buffers.
pub(super) fn decode_object_in(
    bytes: &[u8],
    limit: u64,
    buffers: &mut DecodeBuffers,
) -> Result<Vec<ManagerRecord>, Error> {
    let table = tables::table(version(bytes, 0)?)?;
    let mut reader = Reader::new(bytes, 1, table, buffers).within(limit);
    let records = read_all(&mut reader);
    reader.finish(buffers, records)
}

fn read_all(reader: &mut Reader<'_>) -> Result<Vec<ManagerRecord>, Failed> {
    let count = reader.count()?;
    // A manager takes at least two bytes encoded and far more in memory, so the capacity grows as they are
    // decoded.
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
                        reader.wrong_before(&format!("found {byte}, expected 0 (no set) or 1 (a set)"))
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
        None => Err(reader.wrong_before("the year of a time must be between 0 and 9999")),
    }
}
