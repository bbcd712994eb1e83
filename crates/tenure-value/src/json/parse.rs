//! JSON to the tree. One loop, no recursion: finished fields and items wait on two stacks shared by all
//! open objects and lists, and each container takes its share from the top in one allocation when it
//! closes. The stacks also hold the path, which is spelled out only for an error or a duplicate.

use super::{number, string};
use crate::{Duplicate, Error, Limits, Object, Position, Text, Value};
use std::fmt::Write;

/// Reads one JSON document; of two fields with one name the later wins.
pub fn parse(text: &[u8], limits: &Limits) -> Result<Value, Error> {
    Parser::new(text, limits)?.document().map_err(|fault| *fault)
}

/// Reads one JSON document and reports names that occur more than once in an object, in the order of the
/// text, each once per object and [`Duplicate::MOST`] at most.
pub fn parse_checked(text: &[u8], limits: &Limits) -> Result<(Value, Vec<Duplicate>), Error> {
    let mut parser = Parser::new(text, limits)?;
    parser.duplicates = Some(Vec::new());
    let value = parser.document().map_err(|fault| *fault)?;
    let mut duplicates = parser.duplicates.unwrap_or_default();
    duplicates.sort_by_key(|duplicate| duplicate.again.offset);
    Ok((value, duplicates))
}

/// An error on its way up; boxed, as the way is hot and the error is not.
type Fault = Box<Error>;

struct Parser<'a> {
    bytes: &'a [u8],
    /// The same text, where all of it is UTF-8.
    text: Option<&'a str>,
    at: usize,
    limits: Limits,
    nodes: usize,
    open: Vec<Open>,
    /// The fields of all open objects; the last one of each object but the innermost awaits its value.
    fields: Vec<(Text, Value)>,
    /// The items of all open lists.
    items: Vec<Value>,
    duplicates: Option<Vec<Duplicate>>,
}

/// An object or list whose end has not been read.
struct Open {
    kind: Container,
    /// Where its fields or items begin on their stack.
    start: usize,
    /// Where it begins in the text.
    offset: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

/// How far the path of an error goes: to the innermost container, or to the value being read in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Container,
    Value,
}

