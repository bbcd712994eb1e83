//! Builds documents from YAML events, without recursion. An alias shares the value of its anchor, so it costs
//! no memory here. It counts as all the values and bytes that it expands to, because every traversal of the
//! document visits them all.

use super::{message, scalar};
use crate::{Duplicate, Error, Limits, Object, Position, Text, Value};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, StrInput, Tag};
use std::{borrow::Cow, cell::Cell, collections::HashMap, fmt::Write};

/// Parses the first document of a stream. If a field occurs twice, the last one wins. An empty stream yields
/// `null`.
pub fn parse(text: &[u8], limits: &Limits) -> Result<Value, Error> {
    parse_checked(text, limits).map(|(value, _)| value)
}

/// Parses the first document of a stream and returns the fields that occur more than once in an object, in
/// document order, at most [`Duplicate::MAX`] of them.
pub fn parse_checked(text: &[u8], limits: &Limits) -> Result<(Value, Vec<Duplicate>), Error> {
    read(text, limits, |reader| {
        let value = reader.document()?.unwrap_or_default();
        Ok((value, std::mem::take(&mut reader.duplicates)))
    })
}

/// Parses all documents of a stream, without the empty ones.
pub fn parse_all(text: &[u8], limits: &Limits) -> Result<Vec<Value>, Error> {
    parse_all_checked(text, limits).map(|(values, _)| values)
}

/// Parses all documents of a stream as [`parse_all`], and returns duplicates as [`parse_checked`].
pub fn parse_all_checked(text: &[u8], limits: &Limits) -> Result<(Vec<Value>, Vec<Duplicate>), Error> {
    read(text, limits, |reader| {
        let mut documents = Vec::new();
        while let Some(document) = reader.document()? {
            if !document.is_null() {
                documents.push(document);
            }
        }
        Ok((documents, std::mem::take(&mut reader.duplicates)))
    })
}

/// The maximum number of bytes parsed again because of [`Reader::tabs`].
const MAX_REPARSED_BYTES: usize = 32 << 20;

/// Calls `take` with a reader; if the parser rejects tabs that Kubernetes accepts, again with spaces in place
/// of tabs.
fn read<T>(
    text: &[u8],
    limits: &Limits,
    take: impl Fn(&mut Reader<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut text = Cow::Borrowed(text);
    let mut read_again = 0;
    loop {
        let mut reader = Reader::new(&text, limits)?;
        let taken = take(&mut reader);
        let Some(tabs) = reader.tabs.filter(|_| read_again < MAX_REPARSED_BYTES) else { return taken };
        read_again += text.len();
        // The length does not change, so positions stay valid.
        let before = text.to_mut().iter_mut().take(tabs).rev();
        before.take_while(|byte| matches!(byte, b' ' | b'\t')).for_each(|byte| *byte = b' ');
    }
}

struct Reader<'a> {
    text: &'a str,
    /// The number of bytes before the text: those of a byte order mark.
    before: usize,
    events: Parser<'a, StrInput<'a>>,
    /// The lines of a text that contains tabs, for [`Reader::refuse_tab`]; otherwise empty.
    lines: Vec<&'a str>,
    limits: Limits,
    nodes: usize,
    /// The bytes of all names and scalars so far, with aliases expanded.
    bytes: usize,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    duplicates: Vec<Duplicate>,
    /// Where the parser stopped at tabs that are valid.
    tabs: Option<usize>,
    /// The last position that was looked up in [`Reader::lines`].
    last_place: Cell<LinePlace>,
}

/// A position in a line, in characters and in bytes.
#[derive(Clone, Copy, Default)]
struct LinePlace {
    line: usize,
    column: usize,
    offset: usize,
}

/// The value of an anchor.
#[derive(Clone)]
struct Anchored {
    value: Value,
    size: Size,
    depth: usize,
}

/// The size of a value with its aliases expanded.
#[derive(Clone, Copy)]
struct Size {
    nodes: usize,
    bytes: usize,
}

