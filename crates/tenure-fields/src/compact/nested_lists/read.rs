//! The parser of nested lists, in one pass: JSON, with `!` and a number in place of any string if there is a
//! table.

use super::DIGITS;
use crate::{Error, FieldSet, Node, PathElement, compact::Table};
use tenure_value::{Limits, Object, Position, Text, Value, json};

/// Parses nested lists without references.
pub(super) fn plain(text: &str) -> Result<FieldSet, Error> {
    let mut reader = Reader { text, at: 0, table: None };
    reader.expect(b'[', "a list")?;
    let set = reader.level(1)?;
    reader.end()?;
    Ok(set)
}

/// Parses nested lists that start with the version of a table.
pub(super) fn with_table<'s>(
    text: &str,
    table: impl FnOnce(u32) -> Result<&'s Table, Error>,
) -> Result<FieldSet, Error> {
    let mut reader = Reader { text, at: 0, table: None };
    reader.expect(b'[', "a list")?;
    let start = reader.start();
    let version = match reader.value(1)? {
        Value::Int(version) => u32::try_from(version).ok(),
        _ => None,
    };
    let version = version.ok_or_else(|| reader.wrong(start, "expected the version of a table".to_owned()))?;
    reader.table = Some(table(version)?);
    if reader.peek() != Some(b']') {
        reader.expect(b',', "a comma or the end of the list")?;
        if reader.peek() == Some(b']') {
            return Err(reader.unexpected("an element after the comma"));
        }
    }
    let set = reader.level(1)?;
    reader.end()?;
    Ok(set)
}

struct Reader<'t, 's> {
    text: &'t str,
    at: usize,
    table: Option<&'s Table>,
}

