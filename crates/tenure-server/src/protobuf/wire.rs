//! The wire format itself: keys, numbers and lengths. Reading never looks past its slice; writing goes from the end
//! to the beginning, so that a length is known when its turn comes.

use super::error::Fault;
use bytes::Bytes;

pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const LENGTH: u8 = 2;
const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

/// One field's content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
}

impl<'a> Payload<'a> {
    fn wire_type(self) -> u8 {
        match self {
            Payload::Varint(_) => VARINT,
            Payload::Fixed64(_) => FIXED64,
            Payload::Bytes(_) => LENGTH,
            Payload::Fixed32 => FIXED32,
        }
    }

    fn unlike(self, wanted: u8) -> Fault {
        Fault::WireType { found: self.wire_type(), wanted }
    }

    pub fn varint(self) -> Result<u64, Fault> {
        match self {
            Payload::Varint(number) => Ok(number),
            other => Err(other.unlike(VARINT)),
        }
    }

    pub fn fixed64(self) -> Result<u64, Fault> {
        match self {
            Payload::Fixed64(number) => Ok(number),
            other => Err(other.unlike(FIXED64)),
        }
    }

    pub fn bytes(self) -> Result<&'a [u8], Fault> {
        match self {
            Payload::Bytes(bytes) => Ok(bytes),
            other => Err(other.unlike(LENGTH)),
        }
    }

    pub fn text(self) -> Result<&'a str, Fault> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Fault::Utf8)
    }
}

/// Reads the fields of a message one after the other.
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Returns the next field; groups, which no message has, are skipped.
    pub fn next(&mut self) -> Result<Option<(u32, Payload<'a>)>, Fault> {
        let mut open: usize = 0;
        while !self.0.is_empty() {
            let key = self.varint()?;
            let (number, wire_type) = (key >> 3, (key & 7) as u8);
            let payload = match wire_type {
                _ if number == 0 || number > u64::from(u32::MAX >> 3) => {
                    return Err(Fault::Key(number, wire_type));
                }
                VARINT => Payload::Varint(self.varint()?),
                FIXED64 => Payload::Fixed64(u64::from_le_bytes(self.array()?)),
                LENGTH => {
                    let length = usize::try_from(self.varint()?).map_err(|_| Fault::Cut)?;
                    Payload::Bytes(self.take(length)?)
                }
                START_GROUP => {
                    open += 1;
                    continue;
                }
                END_GROUP if open > 0 => {
                    open -= 1;
                    continue;
                }
                FIXED32 => {
                    self.array::<4>()?;
                    Payload::Fixed32
                }
                _ => return Err(Fault::Key(number, wire_type)),
            };
            if open == 0 {
                return Ok(Some((number as u32, payload)));
            }
        }
        if open == 0 { Ok(None) } else { Err(Fault::Cut) }
    }

    pub fn varint(&mut self) -> Result<u64, Fault> {
        let mut number = 0u64;
        for (at, byte) in self.0.iter().enumerate().take(10) {
            if at == 9 && *byte > 1 {
                return Err(Fault::Number);
            }
            number |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                self.0 = &self.0[at + 1..];
                return Ok(number);
            }
        }
        Err(if self.0.len() < 10 { Fault::Cut } else { Fault::Number })
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Fault::Cut)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(Fault::Cut)?;
        self.0 = rest;
        Ok(*taken)
    }
}

/// Bytes that grow at their beginning.
pub(super) struct Backwards {
    buffer: Vec<u8>,
    start: usize,
}

impl Backwards {
    pub fn with_capacity(bytes: usize) -> Backwards {
        Backwards { buffer: vec![0; bytes], start: bytes }
    }

    /// Returns how many bytes there are so far.
    pub fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Returns the bytes.
    pub fn finish(self) -> Bytes {
        Bytes::from(self.buffer).slice(self.start..)
    }

    fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.start < bytes {
            self.grow(bytes);
        }
        self.start -= bytes;
        &mut self.buffer[self.start..self.start + bytes]
    }

    #[cold]
    fn grow(&mut self, bytes: usize) {
        let more = self.buffer.len().max(bytes).max(256);
        let mut buffer = vec![0; self.buffer.len() + more];
        buffer[self.start + more..].copy_from_slice(&self.buffer[self.start..]);
        self.buffer = buffer;
        self.start += more;
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.room(bytes.len()).copy_from_slice(bytes);
    }

    pub fn varint(&mut self, mut number: u64) {
        if number < 0x80 {
            self.room(1)[0] = number as u8;
            return;
        }
        let length = (64 - number.leading_zeros() as usize).div_ceil(7);
        let room = self.room(length);
        let last = length - 1;
        for byte in &mut room[..last] {
            *byte = number as u8 | 0x80;
            number >>= 7;
        }
        room[last] = number as u8;
    }

    pub fn key(&mut self, number: u32, wire_type: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire_type));
    }

    /// Writes a field that is a number.
    pub fn number(&mut self, number: u32, value: u64) {
        self.varint(value);
        self.key(number, VARINT);
    }

    /// Writes a field of bytes.
    pub fn field(&mut self, number: u32, bytes: &[u8]) {
        let end = self.len();
        self.bytes(bytes);
        self.close(number, end);
    }

    /// Makes what was written since there were `end` bytes the content of a field.
    pub fn close(&mut self, number: u32, end: usize) {
        self.varint((self.len() - end) as u64);
        self.key(number, LENGTH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for number in [0, 1, 127, 128, 300, 16_383, 16_384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Backwards::with_capacity(0);
            out.number(7, number);
            let bytes = out.finish();
            let mut reader = Reader(&bytes);
            assert_eq!(reader.next(), Ok(Some((7, Payload::Varint(number)))));
            assert_eq!(reader.next(), Ok(None));
        }
    }

    #[test]
    fn what_is_cut_or_too_long_is_refused() {
        let cases: [(&[u8], Fault); 8] = [
            (&[0x08], Fault::Cut),
            (&[0x08, 0x80], Fault::Cut),
            (&[0x0a, 0x05, 1], Fault::Cut),
            (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], Fault::Cut),
            (&[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], Fault::Number),
            (&[0x00, 0x00], Fault::Key(0, 0)),
            (&[0x0f], Fault::Key(1, 7)),
            (&[0x0b, 0x08, 0x01], Fault::Cut),
        ];
        for (bytes, fault) in cases {
            assert_eq!(Reader(bytes).next(), Err(fault), "{bytes:?}");
        }
        let group = [0x0b, 0x08, 0x01, 0x0c, 0x10, 0x02];
        assert_eq!(Reader(&group).next(), Ok(Some((2, Payload::Varint(2)))));
    }
}