/// A sequence or mapping that is not complete.
struct Open {
    content: Content,
    anchor: usize,
    /// The counts before it.
    before: Size,
    /// Its maximum depth, itself included.
    depth: usize,
    /// Whether it is in flow style, or inside of a container that is.
    flow: bool,
}

enum Content {
    Sequence(Vec<Value>),
    Mapping { fields: Vec<(Text, Value, Marker)>, key: Option<Key> },
}

enum Key {
    Name(Text, Marker),
    /// `<<`: the fields of the value are merged.
    Merge(Marker),
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], limits: &Limits) -> Result<Reader<'a>, Error> {
        if bytes.len() > limits.bytes {
            return Err(Error::TooLarge { bytes: bytes.len(), limit: limits.bytes });
        }
        let text = std::str::from_utf8(bytes).map_err(|error| Error::Syntax {
            problem: "invalid UTF-8".to_owned(),
            position: Position::of(bytes, error.valid_up_to()),
            path: String::new(),
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Ok(Reader {
            text,
            before: bytes.len() - text.len(),
            events: Parser::new_from_str(text),
            lines: if text.contains('\t') { text.split('\n').collect() } else { Vec::new() },
            limits: *limits,
            nodes: 0,
            bytes: 0,
            open: Vec::new(),
            anchors: HashMap::new(),
            duplicates: Vec::new(),
            tabs: None,
            last_place: Cell::default(),
        })
    }

    /// Parses the next document, if there is one.
    fn document(&mut self) -> Result<Option<Value>, Error> {
        self.anchors.clear();
        loop {
            let Some(event) = self.events.next_event() else { return Ok(None) };
            let (event, span) = event.map_err(|error| self.syntax(&error))?;
            self.refuse_tab(&event, span.start)?;
            let finished = match event {
                Event::Scalar(text, style, anchor, tag) => {
                    self.scalar(&text, style, anchor, tag.as_deref(), span.start)?
                }
                Event::Alias(anchor) => self.alias(anchor, span.start)?,
                Event::SequenceStart(anchor, _) => {
                    self.enter(Content::Sequence(Vec::new()), anchor, span.start)?;
                    None
                }
                Event::MappingStart(anchor, _) => {
                    self.enter(Content::Mapping { fields: Vec::new(), key: None }, anchor, span.start)?;
                    None
                }
                Event::SequenceEnd | Event::MappingEnd => self.close(span.start)?,
                Event::StreamEnd => return Ok(None),
                Event::Nothing | Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => None,
            };
            if finished.is_some() {
                return Ok(finished);
            }
        }
    }

    /// Rejects a node that is indented with a tab. The grammar of YAML 1.2 allows some of these, Kubernetes
    /// none, and the intended nesting is ambiguous.
    fn refuse_tab(&self, event: &Event<'_>, at: Marker) -> Result<(), Error> {
        let begins = matches!(
            event,
            Event::Scalar(..) | Event::Alias(_) | Event::SequenceStart(..) | Event::MappingStart(..)
        );
        if self.lines.is_empty() || !begins || self.open.last().is_some_and(|open| open.flow) {
            return Ok(());
        }
        let before = self.line_at(at).0;
        let indents = before.chars().all(|character| matches!(character, ' ' | '\t' | '-' | '?'));
        if indents && before.contains('\t') {
            return Err(self.problem("found character that cannot start any token".to_owned(), at));
        }
        Ok(())
    }

    /// Returns the text before a position in its line, and the character at the position.
    fn line_at(&self, at: Marker) -> (&'a str, Option<char>) {
        let number = at.line().saturating_sub(1);
        let line = self.lines.get(number).copied().unwrap_or_default();
        // Positions come in ascending order, so a long line is scanned once and not once per position.
        let last = self.last_place.get();
        let (from, offset) = match last {
            LinePlace { line, column, offset } if line == number && column <= at.col() => (column, offset),
            _ => (0, 0),
        };
        let rest = line.get(offset..).unwrap_or_default();
        match rest.char_indices().nth(at.col() - from) {
            Some((further, character)) => {
                let offset = offset + further;
                self.last_place.set(LinePlace { line: number, column: at.col(), offset });
                (line.get(..offset).unwrap_or_default(), Some(character))
            }
            None => (line, None),
        }
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        at: Marker,
    ) -> Result<Option<Value>, Error> {
        let plain = style == ScalarStyle::Plain;
        let expects_key =
            matches!(self.open.last(), Some(Open { content: Content::Mapping { key: None, .. }, .. }));
        if expects_key && plain && tag.is_none() && text == "<<" {
            if let Some(Open { content: Content::Mapping { key, .. }, .. }) = self.open.last_mut() {
                *key = Some(Key::Merge(at));
            }
            return Ok(None);
        }
        let resolved = match tag.map(|tag| format!("{}{}", tag.handle, tag.suffix)) {
            Some(tag) => scalar::resolve_tagged(&tag, text),
            None if plain => scalar::resolve(text),
            None => Ok(Value::from(text)),
        };
        let value = resolved.map_err(|problem| self.problem(problem, at))?;
        let size = Size { nodes: 1, bytes: text.len() };
        self.remember(anchor, &value, size, 0);
        self.place(value, size, 0, at)
    }

    fn alias(&mut self, anchor: usize, at: Marker) -> Result<Option<Value>, Error> {
        let Some(Anchored { value, size, depth }) = self.anchors.get(&anchor).cloned() else {
            return Err(self.problem("an anchor's value contains itself".to_owned(), at));
        };
        if self.open.len() + depth > self.limits.depth {
            return Err(self.too_deep(at));
        }
        self.place(value, size, depth, at)
    }

    fn enter(&mut self, content: Content, anchor: usize, at: Marker) -> Result<(), Error> {
        if self.open.len() >= self.limits.depth {
            return Err(self.too_deep(at));
        }
        let within = self.open.last().is_some_and(|open| open.flow);
        let flow = within || matches!(self.line_at(at).1, Some('[' | '{'));
        let before = Size { nodes: self.nodes, bytes: self.bytes };
        self.open.push(Open { content, anchor, before, depth: 1, flow });
        Ok(())
    }

    fn close(&mut self, at: Marker) -> Result<Option<Value>, Error> {
        let Some(Open { content, anchor, before, depth, .. }) = self.open.pop() else { return Ok(None) };
        let value = match content {
            Content::Sequence(items) => Value::array(items),
            Content::Mapping { fields, .. } => Value::Object(self.object(fields)),
        };
        let size = Size { nodes: self.nodes - before.nodes + 1, bytes: self.bytes - before.bytes };
        self.remember(anchor, &value, size, depth);
        // The content has already been counted.
        self.place(value, Size { nodes: 1, bytes: 0 }, depth, at)
    }

    fn remember(&mut self, anchor: usize, value: &Value, size: Size, depth: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, Anchored { value: value.clone(), size, depth });
        }
    }

    /// Adds a value to its container; returns it if it is the document.
    fn place(&mut self, value: Value, size: Size, depth: usize, at: Marker) -> Result<Option<Value>, Error> {
        self.nodes = self.nodes.saturating_add(size.nodes);
        self.bytes = self.bytes.saturating_add(size.bytes);
        if self.nodes > self.limits.nodes {
            return Err(Error::TooManyNodes { position: self.position(at), limit: self.limits.nodes });
        }
        if self.bytes > self.limits.bytes {
            return Err(Error::ExpandedTooLarge { position: self.position(at), limit: self.limits.bytes });
        }
        let Some(open) = self.open.last_mut() else { return Ok(Some(value)) };
        open.depth = open.depth.max(depth + 1);
        match &mut open.content {
            Content::Sequence(items) => items.push(value),
            Content::Mapping { fields, key } => match key.take() {
                Some(Key::Name(name, at)) => fields.push((name, value, at)),
                Some(Key::Merge(at)) => {
                    let problem = merge(fields, &value, at).err();
                    return problem.map_or(Ok(None), |problem| Err(self.problem(problem, at)));
                }
                None => match scalar::name(value) {
                    Ok(name) => *key = Some(Key::Name(name, at)),
                    Err(problem) => return Err(self.problem(problem, at)),
                },
            },
        }
        Ok(None)
    }

    /// Creates the object of a complete mapping.
    fn object(&mut self, mut fields: Vec<(Text, Value, Marker)>) -> Object {
        let mut duplicates = Vec::new();
        if !fields.is_sorted_by(|a, b| a.0 < b.0) {
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            fields.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                if same {
                    std::mem::swap(later, kept);
                    duplicates.push((kept.0.clone(), later.2, kept.2));
                }
                same
            });
        }
        duplicates.sort_by_key(|(_, _, again)| again.index());
        for (name, first, again) in duplicates {
            if self.duplicates.len() < Duplicate::MAX {
                let (first, again) = (self.position(first), self.position(again));
                self.duplicates.push(Duplicate::new(&self.path(), &name, first, again));
                self.duplicates.sort_by_key(|duplicate| duplicate.again.offset);
            }
        }
        Object::from_sorted(fields.into_iter().map(|(name, value, _)| (name, value)))
    }

    #[cold]
    fn syntax(&mut self, error: &ScanError) -> Error {
        // The parser has its own limit for the depth of flow collections.
        if error.info() == "recursion limit exceeded" {
            return Error::TooDeep {
                position: self.position(*error.marker()),
                limit: self.limits.depth.min(255),
            };
        }
        let in_flow = self.open.last().is_some_and(|open| open.flow);
        let offset = self.position(*error.marker()).offset;
        let behind_tab =
            self.text.as_bytes().get(..offset - self.before).is_some_and(|text| text.ends_with(b"\t"));
        if behind_tab
            && (error.info().starts_with("':' must be") || in_flow && error.info().starts_with("tabs "))
        {
            self.tabs = Some(offset);
        }
        self.problem(message::familiar(error.info()).to_owned(), *error.marker())
    }

    fn problem(&self, problem: String, at: Marker) -> Error {
        Error::Syntax { problem, position: self.position(at), path: self.path() }
    }

    fn too_deep(&self, at: Marker) -> Error {
        Error::TooDeep { position: self.position(at), limit: self.limits.depth }
    }

    fn position(&self, at: Marker) -> Position {
        let offset = self.text.char_indices().nth(at.index()).map_or(self.text.len(), |(offset, _)| offset);
        Position { offset: self.before + offset, line: at.line(), column: at.col() + 1 }
    }

    /// Formats the path of the current position.
    fn path(&self) -> String {
        let mut path = String::new();
        for open in &self.open {
            match &open.content {
                // Writing to a string cannot fail.
                Content::Sequence(items) => drop(write!(path, "[{}]", items.len())),
                Content::Mapping { key: Some(Key::Name(name, _)), .. } => {
                    path.push_str(if path.is_empty() { "" } else { "." });
                    path.push_str(name);
                }
                Content::Mapping { .. } => {}
            }
        }
        path
    }
}

/// Merges the fields of an object, or of a list of objects in which earlier ones take precedence.
fn merge(fields: &mut Vec<(Text, Value, Marker)>, value: &Value, at: Marker) -> Result<(), String> {
    let objects: Cow<'_, [Value]> = match value {
        Value::Array(items) => Cow::Borrowed(items.items()),
        other => Cow::Owned(vec![other.clone()]),
    };
    let mut merged: Vec<(Text, Value, Marker)> = Vec::new();
    for value in objects.iter() {
        let Some(object) = value.as_object() else {
            return Err("map merge requires map or sequence of maps as the value".to_owned());
        };
        merged.extend(object.iter().map(|(name, value)| (name.clone(), value.clone(), at)));
    }
    merged.sort_by(|a, b| a.0.cmp(&b.0));
    merged.dedup_by(|later, first| later.0 == first.0);
    fields.extend(merged);
    Ok(())
}
