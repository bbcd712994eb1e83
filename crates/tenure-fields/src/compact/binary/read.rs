//! The decoder: one pass that checks everything it reads. The nodes of all open levels are on one stack; when
//! a level ends, it becomes the children of its parent node.

use super::{MAX_CONTENT, codes, text, varint};
use crate::{
    Error, FieldSet, Node, PathElement,
    compact::{
        Table,
        table::{CompleteLevel, Part, PhrasePart, Run, SHORT_PHRASES, Shape, Step},
    },
};
use tenure_value::{Limits, Object, Text, Value};

/// Buffers that are reused from one document to the next.
#[derive(Default)]
pub(super) struct DecodeBuffers {
    seen: Vec<Text>,
    levels: Vec<CompleteLevel>,
    nodes: Vec<Node>,
    open: Vec<Level>,
    key: Vec<(Text, Value)>,
    joined: String,
}

/// Decoding failed. The error is stored in the reader, because it is too large to return from every byte.
#[derive(Debug)]
pub(super) struct Failed;

/// Decodes the sets of one document.
pub(super) struct Reader<'t> {
    bytes: &'t [u8],
    at: usize,
    table: &'t Table,
    failure: Option<Error>,
    seen: Vec<Text>,
    /// The levels that can be repeated, by number.
    levels: Vec<CompleteLevel>,
    nodes: Vec<Node>,
    open: Vec<Level>,
    /// Buffers for the fields of a key and for a string under construction.
    key: Vec<(Text, Value)>,
    joined: String,
    /// The last complete set.
    root: FieldSet,
    content: u64,
    /// The most content that is accepted.
    limit: u64,
}

/// An open level.
struct Level {
    /// The start of its nodes.
    base: usize,
    /// The size of the document before the level.
    content: u64,
    /// The rank of the last node's name in the table, from 1; 0 if it has none.
    rank: u32,
    /// The number of nested levels below it.
    height: usize,
}

/// Whether the set continues.
#[derive(PartialEq, Eq)]
enum Progress {
    More,
    Complete,
}