impl<'a> Parser<'a> {
    fn new(bytes: &'a [u8], limits: &Limits) -> Result<Parser<'a>, Error> {
        if bytes.len() > limits.bytes {
            return Err(Error::TooLarge { bytes: bytes.len(), limit: limits.bytes });
        }
        Ok(Parser {
            bytes,
            text: std::str::from_utf8(bytes).ok(),
            at: 0,
            limits: *limits,
            nodes: 0,
            open: Vec::with_capacity(16),
            fields: Vec::with_capacity(32),
            items: Vec::with_capacity(32),
            duplicates: None,
        })
    }

    fn document(&mut self) -> Result<Value, Fault> {
        'value: loop {
            let mut value = match self.skip_space() {
                Some(b'"') => {
                    self.at += 1;
                    Value::String(self.string()?)
                }
                Some(b'{') => {
                    self.enter(Container::Object)?;
                    if self.skip_space() == Some(b'}') {
                        self.at += 1;
                        self.close_object()?
                    } else {
                        self.name()?;
                        continue 'value;
                    }
                }
                Some(b'[') => {
                    self.enter(Container::Array)?;
                    if self.skip_space() == Some(b']') {
                        self.at += 1;
                        self.close_array()
                    } else {
                        continue 'value;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal("true", Value::Bool(true))?,
                Some(b'f') => self.literal("false", Value::Bool(false))?,
                Some(b'n') => self.literal("null", Value::Null)?,
                _ => return Err(self.unexpected("looking for beginning of value", Reach::Value)),
            };
            // The value is whole: it goes to its container, and each container that ends here to its own.
            loop {
                self.nodes += 1;
                if self.nodes > self.limits.nodes {
                    return Err(self.too_many_nodes());
                }
                let Some(container) = self.open.last().map(|open| open.kind) else {
                    return match self.skip_space() {
                        None => Ok(value),
                        Some(_) => Err(self.unexpected("after top-level value", Reach::Container)),
                    };
                };
                match container {
                    Container::Object => {
                        if let Some(field) = self.fields.last_mut() {
                            field.1 = value;
                        }
                        match self.skip_space() {
                            Some(b',') => {
                                self.at += 1;
                                self.name()?;
                                continue 'value;
                            }
                            Some(b'}') => {
                                self.at += 1;
                                value = self.close_object()?;
                            }
                            _ => return Err(self.unexpected("after object key:value pair", Reach::Container)),
                        }
                    }
                    Container::Array => {
                        self.items.push(value);
                        match self.skip_space() {
                            Some(b',') => {
                                self.at += 1;
                                continue 'value;
                            }
                            Some(b']') => {
                                self.at += 1;
                                value = self.close_array();
                            }
                            _ => return Err(self.unexpected("after array element", Reach::Container)),
                        }
                    }
                }
            }
        }
    }

    /// Steps over white space and returns the byte behind it without taking it.
    #[inline]
    fn skip_space(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            if byte > b' ' || !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    fn enter(&mut self, kind: Container) -> Result<(), Fault> {
        if self.open.len() >= self.limits.depth {
            return Err(Box::new(Error::TooDeep { position: self.position(), limit: self.limits.depth }));
        }
        let start = match kind {
            Container::Object => self.fields.len(),
            Container::Array => self.items.len(),
        };
        self.open.push(Open { kind, start, offset: self.at });
        self.at += 1;
        Ok(())
    }

    /// Reads a field's name and the colon, and leaves the field waiting for its value.
    #[inline]
    fn name(&mut self) -> Result<(), Fault> {
        if self.skip_space() != Some(b'"') {
            return Err(self.unexpected("looking for beginning of object key string", Reach::Container));
        }
        self.at += 1;
        let name = self.string()?;
        self.fields.push((name, Value::Null));
        if self.skip_space() != Some(b':') {
            return Err(self.unexpected("after object key", Reach::Container));
        }
        self.at += 1;
        Ok(())
    }

    fn close_array(&mut self) -> Value {
        let start = self.open.pop().map_or(0, |open| open.start);
        Value::Array(self.items.drain(start..).collect())
    }

    fn close_object(&mut self) -> Result<Value, Fault> {
        let start = self.open.last().map_or(0, |open| open.start);
        let ascending = self.fields.get(start..).unwrap_or_default().windows(2).all(|pair| match pair {
            [a, b] => a.0 < b.0,
            _ => true,
        });
        if !ascending {
            self.sort_fields(start)?;
        }
        self.open.pop();
        if start == self.fields.len() {
            return Ok(Value::Object(Object::default()));
        }
        Ok(Value::Object(Object::from_sorted(self.fields.drain(start..))))
    }

    /// Brings the innermost object's fields into order; of those with one name the last stays.
    fn sort_fields(&mut self, start: usize) -> Result<(), Fault> {
        let Some(fields) = self.fields.get_mut(start..) else { return Ok(()) };
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        let mut repeated = Vec::new();
        let mut kept = 0;
        for next in 0..fields.len() {
            if kept > 0 && fields[kept - 1].0 == fields[next].0 {
                if repeated.last() != Some(&fields[next].0) {
                    repeated.push(fields[next].0.clone());
                }
                kept -= 1;
            }
            fields.swap(kept, next);
            kept += 1;
        }
        self.fields.truncate(start + kept);
        if repeated.is_empty() || self.duplicates.is_none() { Ok(()) } else { self.report(repeated) }
    }

    /// Finds the repeated names of the object that has just ended in the text again, to say where they are.
    #[cold]
    fn report(&mut self, mut repeated: Vec<Text>) -> Result<(), Fault> {
        let Some(mut found) = self.duplicates.take() else { return Ok(()) };
        let room = Duplicate::MOST.saturating_sub(found.len());
        repeated.truncate(room);
        let end = self.at;
        let mut first_seen: Vec<Option<usize>> = vec![None; repeated.len()];
        let mut reported = 0;
        let object = self.path(Reach::Container);
        self.at = self.open.last().map_or(0, |open| open.offset) + 1;
        let mut depth = 1;
        let mut at_name = true;
        while self.at < end && reported < repeated.len() {
            let offset = self.at;
            self.at += 1;
            match self.bytes.get(offset) {
                Some(b'"') => {
                    let name = self.string()?;
                    if at_name && let Ok(which) = repeated.binary_search(&name) {
                        match first_seen.get_mut(which) {
                            Some(Some(usize::MAX)) | None => {}
                            Some(Some(first)) => {
                                let first = std::mem::replace(first, usize::MAX);
                                found.push(Duplicate {
                                    object: object.clone(),
                                    name,
                                    first: Position::of(self.bytes, first),
                                    again: Position::of(self.bytes, offset),
                                });
                                reported += 1;
                            }
                            Some(unseen) => *unseen = Some(offset),
                        }
                    }
                    at_name = false;
                }
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => depth -= 1,
                Some(b',') => at_name = depth == 1,
                _ => {}
            }
        }
        self.at = end;
        self.duplicates = Some(found);
        Ok(())
    }

    #[inline]
    fn number(&mut self) -> Result<Value, Fault> {
        match number::scan(self.bytes, self.at) {
            Ok((value, end)) => {
                self.at = end;
                Ok(value)
            }
            Err(fault) => Err(self.bad_number(fault)),
        }
    }

    #[cold]
    fn bad_number(&mut self, fault: number::Fault) -> Fault {
        match fault {
            number::Fault::Unexpected(at, place) => {
                self.at = at;
                self.unexpected(place, Reach::Value)
            }
            number::Fault::Infinite(end) => Box::new(Error::Number {
                number: String::from_utf8_lossy(self.bytes.get(self.at..end).unwrap_or_default()).into(),
                position: self.position(),
                path: self.path(Reach::Value),
            }),
        }
    }

    fn literal(&mut self, word: &'static str, value: Value) -> Result<Value, Fault> {
        for expected in word.bytes() {
            if self.bytes.get(self.at) != Some(&expected) {
                let place = format!("in literal {word} (expecting '{}')", expected as char);
                return Err(self.unexpected(&place, Reach::Value));
            }
            self.at += 1;
        }
        Ok(value)
    }

    /// Reads a string whose opening quote has been taken.
    #[inline]
    fn string(&mut self) -> Result<Text, Fault> {
        let (start, end) = (self.at, string::plain_end(self.bytes, self.at));
        if self.bytes.get(end) == Some(&b'"')
            && let Some(plain) = self.text.and_then(|text| text.get(start..end))
        {
            self.at = end + 1;
            return Ok(Text::new(plain));
        }
        match string::decode(self.bytes, start, end) {
            Ok((text, end)) => {
                self.at = end;
                Ok(text)
            }
            Err((at, place)) => {
                self.at = at;
                Err(self.unexpected(place, Reach::Value))
            }
        }
    }

    fn position(&self) -> Position {
        Position::of(self.bytes, self.at)
    }

    #[cold]
    fn too_many_nodes(&self) -> Fault {
        Box::new(Error::TooManyNodes { position: self.position(), limit: self.limits.nodes })
    }

    /// The error for the byte at hand, or for the end of the text.
    #[cold]
    fn unexpected(&self, place: &str, reach: Reach) -> Fault {
        let problem = match self.bytes.get(self.at) {
            None => "unexpected end of JSON input".to_owned(),
            Some(byte) => format!("invalid character {} {place}", quoted(*byte)),
        };
        Box::new(Error::Syntax { problem, position: self.position(), path: self.path(reach) })
    }

    /// Spells out where in the document the parser is.
    #[cold]
    fn path(&self, reach: Reach) -> String {
        let steps = match reach {
            Reach::Container => self.open.len().saturating_sub(1),
            Reach::Value => self.open.len(),
        };
        let mut path = String::new();
        for (step, open) in self.open.iter().enumerate().take(steps) {
            let inner = self.open.iter().skip(step + 1).find(|inner| inner.kind == open.kind);
            match open.kind {
                Container::Object => {
                    let waiting = inner.map_or(self.fields.len(), |inner| inner.start).checked_sub(1);
                    if let Some((name, _)) = waiting.and_then(|at| self.fields.get(at)) {
                        path.push_str(if path.is_empty() { "" } else { "." });
                        path.push_str(name);
                    }
                }
                Container::Array => {
                    let index = inner.map_or(self.items.len(), |inner| inner.start) - open.start;
                    // Writing to a string cannot fail.
                    let _ = write!(path, "[{index}]");
                }
            }
        }
        path
    }
}

/// Shows a byte the way Go's messages do: as the character of that number, in single quotes.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        0x07 => r"'\a'".to_owned(),
        0x08 => r"'\b'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        0x0B => r"'\v'".to_owned(),
        0x0C => r"'\f'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        0x00..=0x1F | 0x7F => format!("'\\x{byte:02x}'"),
        0x80..=0xA0 | 0xAD => format!("'\\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}
