//! What the archive adds to the values and records of the server: the cluster's revision and the time of a change, since the store
//! of the archive has revisions of its own, and whether changes before it were missed.

use crate::RecorderError;
use bytes::Bytes;
use tenure_apply::State;
use tenure_catalog::object;
use tenure_history::Rebuilt;

/// The first byte of every frame.
const FORMAT: u8 = 1;
/// The flag of a record that stands for changes that were missed.
const GAP: u8 = 1;

/// The frame around a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordFrame {
    /// The resourceVersion that the change left.
    pub revision: u64,
    /// When it was made, in milliseconds since 1970.
    pub time: u64,
    /// The last time before at which nothing was missing, if changes were missed.
    pub missing_since: Option<u64>,
}

impl RecordFrame {
    pub fn write(&self, record: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(26 + record.len());
        out.push(FORMAT);
        out.push(if self.missing_since.is_some() { GAP } else { 0 });
        let numbers = [Some(self.revision), Some(self.time), self.missing_since];
        numbers.into_iter().flatten().for_each(|number| out.extend(number.to_le_bytes()));
        out.extend_from_slice(record);
        out
    }

    /// Splits a record of the store into the frame and the record of the history.
    pub fn read(bytes: &[u8]) -> Option<(RecordFrame, &[u8])> {
        let [FORMAT, flags, rest @ ..] = bytes else { return None };
        let (revision, rest) = number(rest)?;
        let (time, rest) = number(rest)?;
        let (missing_since, rest) = match flags & GAP {
            0 => (None, rest),
            _ => number(rest).map(|(since, rest)| (Some(since), rest))?,
        };
        Some((RecordFrame { revision, time, missing_since }, rest))
    }
}

/// Writes an object as it is now.
pub(crate) fn write_live(version: &Rebuilt) -> Result<Bytes, RecorderError> {
    let encoded = object::encode(&version.state.object, &version.state.managers)
        .map_err(|error| RecorderError::Invalid(error.to_string()))?;
    let mut out = Vec::with_capacity(9 + encoded.len());
    out.push(FORMAT);
    out.extend(version.revision.to_le_bytes());
    out.extend_from_slice(&encoded);
    Ok(out.into())
}

/// Returns the revision of an object as it is stored.
pub(crate) fn live_revision(bytes: &[u8]) -> Option<u64> {
    let [FORMAT, rest @ ..] = bytes else { return None };
    Some(number(rest)?.0)
}

/// Reads an object as it is stored.
pub(crate) fn read_live(bytes: &[u8]) -> Result<Rebuilt, RecorderError> {
    let invalid = |why: &str| RecorderError::Invalid(format!("a stored object cannot be read: {why}"));
    let [FORMAT, rest @ ..] = bytes else { return Err(invalid("unknown format")) };
    let (revision, rest) = number(rest).ok_or_else(|| invalid("it is too short"))?;
    let (object, managers) = object::decode(rest).map_err(|why| invalid(&why))?;
    Ok(Rebuilt { state: State { object, managers }, revision })
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_read_back_and_damage_is_noticed() {
        for missing_since in [None, Some(7)] {
            let frame = RecordFrame { revision: 42, time: 1_700_000_000_123, missing_since };
            let bytes = frame.write(b"record");
            assert_eq!(RecordFrame::read(&bytes), Some((frame, &b"record"[..])));
            assert_eq!(RecordFrame::read(&bytes[..9]), None);
        }
        assert_eq!(RecordFrame::read(b"\x02"), None);
        assert!(read_live(b"\x01short").is_err());
    }
}
