//! The wire format: keys, numbers and lengths. The reader never reads beyond its slice; the writer reserves
//! one byte for a length that is not known yet, and moves the content if the length takes more.

use super::error::ErrorKind;

/// The wire type of integers and booleans.
pub const VARINT: u8 = 0;
/// The wire type of doubles.
pub const FIXED64: u8 = 1;
/// The wire type of strings, bytes and messages.
pub const LENGTH: u8 = 2;
const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

/// The content of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Payload<'a> {
    /// An integer.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Bytes with a length.
    Bytes(&'a [u8]),
    /// Four bytes, which no field of the API uses.
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

    fn unlike(self, wanted: u8) -> ErrorKind {
        ErrorKind::WireType { found: self.wire_type(), wanted }
    }

    /// Returns the integer.
    pub fn varint(self) -> Result<u64, ErrorKind> {
        match self {
            Payload::Varint(number) => Ok(number),
            other => Err(other.unlike(VARINT)),
        }
    }

    /// Returns the eight bytes.
    pub fn fixed64(self) -> Result<u64, ErrorKind> {
        match self {
            Payload::Fixed64(number) => Ok(number),
            other => Err(other.unlike(FIXED64)),
        }
    }

    /// Returns the bytes.
    pub fn bytes(self) -> Result<&'a [u8], ErrorKind> {
        match self {
            Payload::Bytes(bytes) => Ok(bytes),
            other => Err(other.unlike(LENGTH)),
        }
    }

    /// Returns the bytes as a string.
    pub fn text(self) -> Result<&'a str, ErrorKind> {
        std::str::from_utf8(self.bytes()?).map_err(|_| ErrorKind::Utf8)
    }
}