impl Reader<'_, '_> {
    /// Parses the items of a level after its opening bracket, and the closing bracket.
    fn level(&mut self, depth: usize) -> Result<FieldSet, Error> {
        if depth > Limits::DEPTH {
            return Err(Error::TooDeep { limit: Limits::DEPTH });
        }
        let mut nodes: Vec<Node> = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(FieldSet::default());
        }
        loop {
            let start = self.start();
            let node = self.node(depth)?;
            if nodes.last().is_some_and(|before| before.element >= node.element) {
                return Err(
                    self.wrong(start, "the elements of a list are not sorted or not unique".to_owned())
                );
            }
            nodes.push(node);
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(FieldSet::from_sorted(nodes.into_iter()));
                }
                _ => return Err(self.unexpected("a comma or the end of the list")),
            }
        }
    }

    fn node(&mut self, depth: usize) -> Result<Node, Error> {
        let start = self.start();
        let number = match self.value(1)? {
            Value::Int(number @ 0..=11) => number,
            _ => return Err(self.wrong(start, "expected a number from 0 to 11 before an element".to_owned())),
        };
        self.expect(b',', "a comma and the element")?;
        let start = self.start();
        let element = match (number % 4, self.value(1)?) {
            (0, Value::String(name)) => PathElement::Field(name),
            (1, value) => PathElement::Value(value),
            (2, Value::Int(index)) => PathElement::Index(index),
            (3, Value::Object(key)) => PathElement::Key(key),
            (kind, other) => {
                let expected = ["a string", "", "an integer", "an object"][kind as usize];
                return Err(self
                    .wrong(start, format!("found a {}, expected {expected} after {number}", other.kind())));
            }
        };
        let mut children = FieldSet::default();
        if number >= 4 {
            self.expect(b',', "a comma and the list of children")?;
            self.expect(b'[', "the list of children")?;
            let start = self.start();
            children = self.level(depth + 1)?;
            if children.is_empty() {
                return Err(
                    self.wrong(start, format!("expected elements in the list that {number} announces"))
                );
            }
        }
        Ok(Node { element, included: !(4..8).contains(&number), children })
    }

    fn value(&mut self, depth: usize) -> Result<Value, Error> {
        if depth > Limits::DEPTH {
            return Err(Error::TooDeep { limit: Limits::DEPTH });
        }
        match self.peek() {
            Some(b'"' | b'!') => self.string().map(Value::String),
            Some(b'[') => {
                self.at += 1;
                let mut items = Vec::new();
                self.items(b']', |reader| {
                    items.push(reader.value(depth + 1)?);
                    Ok(())
                })?;
                Ok(Value::Array(items.into()))
            }
            Some(b'{') => {
                self.at += 1;
                let mut fields: Vec<(Text, Value)> = Vec::new();
                let start = self.start();
                self.items(b'}', |reader| {
                    let name = reader.string()?;
                    reader.expect(b':', "a colon and the value")?;
                    fields.push((name, reader.value(depth + 1)?));
                    Ok(())
                })?;
                fields.sort_by(|a, b| a.0.cmp(&b.0));
                if fields.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                    return Err(self.wrong(start, "duplicate name in an object".to_owned()));
                }
                Ok(Value::Object(Object::from_sorted(fields)))
            }
            _ => self.scalar(),
        }
    }

    /// Parses comma-separated items up to the closing bracket.
    fn items(
        &mut self,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.unexpected("a comma or the closing bracket")),
            }
        }
    }

    fn string(&mut self) -> Result<Text, Error> {
        match (self.peek(), self.table) {
            (Some(b'!'), Some(table)) => self.reference(table),
            (Some(b'"'), _) => {
                let start = self.at;
                self.at += 1;
                while let Some(byte) = self.text.as_bytes().get(self.at) {
                    match byte {
                        b'"' => break,
                        b'\\' => self.at += 2,
                        _ => self.at += 1,
                    }
                }
                self.at += 1;
                match self.json(start)? {
                    Value::String(text) => Ok(text),
                    _ => Err(self.unexpected("a string")),
                }
            }
            _ => Err(self.unexpected("a string")),
        }
    }

    fn reference(&mut self, table: &Table) -> Result<Text, Error> {
        let start = self.at;
        let digits = self.text.as_bytes().get(start + 1..).unwrap_or_default();
        let place = |byte: &u8| DIGITS.iter().position(|digit| digit == byte);
        let digits: Vec<usize> = digits.iter().map_while(place).collect();
        self.at += 1 + digits.len();
        let spelled = digits.len() == 1 || digits.first().is_some_and(|first| *first != 0);
        let add = |number: usize, digit: &usize| number.checked_mul(64)?.checked_add(*digit);
        let number = digits.iter().try_fold(0, add).filter(|_| spelled);
        match number.and_then(|number| table.string(number)) {
            Some(text) => Ok(text.clone()),
            None => {
                let problem = format!(
                    "expected the number of one of the {} strings of table {}",
                    table.strings().len(),
                    table.version()
                );
                Err(self.wrong(start, problem))
            }
        }
    }

    /// Parses a number, `true`, `false` or `null`.
    fn scalar(&mut self) -> Result<Value, Error> {
        let start = self.at;
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let length =
            rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
        if length == 0 {
            return Err(self.unexpected("a value"));
        }
        self.at += length;
        self.json(start)
    }

    fn json(&self, start: usize) -> Result<Value, Error> {
        let Some(text) = self.text.get(start..self.at) else {
            return Err(self.wrong(start, "found a string without its closing quote".to_owned()));
        };
        json::parse(text.as_bytes(), &Limits::default()).map_err(|error| self.wrong(start, error.problem()))
    }

    /// Skips white space, and returns the position.
    fn start(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// Skips white space, and returns the next byte.
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.text.as_bytes().get(self.at) {
            self.at += 1;
        }
        self.text.as_bytes().get(self.at).copied()
    }

    fn expect(&mut self, byte: u8, what: &str) -> Result<(), Error> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.unexpected(what))
    }

    fn end(&mut self) -> Result<(), Error> {
        if self.peek().is_none() { Ok(()) } else { Err(self.unexpected("the end of the text")) }
    }

    fn unexpected(&self, expected: &str) -> Error {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found =
            rest.chars().next().map_or("the end of the text".to_owned(), |found| format!("{found:?}"));
        self.wrong(self.at, format!("found {found}, expected {expected}"))
    }

    fn wrong(&self, at: usize, problem: String) -> Error {
        Error::Syntax { problem, position: Position::of(self.text.as_bytes(), at.min(self.text.len())) }
    }
}
