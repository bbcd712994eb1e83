//! The wire format itself: keys, numbers and lengths. Reading never looks past its slice; writing leaves one byte for
//! a length that is not known yet, and moves what follows if the length takes more.

use super::error::Fault;

pub(crate) const VARINT: u8 = 0;
pub(crate) const FIXED64: u8 = 1;
pub(crate) const LENGTH: u8 = 2;
const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

/// One field's content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Payload<'a> {
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
pub(crate) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Returns the next field if its key and its number or length take a byte each, as most do.
    #[inline(always)]
    pub fn short(&mut self) -> Option<(u32, Payload<'a>)> {
        let [key @ 8..0x80, second @ ..0x80, rest @ ..] = self.0 else { return None };
        let payload = match key & 7 {
            LENGTH => {
                let (content, behind) = rest.split_at_checked(usize::from(*second))?;
                self.0 = behind;
                Payload::Bytes(content)
            }
            VARINT => {
                self.0 = rest;
                Payload::Varint(u64::from(*second))
            }
            _ => return None,
        };
        Some((u32::from(key >> 3), payload))
    }

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

    #[inline]
    pub fn varint(&mut self) -> Result<u64, Fault> {
        // Most numbers are keys and lengths of one byte.
        match self.0 {
            [byte @ ..0x80, rest @ ..] => {
                self.0 = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Fault> {
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

/// Bytes that are being written.
#[derive(Default)]
pub(crate) struct Writer(pub Vec<u8>);

impl Writer {
    /// Adds bytes.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Adds the first `length` bytes of a block; copying all of it costs less than asking how many.
    #[inline]
    pub fn some(&mut self, block: &[u8; BLOCK], length: usize) {
        let end = self.0.len() + length;
        self.0.extend_from_slice(block);
        self.0.truncate(end);
    }

    /// Adds a number.
    #[inline]
    pub fn varint(&mut self, number: u64) {
        if number < 0x80 { self.0.push(number as u8) } else { self.long_varint(number) }
    }

    fn long_varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Adds the key of a field.
    #[inline]
    pub fn key(&mut self, number: u32, wire_type: u8) {
        self.varint(u64::from(number << 3 | u32::from(wire_type)));
    }

    /// Adds bytes with their length.
    #[inline]
    pub fn text(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.bytes(bytes);
    }

    /// Adds a field that is a number.
    pub fn number(&mut self, number: u32, value: u64) {
        self.key(number, VARINT);
        self.varint(value);
    }

    /// Adds a field of bytes.
    pub fn field(&mut self, number: u32, bytes: &[u8]) {
        self.key(number, LENGTH);
        self.text(bytes);
    }

    /// Begins content whose length is not known yet, and returns where.
    #[inline]
    pub fn begin(&mut self) -> usize {
        self.0.push(0);
        self.0.len()
    }

    /// Ends the content that began there.
    #[inline]
    pub fn end(&mut self, start: usize) {
        let length = self.0.len() - start;
        match self.0.get_mut(start.wrapping_sub(1)) {
            Some(place) if length < 0x80 => *place = length as u8,
            _ => self.long_end(start, length),
        }
    }

    fn long_end(&mut self, start: usize, length: usize) {
        let mut header = Writer::default();
        header.varint(length as u64);
        let more = header.0.len() - 1;
        self.0.resize(start + length + more, 0);
        self.0.copy_within(start..start + length, start + more);
        if let Some(place) = self.0.get_mut(start - 1..start + more) {
            place.copy_from_slice(&header.0);
        }
    }
}

/// How many bytes are copied at once.
pub(crate) const BLOCK: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for number in [0, 1, 127, 128, 300, 16_383, 16_384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Writer::default();
            out.number(7, number);
            let mut reader = Reader(&out.0);
            assert_eq!(reader.next(), Ok(Some((7, Payload::Varint(number)))));
            assert_eq!(reader.next(), Ok(None));
        }
    }

    #[test]
    fn a_length_is_right_whatever_room_it_takes() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 2_097_152] {
            let mut out = Writer::default();
            out.key(3, LENGTH);
            let start = out.begin();
            out.bytes(&vec![7; length]);
            out.end(start);
            out.number(4, 5);
            let mut reader = Reader(&out.0);
            assert_eq!(reader.next(), Ok(Some((3, Payload::Bytes(&vec![7; length])))));
            assert_eq!(reader.next(), Ok(Some((4, Payload::Varint(5)))));
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
