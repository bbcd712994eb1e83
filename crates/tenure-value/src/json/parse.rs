//! JSON to the tree. One loop, no recursion: names and finished values wait on two stacks shared by all
//! open objects and lists, and each container takes its share from the top in one allocation when it
//! closes. The stacks also hold the path, which is spelled out only for an error or a duplicate.

use super::{
    names::{self, Names},
    number,
    stack::Stack,
    string,
};
use crate::{Duplicate, Error, Limits, Object, Position, Text, Value};
use std::{fmt::Write, mem::take, slice::IterMut};

/// Reads one JSON document; of two fields with one name the later wins.
pub fn parse(text: &[u8], limits: &Limits) -> Result<Value, Error> {
    Parser::new(text, limits)?.document().map_err(|fault| *fault)
}

/// Reads one JSON document and reports names that occur more than once in an object, in the order of the
/// text, each once per object and [`Duplicate::MOST`] at most.
pub fn parse_checked(text: &[u8], limits: &Limits) -> Result<(Value, Vec<Duplicate>), Error> {
    check(Parser::new(text, limits)?)
}

/// Reads one JSON document as YAML would: a whole float is an integer where one holds it.
pub(crate) fn parse_as_yaml(text: &[u8], limits: &Limits) -> Result<(Value, Vec<Duplicate>), Error> {
    let mut parser = Parser::new(text, limits)?;
    parser.whole_floats = number::Whole::Integer;
    check(parser)
}

fn check(mut parser: Parser<'_>) -> Result<(Value, Vec<Duplicate>), Error> {
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
    /// The names of the fields of all open objects; the last one of each may await its value.
    names: Stack<Text>,
    /// The finished values of all open objects and lists.
    values: Stack<Value>,
    /// The fields of one object whose names do not ascend, while they are sorted.
    unsorted: Vec<(Text, Value)>,
    /// The last string that had to be decoded.
    decoded: String,
    known: Names,
    duplicates: Option<Vec<Duplicate>>,
    whole_floats: number::Whole,
}

