//! The bytes that records are made of: variable-length integers, texts and values. Names that the table of field names knows
//! take one or two bytes; the version of the table is part of each record, so that records stay readable when it grows.

use crate::error::Problem;
use tenure_fields::compact::{Table, tables};
use tenure_value::{Limits, Object, Text, Value, json};

/// The deepest nesting that is read back; deeper values are refused where they enter the server.
pub(crate) const MAX_DEPTH: usize = 1_000;
/// The longest text that is looked up in the table.
const LONGEST_NAME: usize = 48;

/// The kinds of values.
const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INTEGER: u8 = 3;
const NUMBER: u8 = 4;
const STRING: u8 = 5;
const ARRAY: u8 = 6;
const OBJECT: u8 = 7;

/// Appends to a record.
pub(crate) struct Encoder {
    pub(crate) out: Vec<u8>,
    table: Option<&'static Table>,
}

impl Encoder {
    pub(crate) fn new() -> Encoder {
        Encoder { out: Vec::with_capacity(128), table: tables::current().ok() }
    }

    /// Returns the version of the table of names; zero for none.
    pub(crate) fn table_version(&self) -> u32 {
        self.table.map_or(0, Table::version)
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    pub(crate) fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.out.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.out.push(number as u8);
    }

    pub(crate) fn signed(&mut self, number: i64) {
        self.varint((number << 1 ^ number >> 63) as u64);
    }

    pub(crate) fn count(&mut self, count: usize) {
        self.varint(count as u64);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.out.extend_from_slice(bytes);
    }

    /// Appends a text: its number in the table, or its bytes. Never begins with a zero.
    pub(crate) fn text(&mut self, text: &str) {
        let known = self.table.filter(|_| text.len() <= LONGEST_NAME).and_then(|table| table.number(text));
        match known {
            Some(number) => self.varint(u64::from(number) << 1 | 1),
            None => {
                self.varint((text.len() as u64 + 1) << 1);
                self.out.extend_from_slice(text.as_bytes());
            }
        }
    }

    /// Ends a sequence of texts.
    pub(crate) fn end(&mut self) {
        self.out.push(0);
    }

    pub(crate) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.byte(NULL),
            Value::Bool(false) => self.byte(FALSE),
            Value::Bool(true) => self.byte(TRUE),
            Value::Int(number) => {
                self.byte(INTEGER);
                self.signed(*number);
            }
            Value::UInt(_) | Value::Float(_) => {
                self.byte(NUMBER);
                let mut text = Vec::new();
                json::write(value, &mut text);
                self.bytes(&text);
            }
            Value::String(text) => {
                self.byte(STRING);
                self.text(text);
            }
            Value::Array(items) => {
                self.byte(ARRAY);
                self.count(items.len());
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(fields) => {
                self.byte(OBJECT);
                for (name, value) in fields {
                    self.text(name);
                    self.value(value);
                }
                self.end();
            }
        }
    }
}

/// Reads a record.
pub(crate) struct Decoder<'b> {
    rest: &'b [u8],
    table: Option<&'static Table>,
}

impl<'b> Decoder<'b> {
    pub(crate) fn new(rest: &'b [u8], table: Option<&'static Table>) -> Decoder<'b> {
        Decoder { rest, table }
    }

    /// Returns the table of a version; zero means no table.
    pub(crate) fn table_of(version: u64) -> Result<Option<&'static Table>, Problem> {
        match u32::try_from(version).unwrap_or(u32::MAX) {
            0 => Ok(None),
            version => tables::table(version).map(Some).map_err(|error| error.to_string()),
        }
    }

    pub(crate) fn set_table(&mut self, table: Option<&'static Table>) {
        self.table = table;
    }

    pub(crate) fn rest(&self) -> &'b [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Problem> {
        let (first, rest) = self.rest.split_first().ok_or("it ends too early")?;
        self.rest = rest;
        Ok(*first)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, Problem> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("a number is too long".into())
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Problem> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Reads a number of items, each of which takes at least one byte.
    pub(crate) fn count(&mut self) -> Result<usize, Problem> {
        let count = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        if count > self.rest.len() {
            return Err(format!("{count} items in {} bytes", self.rest.len()));
        }
        Ok(count)
    }

    /// Reads a plain number.
    pub(crate) fn number(&mut self) -> Result<usize, Problem> {
        usize::try_from(self.varint()?).map_err(|_| "a number is too large".into())
    }

    pub(crate) fn bytes(&mut self) -> Result<&'b [u8], Problem> {
        let length = self.count()?;
        let (bytes, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads a text; `None` at the end of a sequence.
    pub(crate) fn text_or_end(&mut self) -> Result<Option<Text>, Problem> {
        let code = self.varint()?;
        if code == 0 {
            return Ok(None);
        }
        if code & 1 == 1 {
            let number = usize::try_from(code >> 1).unwrap_or(usize::MAX);
            let text = self.table.and_then(|table| table.string(number));
            return text.cloned().map(Some).ok_or_else(|| format!("there is no name with number {number}"));
        }
        let length = usize::try_from((code >> 1) - 1).unwrap_or(usize::MAX);
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or("it ends too early")?;
        self.rest = rest;
        std::str::from_utf8(bytes).map(|text| Some(Text::new(text))).map_err(|_| "a text is not UTF-8".into())
    }

    pub(crate) fn text(&mut self) -> Result<Text, Problem> {
        self.text_or_end()?.ok_or_else(|| "a text is missing".into())
    }

    pub(crate) fn value(&mut self, depth: usize) -> Result<Value, Problem> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deeply".into());
        }
        Ok(match self.byte()? {
            NULL => Value::Null,
            FALSE => Value::Bool(false),
            TRUE => Value::Bool(true),
            INTEGER => Value::Int(self.signed()?),
            NUMBER => json::parse(self.bytes()?, &Limits::TRUSTED).map_err(|error| error.to_string())?,
            STRING => Value::String(self.text()?),
            ARRAY => {
                let count = self.count()?;
                let items = (0..count).map(|_| self.value(depth + 1)).collect::<Result<Vec<_>, _>>()?;
                Value::array(items)
            }
            OBJECT => {
                let mut fields: Vec<(Text, Value)> = Vec::new();
                while let Some(name) = self.text_or_end()? {
                    if fields.last().is_some_and(|(last, _)| *last >= name) {
                        return Err(format!("field {name:?} is out of order"));
                    }
                    let value = self.value(depth + 1)?;
                    fields.push((name, value));
                }
                Value::Object(Object::from_sorted(fields))
            }
            other => return Err(format!("unknown kind {other} of a value")),
        })
    }
}