/// Reads the fields of a message one by one.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Returns the next field if its key and its number or length take one byte each, as most do.
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

    /// Returns the next field; groups, which no message uses, are skipped.
    #[inline]
    pub fn next_field(&mut self) -> Result<Option<(u32, Payload<'a>)>, ErrorKind> {
        match self.short() {
            Some(field) => Ok(Some(field)),
            None if self.0.is_empty() => Ok(None),
            None => self.any(),
        }
    }

    fn any(&mut self) -> Result<Option<(u32, Payload<'a>)>, ErrorKind> {
        let mut open: usize = 0;
        while !self.0.is_empty() {
            let key = self.varint()?;
            let (number, wire_type) = (key >> 3, (key & 7) as u8);
            let payload = match wire_type {
                _ if number == 0 || number > u64::from(u32::MAX >> 3) => {
                    return Err(ErrorKind::Key(number, wire_type));
                }
                VARINT => Payload::Varint(self.varint()?),
                FIXED64 => Payload::Fixed64(u64::from_le_bytes(self.array()?)),
                LENGTH => {
                    let length = usize::try_from(self.varint()?).map_err(|_| ErrorKind::Truncated)?;
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
                _ => return Err(ErrorKind::Key(number, wire_type)),
            };
            if open == 0 {
                return Ok(Some((number as u32, payload)));
            }
        }
        if open == 0 { Ok(None) } else { Err(ErrorKind::Truncated) }
    }

    /// Reads an integer.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, ErrorKind> {
        // Most numbers are keys and lengths of one byte.
        match self.0 {
            [byte @ ..0x80, rest @ ..] => {
                self.0 = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, ErrorKind> {
        let mut number = 0u64;
        for (at, byte) in self.0.iter().enumerate().take(10) {
            if at == 9 && *byte > 1 {
                return Err(ErrorKind::Number);
            }
            number |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                self.0 = &self.0[at + 1..];
                return Ok(number);
            }
        }
        Err(if self.0.len() < 10 { ErrorKind::Truncated } else { ErrorKind::Number })
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ErrorKind> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(ErrorKind::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ErrorKind> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(ErrorKind::Truncated)?;
        self.0 = rest;
        Ok(*taken)
    }
}

/// A write buffer with spare initialized bytes: the capacity is checked once per field, and constants are
/// written in blocks of fixed size, the rest of which is overwritten by the next field.
#[derive(Default)]
pub struct Writer {
    buffer: Vec<u8>,
    /// The number of bytes written.
    length: usize,
}

/// The size of a block of constants.
pub const BLOCK: usize = 16;
/// The maximum size of a varint.
const LONGEST: usize = 10;

impl Writer {
    /// Creates a writer with that capacity.
    pub fn with_capacity(bytes: usize) -> Writer {
        Writer { buffer: Vec::with_capacity(bytes), length: 0 }
    }

    /// Returns the bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.buffer.truncate(self.length);
        self.buffer
    }

    /// Calls `write` with the bytes, to append to them.
    pub fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.buffer.truncate(self.length);
        write(&mut self.buffer);
        self.length = self.buffer.len();
    }

    /// Adds bytes.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        copy(bytes, self.room(bytes.len()));
        self.length += bytes.len();
    }

    /// Adds the first `length` bytes of a block.
    #[inline]
    pub fn some(&mut self, block: &[u8; BLOCK], length: u8) {
        if let Some(place) = self.room(BLOCK).first_chunk_mut() {
            *place = *block;
        }
        self.length += usize::from(length);
    }

    /// Adds the first `length` bytes of a block, and bytes with their length.
    #[inline]
    pub fn some_and_text(&mut self, block: &[u8; BLOCK], length: u8, bytes: &[u8]) {
        let (start, size) = (usize::from(length), bytes.len());
        let place = self.room(BLOCK + 1 + size);
        if let Some(head) = place.first_chunk_mut() {
            *head = *block;
        }
        if size < 0x80
            && let Some([first, rest @ ..]) = place.get_mut(start..start + 1 + size)
        {
            *first = size as u8;
            copy(bytes, rest);
            self.length += start + 1 + size;
        } else {
            self.length += start;
            self.text(bytes);
        }
    }

    /// Adds a number.
    #[inline]
    pub fn varint(&mut self, number: u64) {
        if number < 0x80
            && let Some(place) = self.room(1).first_mut()
        {
            *place = number as u8;
            self.length += 1;
        } else {
            self.long_varint(number);
        }
    }

    fn long_varint(&mut self, number: u64) {
        self.length += put_varint(number, self.room(LONGEST));
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

    /// Starts content of unknown length, and returns its position.
    #[inline]
    pub fn begin(&mut self) -> usize {
        self.varint(0);
        self.length
    }

    /// Ends the content that started at a position.
    #[inline]
    pub fn end(&mut self, start: usize) {
        let length = self.length - start;
        match self.buffer.get_mut(start.wrapping_sub(1)) {
            Some(place) if length < 0x80 => *place = length as u8,
            _ => self.long_end(start, length),
        }
    }

    fn long_end(&mut self, start: usize, length: usize) {
        let more = put_varint(length as u64, &mut [0; LONGEST]) - 1;
        self.room(more);
        self.buffer.copy_within(start..start + length, start + more);
        self.length += more;
        if let Some(place) = self.buffer.get_mut(start - 1..start + more) {
            put_varint(length as u64, place);
        }
    }

    /// Returns a slice for the next bytes to write.
    #[inline]
    fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.buffer.len() - self.length < bytes {
            self.grow(bytes);
        }
        self.buffer.get_mut(self.length..self.length + bytes).unwrap_or_default()
    }

    /// Extends the initialized part of the buffer by a little, so that little of it is unused at the end.
    #[cold]
    fn grow(&mut self, bytes: usize) {
        const AHEAD: usize = 1024;
        self.buffer.resize(self.length + bytes + AHEAD, 0);
    }
}

