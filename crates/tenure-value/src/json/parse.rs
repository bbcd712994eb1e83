//! The JSON parser. It is one loop without recursion: the names and values of all open containers are on two
//! stacks, and a container takes its part from the top of both when it closes, in one allocation. The stacks
//! also contain the path, which is formatted only for an error or a duplicate.

use super::{
    name_cache::{self, NameCache},
    number,
    part_index::{Found, PartIndex, Siblings, Step},
    string,
};
use crate::{Duplicate, Error, Limits, Object, Position, Text, Value, prefix::sort_prefix, stack::Stack};
use std::{cmp::Ordering, fmt::Write, mem::take, slice::IterMut};

/// Parses a JSON document. If a field occurs twice in an object, the last one wins.
pub fn parse(text: &[u8], limits: &Limits) -> Result<Value, Error> {
    Parser::new(text, limits, Buffers::new())?.document().map_err(|error| *error)
}

/// Parses a JSON document and returns the fields that occur more than once in an object, in document order,
/// each once per object and at most [`Duplicate::MAX`] of them.
pub fn parse_checked(text: &[u8], limits: &Limits) -> Result<(Value, Vec<Duplicate>), Error> {
    check(Parser::new(text, limits, Buffers::new())?)
}

/// Parses a JSON document as YAML would: an integral float becomes an integer if one can represent it.
pub(crate) fn parse_as_yaml(text: &[u8], limits: &Limits) -> Result<(Value, Vec<Duplicate>), Error> {
    let mut parser = Parser::new(text, limits, Buffers::new())?;
    parser.whole_floats = number::IntegralNumbers::Integer;
    check(parser)
}

fn check(mut parser: Parser<'_, '_>) -> Result<(Value, Vec<Duplicate>), Error> {
    parser.duplicates = Some(Vec::new());
    let value = parser.document().map_err(|error| *error)?;
    let mut duplicates = parser.duplicates.unwrap_or_default();
    duplicates.sort_by_key(|duplicate| duplicate.again.offset);
    Ok((value, duplicates))
}

/// A boxed error, to keep results small on the hot path.
type BoxedError = Box<Error>;

pub(super) struct Parser<'a, 't> {
    bytes: &'a [u8],
    /// The same text, if all of it is UTF-8.
    text: Option<&'a str>,
    at: usize,
    limits: Limits,
    nodes: usize,
    pub(super) buffers: Buffers,
    duplicates: Option<Vec<Duplicate>>,
    whole_floats: number::IntegralNumbers,
    pub(super) reuse: Reuse,
    pub(super) parts: PartIndex<'t>,
}

/// Whether containers are recorded or shared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reuse {
    /// Neither.
    Off,
    /// Containers of this text are recorded.
    Record,
    /// Containers that equal a recorded one are shared.
    Share,
}

/// The memory of a parser, kept from one document to the next. Only the name cache is not empty in between.
#[derive(Default)]
pub(super) struct Buffers {
    open: Vec<Open>,
    /// The field names of all open objects; the last one of each may have no value yet.
    names: Stack<Text>,
    /// The complete values of all open objects and lists.
    values: Stack<Value>,
    /// The fields of one object whose names are not in ascending order: sort prefix and index of each name.
    unsorted: Vec<(u64, u32)>,
    /// The last string that had to be decoded.
    decoded: String,
    cache: NameCache,
}

impl Buffers {
    /// Allocates buffers for a small document, each small enough for the free list of an allocator.
    pub(super) fn new() -> Buffers {
        Buffers {
            open: Vec::with_capacity(12),
            names: Stack::with_capacity(20),
            values: Stack::with_capacity(24),
            ..Buffers::default()
        }
    }
}

/// An object or list that is not complete.
struct Open {
    kind: Container,
    /// The start of its names on the stack.
    names: usize,
    /// The start of its values on the stack.
    values: usize,
    /// Its offset in the text.
    offset: usize,
    /// The sort prefix of its last name.
    last: u64,
    /// Whether its names are in ascending order so far.
    ascending: bool,
    /// The index of this container if containers are recorded.
    part: usize,
    /// The children of its counterpart if containers are shared.
    siblings: Siblings,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

/// Where the path of an error ends: at the innermost container, or at the value being parsed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Container,
    Value,
}

/// Whether a container has been entered or was shared as a whole.
enum Entered {
    Inside,
    Whole,
}

impl<'a, 't> Parser<'a, 't> {
    pub(super) fn new(
        bytes: &'a [u8],
        limits: &Limits,
        mut buffers: Buffers,
    ) -> Result<Parser<'a, 't>, Error> {
        if bytes.len() > limits.bytes {
            return Err(Error::TooLarge { bytes: bytes.len(), limit: limits.bytes });
        }
        buffers.cache.reserve(bytes.len());
        Ok(Parser {
            bytes,
            text: std::str::from_utf8(bytes).ok(),
            at: 0,
            limits: *limits,
            nodes: 0,
            buffers,
            duplicates: None,
            whole_floats: number::IntegralNumbers::Float,
            reuse: Reuse::Off,
            parts: PartIndex::default(),
        })
    }

