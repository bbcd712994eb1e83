//! The parser of `FieldsV1`, in one pass. Levels at the same depth often have the same text (every container
//! has the same fields), so a level whose text equals that of a recent one is shared.

use super::{Order, element, element::Member};
use crate::{Error, FieldSet, Node, PathElement, memo::Memo};
use std::ops::Range;
use tenure_value::{Limits, Position, Text, Value, json};

/// Parses a field set.
pub fn parse(text: &[u8]) -> Result<FieldSet, Error> {
    parse_ordered(text).map(|(set, _)| set)
}

/// Parses a field set, and returns the order of its members.
pub fn parse_ordered(text: &[u8]) -> Result<(FieldSet, Order), Error> {
    let text = std::str::from_utf8(text).map_err(|error| Error::Syntax {
        problem: "invalid UTF-8; a field set is JSON text".to_owned(),
        position: Position::of(text, error.valid_up_to()),
    })?;
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
        nodes: Vec::new(),
        recent: Memo::new(),
        key: Vec::new(),
        order: Order::Elements,
    };
    reader.space();
    let level = reader.level()?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.unexpected("the end of the text"));
    }
    Ok((level.children, reader.order))
}

/// A parsed level.
#[derive(Clone)]
struct Level {
    /// Whether `.` was a member, or the level was empty.
    included: bool,
    children: FieldSet,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// The nodes of all open levels, innermost last.
    nodes: Vec<Node>,
    /// The levels parsed last, by their text.
    recent: Memo<Range<usize>, Level>,
    /// A buffer for the fields of a key.
    key: Vec<(Text, Value)>,
    order: Order,
}

impl<'t> Reader<'t> {
    fn level(&mut self) -> Result<Level, Error> {
        if self.rest().starts_with(b"null") {
            self.at += 4;
            return Ok(Level { included: true, children: FieldSet::EMPTY });
        }
        if self.depth == Limits::DEPTH {
            return Err(Error::TooDeep { limit: Limits::DEPTH });
        }
        self.depth += 1;
        self.expect(b'{', "an object")?;
        let base = self.nodes.len();
        let included = self.members(base)?;
        self.depth -= 1;
        let children = FieldSet::from_sorted(self.nodes.drain(base..));
        Ok(Level { included: included || children.is_empty(), children })
    }

    /// Parses the members of a level up to its closing brace, and returns whether `.` is one.
    fn members(&mut self, base: usize) -> Result<bool, Error> {
        let mut included = false;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(false);
        }
        loop {
            let member = self.name()?;
            self.space();
            self.expect(b':', "a colon after the member's name")?;
            self.space();
            match member {
                Member::Itself => {
                    included = true;
                    self.skip_value()?;
                }
                Member::Unknown => self.skip_value()?,
                Member::Element(element) => {
                    let level = self.below()?;
                    self.push(base, element, level);
                }
            }
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(included);
                }
                _ => return Err(self.unexpected("a comma or the end of the object")),
            }
            self.space();
        }
    }

    /// Parses the level below a member, or shares one at the same depth with the same text.
    fn below(&mut self) -> Result<Level, Error> {
        if self.rest().starts_with(b"{}") {
            self.at += 2;
            return Ok(Level { included: true, children: FieldSet::EMPTY });
        }
        let (start, rest, text) = (self.at, self.rest(), self.text.as_bytes());
        // An object ends with its closing brace, so text that starts with it is the same object.
        let same = |range: &Range<usize>| rest.starts_with(&text[range.clone()]);
        if let Some((range, level)) = self.recent.find(self.depth, same) {
            self.at += range.len();
            return Ok(level.clone());
        }
        let level = self.level()?;
        if !level.children.is_empty() {
            self.recent.keep(self.depth, start..self.at, level.clone());
        }
        Ok(level)
    }

    /// Adds a node to the level that starts at `base`. If an element occurs twice, the last one wins.
    fn push(&mut self, base: usize, element: PathElement, level: Level) {
        let node = Node { element, included: level.included, children: level.children };
        let level = &self.nodes[base..];
        if level.last().is_none_or(|last| last.element < node.element) {
            self.nodes.push(node);
            return;
        }
        self.order = Order::Names;
        match level.binary_search_by(|other| other.element.cmp(&node.element)) {
            Err(at) => self.nodes.insert(base + at, node),
            Ok(at) => {
                let same = &mut self.nodes[base + at];
                same.included |= node.included;
                if !node.children.is_empty() {
                    same.children = node.children;
                }
            }
        }
    }

    /// Parses a member name.
    fn name(&mut self) -> Result<Member, Error> {
        self.expect(b'"', "a member's name")?;
        let start = self.at;
        let plain = self.rest().iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
        self.at = plain.map_or(self.text.len(), |plain| start + plain);
        if self.peek() == Some(b'"') {
            let name = self.text.get(start..self.at).unwrap_or_default();
            self.at += 1;
            if let Some(field) = name.strip_prefix("f:") {
                return Ok(Member::Element(PathElement::Field(Text::new(field))));
            }
            return element::read(name);
        }
        self.escaped_name(start)
    }

    /// Parses a name from `start` that contains JSON escapes; the reader is at the first one.
    fn escaped_name(&mut self, start: usize) -> Result<Member, Error> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b'\\') => self.at += 2,
                Some(b'"') => break,
                Some(0x20..) => self.at += 1,
                _ => return Err(self.unexpected("the closing quote of the member's name")),
            }
        }
        self.at += 1;
        let name = self.text.get(start..self.at - 1).unwrap_or_default();
        if let Some(key) =
            name.strip_prefix("k:").and_then(|key| element::read_escaped_key(key, &mut self.key))
        {
            return Ok(Member::Element(PathElement::Key(key)));
        }
        let quoted = start - 1;
        match json::parse(&bytes[quoted..self.at], &Limits::default()) {
            Ok(Value::String(name)) => element::read(&name),
            Ok(_) => Err(self.unexpected("a member's name")),
            Err(error) => {
                Err(Error::Syntax { problem: error.problem(), position: Position::of(bytes, quoted) })
            }
        }
    }

    /// Skips the value of an ignored member.
    fn skip_value(&mut self) -> Result<(), Error> {
        if self.rest().starts_with(b"{}") {
            self.at += 2;
            return Ok(());
        }
        let start = self.at;
        let mut open = 0usize;
        // Finds the end of the value; the JSON parser checks its syntax.
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    while let Some(byte) = self.peek() {
                        match byte {
                            b'"' => break,
                            b'\\' => self.at += 2,
                            _ => self.at += 1,
                        }
                    }
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' | b',' if open == 0 => break,
                b'}' | b']' => open -= 1,
                _ => {}
            }
            self.at += 1;
        }
        let end = self.at.min(self.text.len());
        self.at = end;
        json::parse(&self.text.as_bytes()[start..end], &Limits::default()).map(|_| ()).map_err(|error| {
            let offset = start + error.position().map_or(0, |position| position.offset);
            Error::Syntax { problem: error.problem(), position: Position::of(self.text.as_bytes(), offset) }
        })
    }

    #[inline]
    fn rest(&self) -> &'t [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn expect(&mut self, byte: u8, what: &str) -> Result<(), Error> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.unexpected(what))
    }

    #[cold]
    fn unexpected(&self, expected: &str) -> Error {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found =
            rest.chars().next().map_or("the end of the text".to_owned(), |found| format!("{found:?}"));
        Error::Syntax {
            problem: format!("found {found}, expected {expected}"),
            position: Position::of(self.text.as_bytes(), self.at.min(self.text.len())),
        }
    }
}