impl<'t> Reader<'t> {
    /// Starts after the version byte, or at the first set.
    pub(super) fn new(
        bytes: &'t [u8],
        at: usize,
        table: &'t Table,
        buffers: &mut DecodeBuffers,
    ) -> Reader<'t> {
        let DecodeBuffers { mut seen, mut levels, mut nodes, mut open, key, joined } =
            std::mem::take(buffers);
        // Enough for most documents; growing step by step would cost more than decoding.
        seen.reserve(8);
        levels.reserve(16);
        nodes.reserve(16);
        open.reserve(12);
        let (failure, root) = (None, FieldSet::default());
        let (content, limit) = (0, MAX_CONTENT);
        Reader { bytes, at, table, failure, seen, levels, nodes, open, key, joined, root, content, limit }
    }

    /// Accepts less content than [`MAX_CONTENT`].
    pub(super) fn within(self, limit: u64) -> Reader<'t> {
        Reader { limit: limit.min(MAX_CONTENT), ..self }
    }

    /// Returns the buffers, and the result of decoding.
    pub(super) fn finish<T>(
        mut self,
        buffers: &mut DecodeBuffers,
        read: Result<T, Failed>,
    ) -> Result<T, Error> {
        self.seen.clear();
        self.levels.clear();
        self.nodes.clear();
        self.open.clear();
        self.key.clear();
        let Reader { seen, levels, nodes, open, key, joined, .. } = self;
        *buffers = DecodeBuffers { seen, levels, nodes, open, key, joined };
        let unknown = || Error::Compact { at: self.at, problem: "the document is invalid".to_owned() };
        read.map_err(|Failed| self.failure.unwrap_or_else(unknown))
    }

    /// Decodes a set.
    pub(super) fn set(&mut self) -> Result<FieldSet, Failed> {
        self.nodes.clear();
        self.open.clear();
        self.open.push(Level { base: 0, content: self.content, rank: 0, height: 0 });
        loop {
            let code = self.byte()?;
            let number = match code {
                0..codes::FIELD => Some(u16::from(code)),
                codes::PHRASE_PAGES.. => {
                    let page = u16::from(code - codes::PHRASE_PAGES);
                    Some(SHORT_PHRASES as u16 + (page << 8 | u16::from(self.byte()?)))
                }
                _ => None,
            };
            let progress = match number.and_then(|number| self.table.phrases.parts(number)) {
                Some(parts) => self.phrase(parts)?,
                None if code >= codes::PHRASE_PAGES => {
                    return Err(self.wrong(self.at - 2, "the table has no phrase with this number"));
                }
                None if (codes::FIELD..codes::TEXT).contains(&code) => {
                    let place = code - codes::FIELD;
                    let number = u16::from(place % codes::PAGES) << 8 | u16::from(self.byte()?);
                    self.field(number, Shape::ALL[usize::from(place / codes::PAGES)])?
                }
                None => {
                    let step = self.alone(code)?;
                    self.step(step)?
                }
            };
            if self.content > self.limit {
                return Err(self.fail(Error::TooLarge { limit: self.limit }));
            }
            if progress == Progress::Complete {
                return Ok(std::mem::take(&mut self.root));
            }
        }
    }

    #[inline]
    fn phrase(&mut self, parts: &'t [PhrasePart]) -> Result<Progress, Failed> {
        let at = self.at - 1;
        let mut rest = parts.iter();
        while let Some(part) = rest.next() {
            match part {
                PhrasePart::Run(run) => self.run(run)?,
                PhrasePart::Level(level, set) => self.level(level, set)?,
                PhrasePart::Step(step) => {
                    if self.step(*step)? == Progress::Complete {
                        if rest.len() > 0 {
                            return Err(self.wrong(at, "the set ends inside a phrase"));
                        }
                        return Ok(Progress::Complete);
                    }
                }
            }
        }
        Ok(Progress::More)
    }

    /// Adds complete nodes to the innermost level.
    #[inline]
    fn run(&mut self, run: &'t Run) -> Result<(), Failed> {
        let depth = self.open.len();
        let (Some(level), Some(first)) = (self.open.last_mut(), run.nodes.first()) else {
            return Err(self.wrong(self.at, "no level is open"));
        };
        if let Some(before) = self.nodes.get(level.base..).and_then(<[Node]>::last) {
            let ordered = if level.rank != 0 {
                level.rank < run.first
            } else {
                ascends(&before.element, &first.element)
            };
            if !ordered {
                return Err(self.disordered(&first.element));
            }
        }
        level.rank = run.last;
        self.content += run.content;
        if run.height > 0 {
            if depth + run.height > Limits::DEPTH {
                return Err(self.fail(Error::TooDeep { limit: Limits::DEPTH }));
            }
            level.height = level.height.max(run.height);
            self.levels.extend_from_slice(&run.levels);
        }
        self.nodes.extend_from_slice(&run.nodes);
        Ok(())
    }

    /// Completes the level that was just opened with this one.
    #[inline]
    fn level(&mut self, level: &'t Run, set: &FieldSet) -> Result<(), Failed> {
        self.open.pop();
        if self.open.len() + level.height > Limits::DEPTH {
            return Err(self.fail(Error::TooDeep { limit: Limits::DEPTH }));
        }
        self.content += level.content;
        self.levels.extend_from_slice(&level.levels);
        self.attach(set.clone(), level.height);
        Ok(())
    }

    #[cold]
    fn disordered(&mut self, element: &PathElement) -> Failed {
        let before = self.nodes.last().map(|node| format!("{:?}", node.element)).unwrap_or_default();
        self.wrong(self.at, &format!("{element:?} follows {before}, but must precede it"))
    }

    /// Decodes the arguments of a single step.
    fn alone(&mut self, code: u8) -> Result<Step, Failed> {
        let shape = |first: u8| Shape::ALL[usize::from((code - first) % 3)];
        Ok(match code {
            codes::TEXT..codes::PATTERN => Step::Text(shape(codes::TEXT)),
            codes::PATTERN..codes::KEY_LIKE => {
                let at = self.at;
                let number = self.number()?;
                let number =
                    u16::try_from(number).ok().filter(|number| self.table.pattern(*number).is_some());
                let number =
                    number.ok_or_else(|| self.wrong(at, "the table has no key pattern with this number"))?;
                Step::Pattern(number, shape(codes::PATTERN))
            }
            codes::KEY_LIKE..codes::KEY => Step::KeyLike(shape(codes::KEY_LIKE)),
            codes::KEY..codes::VALUE => Step::Key(shape(codes::KEY)),
            codes::VALUE..codes::INDEX => Step::Value(shape(codes::VALUE)),
            codes::INDEX..codes::END => Step::Index(shape(codes::INDEX)),
            codes::END => Step::End,
            codes::REPEAT => Step::Repeat,
            codes::DONE => Step::Done,
            _ => return Err(self.wrong(self.at - 1, &format!("unknown code {code}"))),
        })
    }

    #[inline]
    fn step(&mut self, step: Step) -> Result<Progress, Failed> {
        match step {
            Step::Field(number, shape) => self.field(number, shape),
            Step::End if self.open.len() > 1 => self.close(),
            Step::End => Err(self.wrong(self.at, "the outermost level must end with the set")),
            Step::Done => {
                while self.close()? == Progress::More {}
                Ok(Progress::Complete)
            }
            Step::Repeat => self.repeat(),
            Step::Pattern(number, shape) => {
                let key = self.pattern(number)?;
                self.push(PathElement::Key(key), shape, 0)
            }
            Step::Text(shape) => {
                let name = self.text()?;
                self.push(PathElement::Field(name), shape, 0)
            }
            Step::KeyLike(shape) => {
                let key = self.key_like()?;
                self.push(PathElement::Key(key), shape, 0)
            }
            Step::Key(shape) => {
                let key = self.fields(1)?;
                self.push(PathElement::Key(key), shape, 0)
            }
            Step::Value(shape) => {
                let value = self.value(1)?;
                self.push(PathElement::Value(value), shape, 0)
            }
            Step::Index(shape) => {
                let index = varint::unfold(self.number()?);
                self.push(PathElement::Index(index), shape, 0)
            }
        }
    }

    #[inline]
    fn field(&mut self, number: u16, shape: Shape) -> Result<Progress, Failed> {
        let table = self.table;
        let Some(name) = table.string(number.into()) else {
            return Err(self.wrong(self.at, "the table has no string with this number"));
        };
        self.content += name.len() as u64;
        self.push(PathElement::Field(name.clone()), shape, table.rank(number.into()))
    }

    /// Adds a node to the innermost level, and opens the level below it.
    #[inline]
    fn push(&mut self, element: PathElement, shape: Shape, rank: u32) -> Result<Progress, Failed> {
        let Some(level) = self.open.last_mut() else { return Err(self.wrong(self.at, "no level is open")) };
        if let Some(before) = self.nodes.get(level.base..).and_then(<[Node]>::last) {
            let ordered = if level.rank != 0 && rank != 0 {
                level.rank < rank
            } else {
                ascends(&before.element, &element)
            };
            if !ordered {
                return Err(self.disordered(&element));
            }
        }
        level.rank = rank;
        self.content += 16;
        self.nodes.push(Node { element, included: shape.included(), children: FieldSet::default() });
        if shape.has_children() {
            if self.open.len() == Limits::DEPTH {
                return Err(self.fail(Error::TooDeep { limit: Limits::DEPTH }));
            }
            let (base, content) = (self.nodes.len(), self.content);
            self.open.push(Level { base, content, rank: 0, height: 0 });
        }
        Ok(Progress::More)
    }

    /// Completes the innermost level.
    fn close(&mut self) -> Result<Progress, Failed> {
        let Some(level) = self.open.pop() else { return Err(self.wrong(self.at, "no level is open")) };
        let numbered = match self.nodes.get(level.base..).unwrap_or_default() {
            [] if self.open.is_empty() => false,
            [] => return Err(self.wrong(self.at, "a level must have at least one node")),
            [only] => !only.children.is_empty(),
            _ => true,
        };
        let set = FieldSet::from_sorted(self.nodes.drain(level.base..));
        let height = level.height + 1;
        if numbered {
            self.levels.push(CompleteLevel {
                set: set.clone(),
                content: self.content - level.content,
                height,
            });
        }
        Ok(self.attach(set, height))
    }

    /// Adds a level below its node; the outermost one is the set.
    fn attach(&mut self, set: FieldSet, height: usize) -> Progress {
        match (self.open.last_mut(), self.nodes.last_mut()) {
            (Some(level), Some(node)) => {
                level.height = level.height.max(height);
                node.children = set;
                Progress::More
            }
            _ => {
                self.root = set;
                Progress::Complete
            }
        }
    }

    /// Completes the innermost level with an earlier one.
    fn repeat(&mut self) -> Result<Progress, Failed> {
        let at = self.at;
        let back = self.number()?;
        match self.open.pop() {
            Some(level) if level.base == self.nodes.len() => {}
            _ => return Err(self.wrong(at, "a level that has nodes cannot repeat another")),
        }
        let place =
            usize::try_from(back).ok().and_then(|back| self.levels.len().checked_sub(back)?.checked_sub(1));
        let Some(level) = place.and_then(|place| self.levels.get(place)) else {
            let problem =
                format!("cannot repeat the level {back} before the last, there are {}", self.levels.len());
            return Err(self.wrong(at, &problem));
        };
        if self.open.len() + level.height > Limits::DEPTH {
            return Err(self.fail(Error::TooDeep { limit: Limits::DEPTH }));
        }
        self.content += level.content;
        let (set, height) = (level.set.clone(), level.height);
        Ok(self.attach(set, height))
    }

    fn pattern(&mut self, number: u16) -> Result<Object, Failed> {
        let table = self.table;
        let parts = table.pattern(number).map_or(&[][..], |pattern| &pattern.fields);
        if let [(name, Part::Text)] = parts {
            self.content += 32 + name.len() as u64;
            return Ok(Object::from_sorted([(name.clone(), Value::String(self.text()?))]));
        }
        self.key.clear();
        for (name, part) in parts {
            self.content += 32 + name.len() as u64;
            let value = match part {
                Part::Constant(text) => Value::String(text.clone()),
                Part::Text => Value::String(self.text()?),
                Part::Whole => {
                    let at = self.at;
                    let whole = i64::try_from(self.number()?);
                    Value::Int(
                        whole.map_err(|_| self.wrong(at, "a number of a key pattern exceeds 63 bits"))?,
                    )
                }
            };
            self.key.push((name.clone(), value));
        }
        Ok(Object::from_sorted(self.key.drain(..)))
    }

    /// Decodes the values of a key with the fields of the previous key.
    fn key_like(&mut self) -> Result<Object, Failed> {
        let base = self.open.last().map_or(0, |level| level.base);
        let before = match self.nodes.get(base..).and_then(<[Node]>::last) {
            Some(Node { element: PathElement::Key(key), .. }) => key.clone(),
            _ => return Err(self.wrong(self.at, "the previous node has no key")),
        };
        let mut fields = Vec::with_capacity(before.len());
        for (name, _) in &before {
            self.content += 16 + name.len() as u64;
            fields.push((name.clone(), self.value(1)?));
        }
        Ok(Object::from_sorted(fields))
    }

    /// Decodes named values.
    fn fields(&mut self, depth: usize) -> Result<Object, Failed> {
        let count = self.count()?;
        let mut fields: Vec<(Text, Value)> = Vec::with_capacity(count);
        for _ in 0..count {
            let at = self.at;
            let name = self.text()?;
            if fields.last().is_some_and(|(before, _)| *before >= name) {
                return Err(self.wrong(at, &format!("the field {name:?} is not in sorted order")));
            }
            self.content += 16;
            fields.push((name, self.value(depth)?));
        }
        Ok(Object::from_sorted(fields))
    }

    fn value(&mut self, depth: usize) -> Result<Value, Failed> {
        if depth > Limits::DEPTH {
            return Err(self.fail(Error::TooDeep { limit: Limits::DEPTH }));
        }
        self.content += 16;
        let at = self.at;
        let Some(code @ codes::NULL..=codes::MAP) = self.bytes.get(at).copied() else {
            return Ok(Value::String(self.text()?));
        };
        self.at += 1;
        Ok(match code {
            codes::NULL => Value::Null,
            codes::FALSE => Value::Bool(false),
            codes::TRUE => Value::Bool(true),
            codes::WHOLE => Value::unsigned(self.number()?),
            codes::NEGATIVE => match i64::try_from(self.number()?) {
                Ok(amount) => Value::Int(!amount),
                Err(_) => return Err(self.wrong(at, "a negative number exceeds 64 bits")),
            },
            codes::FLOAT => {
                match self.take(8)?.try_into().ok().map(f64::from_le_bytes).and_then(Value::float) {
                    Some(value) => value,
                    None => return Err(self.wrong(at, "a float is not a finite number")),
                }
            }
            codes::ARRAY => {
                let count = self.count()?;
                let mut items = Vec::with_capacity(count);
                for _ in 0..count {
                    items.push(self.value(depth + 1)?);
                }
                Value::Array(items.into())
            }
            _ => Value::Object(self.fields(depth + 1)?),
        })
    }

    /// Decodes a string.
    #[inline]
    pub(super) fn text(&mut self) -> Result<Text, Failed> {
        let at = self.at;
        let code = self.byte()?;
        let text = match code {
            ..=codes::SHORT_MOST => self.literal(code.into())?,
            codes::CHARACTER_FIRST..=codes::CHARACTER_LAST => {
                Text::new(std::str::from_utf8(&[code]).unwrap_or_default())
            }
            codes::LONG => {
                let length = self.number()?.saturating_add(32);
                self.literal(length)?
            }
            codes::SEEN..codes::SEEN_PAGES => self.seen(at, (code - codes::SEEN).into())?,
            codes::SEEN_PAGES..codes::TABLE_PAGES => {
                let number = u64::from(code - codes::SEEN_PAGES) << 8 | u64::from(self.byte()?);
                self.seen(at, number + u64::from(codes::SEEN_IN_ONE))?
            }
            codes::TABLE_PAGES..codes::TABLE_FAR => {
                let number = u64::from(code - codes::TABLE_PAGES) << 8 | u64::from(self.byte()?);
                self.of_table(at, number)?
            }
            codes::TABLE_FAR => {
                let number = self.number()?;
                self.of_table(at, number)?
            }
            codes::SEEN_FAR => {
                let number = self.number()?;
                self.seen(at, number.saturating_add(codes::SEEN_IN_ONE.into()))?
            }
            codes::UUID => match self.take(16)?.try_into() {
                Ok(bytes) => self.remember(Text::from(text::uuid_text(bytes))),
                Err(_) => return Err(self.wrong(at, "a UUID is truncated")),
            },
            codes::LIKE_FAR => {
                let same = self.number()?;
                let rest = self.number()?;
                self.like(at, same, rest)?
            }
            codes::LIKE.. => {
                let place = usize::from(code - codes::LIKE);
                let same = place / codes::LIKE_REST_MOST + codes::LIKE_LEAST;
                self.like(at, same as u64, (place % codes::LIKE_REST_MOST + 1) as u64)?
            }
            _ => return Err(self.wrong(at, &format!("code {code} does not start a string"))),
        };
        self.content += text.len() as u64;
        Ok(text)
    }

    #[inline]
    fn literal(&mut self, length: u64) -> Result<Text, Failed> {
        let text = Text::new(self.utf8(length)?);
        Ok(self.remember(text))
    }

    /// Takes the bytes of a string.
    #[inline]
    fn utf8(&mut self, length: u64) -> Result<&'t str, Failed> {
        let at = self.at;
        std::str::from_utf8(self.take(length)?).map_err(|_| self.wrong(at, "a string is not UTF-8"))
    }

    fn like(&mut self, at: usize, same: u64, rest: u64) -> Result<Text, Failed> {
        let rest = self.utf8(rest)?;
        let before = self.seen.last().map_or("", |text| text.as_str());
        let Some(same) = usize::try_from(same).ok().and_then(|same| before.get(..same)) else {
            return Err(self.wrong(at, "a string shares more bytes with the previous one than that one has"));
        };
        self.joined.clear();
        self.joined.push_str(same);
        self.joined.push_str(rest);
        let text = Text::new(&self.joined);
        Ok(self.remember(text))
    }

    #[inline]
    fn remember(&mut self, text: Text) -> Text {
        if text.len() > 1 {
            self.seen.push(text.clone());
        }
        text
    }

    fn seen(&mut self, at: usize, number: u64) -> Result<Text, Failed> {
        let text = usize::try_from(number).ok().and_then(|number| self.seen.get(number)).cloned();
        text.ok_or_else(|| self.wrong(at, &format!("the document has no string {number} yet")))
    }

    fn of_table(&mut self, at: usize, number: u64) -> Result<Text, Failed> {
        let text = usize::try_from(number).ok().and_then(|number| self.table.string(number)).cloned();
        text.ok_or_else(|| self.wrong(at, &format!("the table has no string {number}")))
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, Failed> {
        match self.bytes.get(self.at) {
            Some(byte) => {
                self.at += 1;
                Ok(*byte)
            }
            None => Err(self.wrong(self.at, "unexpected end of the document")),
        }
    }

    #[inline]
    pub(super) fn number(&mut self) -> Result<u64, Failed> {
        match varint::read(self.bytes.get(self.at..).unwrap_or_default()) {
            Some((number, length)) => {
                self.at += length;
                Ok(number)
            }
            None => Err(self.wrong(self.at, "a number is truncated, not minimal or exceeds 64 bits")),
        }
    }

    /// Decodes a count; every item takes at least one byte.
    pub(super) fn count(&mut self) -> Result<usize, Failed> {
        let at = self.at;
        let count = self.number()?;
        let left = self.bytes.len() - self.at;
        match usize::try_from(count) {
            Ok(count) if count <= left => Ok(count),
            _ => Err(self.wrong(at, &format!("a count of {count} exceeds the remaining {left} bytes"))),
        }
    }

    fn take(&mut self, length: u64) -> Result<&'t [u8], Failed> {
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += bytes.len();
                Ok(bytes)
            }
            None => {
                Err(self
                    .wrong(self.at, &format!("a length of {length} bytes exceeds the rest of the document")))
            }
        }
    }

    /// Checks that the document ends here.
    pub(super) fn end(&mut self) -> Result<(), Failed> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(self.wrong(self.at, "unexpected bytes after the end"))
        }
    }

    /// Reports a problem with the last byte.
    #[cold]
    pub(super) fn wrong_before(&mut self, problem: &str) -> Failed {
        self.wrong(self.at.saturating_sub(1), problem)
    }

    #[cold]
    fn wrong(&mut self, at: usize, problem: &str) -> Failed {
        self.fail(Error::Compact { at, problem: problem.to_owned() })
    }

    #[cold]
    fn fail(&mut self, failure: Error) -> Failed {
        self.failure = Some(failure);
        Failed
    }
}

/// Whether an element comes before another, with a fast path for keys of one string.
#[inline]
fn ascends(before: &PathElement, element: &PathElement) -> bool {
    if let (PathElement::Key(a), PathElement::Key(b)) = (before, element)
        && let ([(a, Value::String(before))], [(b, Value::String(text))]) = (a.fields(), b.fields())
        && a == b
    {
        return before.as_str() < text.as_str();
    }
    before < element
}