/// An object or list whose end has not been read.
struct Open {
    kind: Container,
    /// Where its names begin on their stack.
    names: usize,
    /// Where its values begin on theirs.
    values: usize,
    /// Where it begins in the text.
    offset: usize,
    /// The order of its last name.
    last: u64,
    /// Whether its names ascend so far.
    ascending: bool,
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
            names: Stack::with_capacity(32),
            values: Stack::with_capacity(64),
            unsorted: Vec::new(),
            decoded: String::new(),
            known: Names::new(bytes.len()),
            duplicates: None,
            whole_floats: number::Whole::Float,
        })
    }

    fn document(&mut self) -> Result<Value, Fault> {
        'value: loop {
            match self.skip_space() {
                Some(b'"') => {
                    self.at += 1;
                    self.string_value()?;
                }
                Some(b'{') => {
                    self.enter(Container::Object)?;
                    if self.skip_space() != Some(b'}') {
                        self.name()?;
                        continue 'value;
                    }
                    self.at += 1;
                    self.close_object()?;
                }
                Some(b'[') => {
                    self.enter(Container::Array)?;
                    if self.skip_space() != Some(b']') {
                        continue 'value;
                    }
                    self.at += 1;
                    self.close_array();
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal("true", Value::Bool(true))?,
                Some(b'f') => self.literal("false", Value::Bool(false))?,
                Some(b'n') => self.literal("null", Value::Null)?,
                _ => return Err(self.unexpected("looking for beginning of value", Reach::Value)),
            }
            // A value is whole; so may be its container, and that one's.
            loop {
                self.nodes += 1;
                if self.nodes > self.limits.nodes {
                    return Err(self.too_many_nodes());
                }
                let container = self.open.last().map(|open| open.kind);
                match (self.skip_space(), container) {
                    (Some(b','), Some(Container::Object)) => {
                        self.at += 1;
                        self.name()?;
                        continue 'value;
                    }
                    (Some(b','), Some(Container::Array)) => {
                        self.at += 1;
                        continue 'value;
                    }
                    (Some(b'}'), Some(Container::Object)) => {
                        self.at += 1;
                        self.close_object()?;
                    }
                    (Some(b']'), Some(Container::Array)) => {
                        self.at += 1;
                        self.close_array();
                    }
                    (None, None) => return Ok(self.values.drain(0).next().map(take).unwrap_or_default()),
                    (_, container) => return Err(self.unexpected(after(container), Reach::Container)),
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
        self.open.push(Open {
            kind,
            names: self.names.len(),
            values: self.values.len(),
            offset: self.at,
            last: 0,
            ascending: true,
        });
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
        match self.plain_string() {
            Some((start, plain)) => match self.known.name(self.bytes, start, plain) {
                Some((name, order)) => push_name(&mut self.open, &mut self.names, order, || name.clone()),
                None => self.push_new_name(string::text(plain)),
            },
            None => {
                let name = self.string()?;
                self.push_new_name(name);
            }
        }
        if self.skip_space() != Some(b':') {
            return Err(self.unexpected("after object key", Reach::Container));
        }
        self.at += 1;
        Ok(())
    }

    fn push_new_name(&mut self, name: Text) {
        let order = names::order_of(&name);
        push_name(&mut self.open, &mut self.names, order, || name);
    }

    fn close_array(&mut self) {
        let start = self.open.pop().map_or(0, |open| open.values);
        let array = self.values.drain(start).map(take).collect();
        self.values.push(|| Value::Array(array));
    }

    fn close_object(&mut self) -> Result<(), Fault> {
        let Some(&Open { names, values, ascending, .. }) = self.open.last() else { return Ok(()) };
        let object = if names == self.names.len() {
            Object::default()
        } else if ascending {
            Object::from_sorted(fields(self.names.drain(names), self.values.drain(values)))
        } else {
            self.sort_fields(names, values)?;
            Object::from_sorted(self.unsorted.drain(..))
        };
        self.open.pop();
        self.values.push(|| Value::Object(object));
        Ok(())
    }

    /// Takes the innermost object's fields aside and in order; of those with one name the last stays.
    fn sort_fields(&mut self, names: usize, values: usize) -> Result<(), Fault> {
        self.unsorted.extend(fields(self.names.drain(names), self.values.drain(values)));
        self.unsorted.sort_by(|a, b| a.0.cmp(&b.0));
        let mut repeated = Vec::new();
        self.unsorted.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                std::mem::swap(later, kept);
                if repeated.last() != Some(&kept.0) {
                    repeated.push(kept.0.clone());
                }
            }
            same
        });
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
    fn number(&mut self) -> Result<(), Fault> {
        if let Some((number, end)) = number::short_integer(self.bytes, self.at) {
            self.at = end;
            self.values.push(|| Value::Int(number));
            return Ok(());
        }
        match number::scan(self.bytes, self.at, self.whole_floats) {
            Ok((value, end)) => {
                self.at = end;
                self.values.push(|| value);
                Ok(())
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

    fn literal(&mut self, word: &'static str, value: Value) -> Result<(), Fault> {
        for expected in word.bytes() {
            if self.bytes.get(self.at) != Some(&expected) {
                let place = format!("in literal {word} (expecting '{}')", expected as char);
                return Err(self.unexpected(&place, Reach::Value));
            }
            self.at += 1;
        }
        self.values.push(|| value);
        Ok(())
    }

    /// Reads the string value whose opening quote has been taken.
    #[inline]
    fn string_value(&mut self) -> Result<(), Fault> {
        match self.plain_string() {
            Some((_, plain)) => self.values.push(|| Value::String(string::text(plain))),
            None => {
                let text = self.string()?;
                self.values.push(|| Value::String(text));
            }
        }
        Ok(())
    }

    /// Takes a string that stands in the text as it is, and returns it with its offset; takes nothing
    /// if it must be decoded.
    #[inline]
    fn plain_string(&mut self) -> Option<(usize, &'a str)> {
        let (start, end) = (self.at, string::plain_end(self.bytes, self.at));
        if self.bytes.get(end) != Some(&b'"') {
            return None;
        }
        let plain = self.text?.get(start..end)?;
        self.at = end + 1;
        Some((start, plain))
    }

    /// Reads any string whose opening quote has been taken.
    fn string(&mut self) -> Result<Text, Fault> {
        let (start, end) = (self.at, string::plain_end(self.bytes, self.at));
        match string::decode(self.bytes, start, end, &mut self.decoded) {
            Ok(end) => {
                self.at = end;
                Ok(string::text(&self.decoded))
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
            let inner = self.open.get(step + 1);
            match open.kind {
                Container::Object => {
                    let waiting = inner.map_or(self.names.len(), |inner| inner.names).checked_sub(1);
                    if let Some(name) = waiting.and_then(|at| self.names.get(at)) {
                        path.push_str(if path.is_empty() { "" } else { "." });
                        path.push_str(name);
                    }
                }
                Container::Array => {
                    let index = inner.map_or(self.values.len(), |inner| inner.values) - open.values;
                    // Writing to a string cannot fail.
                    let _ = write!(path, "[{index}]");
                }
            }
        }
        path
    }
}

/// Adds a name to the innermost object, and notes whether its names still ascend.
#[inline(always)]
fn push_name(open: &mut [Open], names: &mut Stack<Text>, order: u64, name: impl FnOnce() -> Text) {
    let before = names.len();
    names.push(name);
    if let Some(open) = open.last_mut() {
        if order <= open.last && before > open.names {
            open.ascending &= order == open.last && names.get(before - 1) < names.get(before);
        }
        open.last = order;
    }
}

/// Takes names and values as fields.
#[inline(always)]
fn fields<'a>(names: IterMut<'a, Text>, values: IterMut<'a, Value>) -> impl Iterator<Item = (Text, Value)> {
    names.zip(values).map(|(name, value)| (take(name), take(value)))
}

/// What an unexpected byte behind a value comes after.
fn after(container: Option<Container>) -> &'static str {
    match container {
        Some(Container::Object) => "after object key:value pair",
        Some(Container::Array) => "after array element",
        None => "after top-level value",
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