    pub(super) fn document(&mut self) -> Result<Value, BoxedError> {
        'value: loop {
            match self.skip_space() {
                Some(b'"') => {
                    self.at += 1;
                    self.string_value()?;
                }
                Some(b'{') => match self.enter(Container::Object)? {
                    Entered::Whole => {}
                    Entered::Inside if self.skip_space() != Some(b'}') => {
                        self.name()?;
                        continue 'value;
                    }
                    Entered::Inside => {
                        self.at += 1;
                        self.close_object()?;
                    }
                },
                Some(b'[') => match self.enter(Container::Array)? {
                    Entered::Whole => {}
                    Entered::Inside if self.skip_space() != Some(b']') => continue 'value,
                    Entered::Inside => {
                        self.at += 1;
                        self.close_array();
                    }
                },
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal("true", Value::Bool(true))?,
                Some(b'f') => self.literal("false", Value::Bool(false))?,
                Some(b'n') => self.literal("null", Value::Null)?,
                _ => return Err(self.unexpected("looking for beginning of value", Reach::Value)),
            }
            // A value is complete; so may be its container, and the one around that.
            loop {
                self.nodes += 1;
                if self.nodes > self.limits.nodes {
                    return Err(self.too_many_nodes());
                }
                let container = self.buffers.open.last().map(|open| open.kind);
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
                    (None, None) => {
                        return Ok(self.buffers.values.drain(0).next().map(take).unwrap_or_default());
                    }
                    (_, container) => return Err(self.unexpected(after(container), Reach::Container)),
                }
            }
        }
    }

    /// Skips white space and returns the next byte without consuming it.
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

    #[inline]
    fn enter(&mut self, kind: Container) -> Result<Entered, BoxedError> {
        if self.buffers.open.len() >= self.limits.depth {
            return Err(Box::new(Error::TooDeep { position: self.position(), limit: self.limits.depth }));
        }
        let (mut part, mut siblings) = (0, Siblings::default());
        match self.reuse {
            Reuse::Off => {}
            Reuse::Record => part = self.parts.begin(step(self.buffers.open.last()), self.at, self.nodes),
            Reuse::Share => match self.shared() {
                Some(inside) => siblings = inside,
                None => return Ok(Entered::Whole),
            },
        }
        self.buffers.open.push(Open {
            kind,
            names: self.buffers.names.len(),
            values: self.buffers.values.len(),
            offset: self.at,
            last: 0,
            ascending: true,
            part,
            siblings,
        });
        self.at += 1;
        Ok(Entered::Inside)
    }

    /// Takes the container at the current position if it equals its recorded counterpart; otherwise returns
    /// the children of the counterpart.
    #[inline(never)]
    fn shared(&mut self) -> Option<Siblings> {
        let around = self.buffers.open.last_mut();
        let step = step(around.as_deref());
        let mut document = self.parts.document();
        let siblings = around.map_or(&mut document, |open| &mut open.siblings);
        match self.parts.find(siblings, step, self.bytes.get(self.at..).unwrap_or_default()) {
            Found::Other(inside) => Some(inside),
            Found::Same { value, length, nodes } => {
                self.buffers.values.push(|| value.clone());
                self.nodes += nodes;
                self.at += length;
                None
            }
        }
    }

    /// Adds a complete container to the values.
    #[inline]
    fn close(&mut self, container: Value) {
        if self.reuse == Reuse::Record
            && let Some(open) = self.buffers.open.last()
        {
            self.parts.end(open.part, self.at, self.nodes, &container);
        }
        self.buffers.open.pop();
        self.buffers.values.push(|| container);
    }

    /// Parses a field name and the colon after it. Most names are frequent ones without white space around
    /// them; that path is kept short.
    #[inline]
    fn name(&mut self) -> Result<(), BoxedError> {
        if let Some(rest) = self.bytes.get(self.at..)
            && let Some((b'"', text)) = rest.split_first()
            && let Some((name, order, length)) = name_cache::frequent(text)
            && rest.get(length + 2) == Some(&b':')
        {
            push_name(&mut self.buffers.open, &mut self.buffers.names, order, || name.clone());
            self.at += length + 3;
            return Ok(());
        }
        self.any_name()
    }

    #[inline(never)]
    fn any_name(&mut self) -> Result<(), BoxedError> {
        if self.skip_space() != Some(b'"') {
            return Err(self.unexpected("looking for beginning of object key string", Reach::Container));
        }
        self.at += 1;
        let Buffers { open, names, cache, .. } = &mut self.buffers;
        if let Some((name, order, end)) = cache.read(self.bytes, self.text, self.at) {
            push_name(open, names, order, || name.clone());
            self.at = end;
        } else {
            let name = match self.plain_string() {
                Some(plain) => string::text(plain),
                None => self.string()?,
            };
            let order = sort_prefix(&name);
            push_name(&mut self.buffers.open, &mut self.buffers.names, order, || name);
        }
        if self.skip_space() != Some(b':') {
            return Err(self.unexpected("after object key", Reach::Container));
        }
        self.at += 1;
        Ok(())
    }

    fn close_array(&mut self) {
        let start = self.buffers.open.last().map_or(0, |open| open.values);
        let array = self.buffers.values.drain(start).map(take).collect();
        self.close(Value::Array(array));
    }

    fn close_object(&mut self) -> Result<(), BoxedError> {
        let Buffers { open, names, values, .. } = &mut self.buffers;
        let Some(&Open { names: first, values: value, ascending, .. }) = open.last() else { return Ok(()) };
        let object = if first == names.len() {
            Object::default()
        } else if ascending {
            Object::from_sorted(fields(names.drain(first), values.drain(value)))
        } else {
            self.sorted(first, value)?
        };
        self.close(Value::Object(object));
        Ok(())
    }

    /// Returns the fields of the innermost object in order; of fields with the same name the last one wins.
    fn sorted(&mut self, first: usize, value: usize) -> Result<Object, BoxedError> {
        let Buffers { names, values, unsorted, .. } = &mut self.buffers;
        let names = names.drain(first).into_slice();
        let values = values.drain(value).into_slice();
        unsorted.clear();
        unsorted.extend(names.iter().zip(0..).map(|(name, number)| (sort_prefix(name), number)));
        let name = |number: u32| names.get(number as usize);
        let compare = |a: &(u64, u32), b: &(u64, u32)| match a.0.cmp(&b.0) {
            Ordering::Equal => name(a.1).cmp(&name(b.1)).then(a.1.cmp(&b.1)),
            order => order,
        };
        unsorted.sort_unstable_by(compare);
        let same = |pair: &[(u64, u32)]| pair[0].0 == pair[1].0 && name(pair[0].1) == name(pair[1].1);
        let repeated = match unsorted.windows(2).any(same) {
            true => drop_repeated(unsorted, names),
            false => Vec::new(),
        };
        let field = |&(_, number): &(u64, u32)| {
            let number = number as usize;
            (
                names.get_mut(number).map(take).unwrap_or_default(),
                values.get_mut(number).map(take).unwrap_or_default(),
            )
        };
        let object = Object::from_sorted(unsorted.iter().map(field));
        // Values that were not taken would otherwise remain beyond the ends of the stacks.
        names.iter_mut().for_each(|name| *name = Text::default());
        values.iter_mut().for_each(|value| *value = Value::Null);
        if !repeated.is_empty() && self.duplicates.is_some() {
            self.report(repeated)?;
        }
        Ok(object)
    }

    /// Parses the last object again to find the positions of its duplicate names.
    #[cold]
    fn report(&mut self, mut repeated: Vec<Text>) -> Result<(), BoxedError> {
        let Some(mut found) = self.duplicates.take() else { return Ok(()) };
        let room = Duplicate::MAX.saturating_sub(found.len());
        repeated.truncate(room);
        let end = self.at;
        let mut first_seen: Vec<Option<usize>> = vec![None; repeated.len()];
        let mut reported = 0;
        let object = self.path(Reach::Container);
        self.at = self.buffers.open.last().map_or(0, |open| open.offset) + 1;
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
                                let positions = [first, offset].map(|at| Position::of(self.bytes, at));
                                found.push(Duplicate::new(&object, &name, positions[0], positions[1]));
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
    fn number(&mut self) -> Result<(), BoxedError> {
        if let Some((number, end)) = number::short_integer(self.bytes, self.at) {
            self.at = end;
            self.buffers.values.push(|| Value::Int(number));
            return Ok(());
        }
        match number::scan(self.bytes, self.at, self.whole_floats) {
            Ok((value, end)) => {
                self.at = end;
                self.buffers.values.push(|| value);
                Ok(())
            }
            Err(error) => Err(self.bad_number(error)),
        }
    }

    #[cold]
    fn bad_number(&mut self, error: number::NumberError) -> BoxedError {
        match error {
            number::NumberError::Unexpected(at, place) => {
                self.at = at;
                self.unexpected(place, Reach::Value)
            }
            number::NumberError::Infinite(end) => Box::new(Error::Number {
                number: String::from_utf8_lossy(self.bytes.get(self.at..end).unwrap_or_default()).into(),
                position: self.position(),
                path: self.path(Reach::Value),
            }),
        }
    }

    fn literal(&mut self, word: &'static str, value: Value) -> Result<(), BoxedError> {
        for expected in word.bytes() {
            if self.bytes.get(self.at) != Some(&expected) {
                let place = format!("in literal {word} (expecting '{}')", expected as char);
                return Err(self.unexpected(&place, Reach::Value));
            }
            self.at += 1;
        }
        self.buffers.values.push(|| value);
        Ok(())
    }

    /// Parses a string value after its opening quote.
    #[inline]
    fn string_value(&mut self) -> Result<(), BoxedError> {
        match self.plain_string() {
            Some(plain) => self.buffers.values.push(|| Value::String(string::text(plain))),
            None => {
                let text = self.string()?;
                self.buffers.values.push(|| Value::String(text));
            }
        }
        Ok(())
    }

    /// Returns the string at the current position if it contains no escapes; otherwise consumes nothing.
    #[inline]
    fn plain_string(&mut self) -> Option<&'a str> {
        let (start, end) = (self.at, string::plain_end(self.bytes, self.at));
        if self.bytes.get(end) != Some(&b'"') {
            return None;
        }
        let plain = self.text?.get(start..end)?;
        self.at = end + 1;
        Some(plain)
    }

    /// Parses any string after its opening quote.
    fn string(&mut self) -> Result<Text, BoxedError> {
        let (start, end) = (self.at, string::plain_end(self.bytes, self.at));
        match string::decode(self.bytes, start, end, &mut self.buffers.decoded) {
            Ok(end) => {
                self.at = end;
                Ok(string::text(&self.buffers.decoded))
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
    fn too_many_nodes(&self) -> BoxedError {
        Box::new(Error::TooManyNodes { position: self.position(), limit: self.limits.nodes })
    }

    /// Returns the error for the current byte, or for the end of the text.
    #[cold]
    fn unexpected(&self, place: &str, reach: Reach) -> BoxedError {
        let problem = match self.bytes.get(self.at) {
            None => "unexpected end of JSON input".to_owned(),
            Some(byte) => format!("invalid character {} {place}", quoted(*byte)),
        };
        Box::new(Error::Syntax { problem, position: self.position(), path: self.path(reach) })
    }

    /// Formats the path of the current position.
    #[cold]
    fn path(&self, reach: Reach) -> String {
        let steps = match reach {
            Reach::Container => self.buffers.open.len().saturating_sub(1),
            Reach::Value => self.buffers.open.len(),
        };
        let mut path = String::new();
        for (step, open) in self.buffers.open.iter().enumerate().take(steps) {
            let inner = self.buffers.open.get(step + 1);
            match open.kind {
                Container::Object => {
                    let waiting = inner.map_or(self.buffers.names.len(), |inner| inner.names).checked_sub(1);
                    if let Some(name) = waiting.and_then(|at| self.buffers.names.get(at)) {
                        path.push_str(if path.is_empty() { "" } else { "." });
                        path.push_str(name);
                    }
                }
                Container::Array => {
                    let index = inner.map_or(self.buffers.values.len(), |inner| inner.values) - open.values;
                    // Writing to a string cannot fail.
                    let _ = write!(path, "[{index}]");
                }
            }
        }
        path
    }
}

/// Returns how a container is reached from the enclosing one.
#[inline]
fn step(around: Option<&Open>) -> Step {
    match around {
        Some(open) if open.kind == Container::Object => Step::Name(open.last),
        _ => Step::Item,
    }
}

/// Adds a name to the innermost object, and records whether its names are still in ascending order.
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

/// Keeps the last field of each name, and returns the duplicate names.
#[cold]
fn drop_repeated(unsorted: &mut Vec<(u64, u32)>, names: &[Text]) -> Vec<Text> {
    let mut repeated: Vec<Text> = Vec::new();
    unsorted.dedup_by(|later, kept| {
        let (Some(name), Some(other)) = (names.get(later.1 as usize), names.get(kept.1 as usize)) else {
            return false;
        };
        if name == other {
            *kept = *later;
            if repeated.last() != Some(name) {
                repeated.push(name.clone());
            }
        }
        name == other
    });
    repeated
}

/// Zips names and values to fields.
#[inline(always)]
fn fields<'a>(names: IterMut<'a, Text>, values: IterMut<'a, Value>) -> impl Iterator<Item = (Text, Value)> {
    names.zip(values).map(|(name, value)| (take(name), take(value)))
}

/// Returns the context of an unexpected byte after a value.
fn after(container: Option<Container>) -> &'static str {
    match container {
        Some(Container::Object) => "after object key:value pair",
        Some(Container::Array) => "after array element",
        None => "after top-level value",
    }
}

/// Formats a byte as Go's messages do: as the character with that code, in single quotes.
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