/// Writes a number and returns its length.
#[inline]
fn put_varint(mut number: u64, to: &mut [u8]) -> usize {
    let mut length = 0;
    for place in to {
        length += 1;
        if number < 0x80 {
            *place = number as u8;
            break;
        }
        *place = number as u8 | 0x80;
        number >>= 7;
    }
    length
}

/// Copies bytes to a slice of the same length; short ones with loads and stores of fixed size, which may
/// overlap.
#[inline]
fn copy(from: &[u8], to: &mut [u8]) {
    if from.len() > 2 * 32 {
        to.copy_from_slice(from);
    } else if !(copy_ends::<32>(from, to)
        || copy_ends::<16>(from, to)
        || copy_ends::<8>(from, to)
        || copy_ends::<4>(from, to))
    {
        for (byte, place) in from.iter().zip(to) {
            *place = *byte;
        }
    }
}

/// Copies the first and the last `N` bytes; false if there are fewer.
#[inline(always)]
fn copy_ends<const N: usize>(from: &[u8], to: &mut [u8]) -> bool {
    let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else { return false };
    if let Some(place) = to.first_chunk_mut::<N>() {
        *place = *first;
    }
    if let Some(place) = to.last_chunk_mut::<N>() {
        *place = *last;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip() {
        for number in [0, 1, 127, 128, 300, 16_383, 16_384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Writer::default();
            out.number(7, number);
            let out = out.finish();
            let mut reader = Reader(&out);
            assert_eq!(reader.next_field(), Ok(Some((7, Payload::Varint(number)))));
            assert_eq!(reader.next_field(), Ok(None));
        }
    }

    #[test]
    fn lengths_of_any_size_are_correct() {
        for length in [0, 1, 127, 128, 16_383, 16_384, 2_097_152] {
            let mut out = Writer::default();
            out.key(3, LENGTH);
            let start = out.begin();
            out.bytes(&vec![7; length]);
            out.end(start);
            out.number(4, 5);
            let out = out.finish();
            let mut reader = Reader(&out);
            assert_eq!(reader.next_field(), Ok(Some((3, Payload::Bytes(&vec![7; length])))));
            assert_eq!(reader.next_field(), Ok(Some((4, Payload::Varint(5)))));
        }
    }

    #[test]
    fn bytes_of_every_length_are_written_completely() {
        let text: Vec<u8> = (0..200).map(|at| at as u8).collect();
        for length in 0..text.len() {
            for constants in [0, 1, BLOCK] {
                let mut out = Writer::default();
                out.append(|out| out.extend_from_slice(b"before"));
                out.some_and_text(&[9; BLOCK], constants as u8, &text[..length]);
                out.bytes(&text[..length]);
                let mut expected = [b"before", &vec![9; constants][..]].concat();
                expected.extend(if length < 0x80 { vec![length as u8] } else { vec![length as u8, 1] });
                expected.extend([&text[..length], &text[..length]].concat());
                assert_eq!(out.finish(), expected);
            }
        }
    }

    #[test]
    fn truncated_and_overlong_input_is_rejected() {
        let cases: [(&[u8], ErrorKind); 8] = [
            (&[0x08], ErrorKind::Truncated),
            (&[0x08, 0x80], ErrorKind::Truncated),
            (&[0x0a, 0x05, 1], ErrorKind::Truncated),
            (&[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], ErrorKind::Truncated),
            (&[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], ErrorKind::Number),
            (&[0x00, 0x00], ErrorKind::Key(0, 0)),
            (&[0x0f], ErrorKind::Key(1, 7)),
            (&[0x0b, 0x08, 0x01], ErrorKind::Truncated),
        ];
        for (bytes, fault) in cases {
            assert_eq!(Reader(bytes).next_field(), Err(fault), "{bytes:?}");
        }
        let group = [0x0b, 0x08, 0x01, 0x0c, 0x10, 0x02];
        assert_eq!(Reader(&group).next_field(), Ok(Some((2, Payload::Varint(2)))));
    }
}
