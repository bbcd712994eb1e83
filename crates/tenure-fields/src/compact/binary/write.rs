//! The encoder. It first collects the steps of a set, since a level that equals an earlier one is replaced by
//! a reference; then it splits the steps into the longest phrases of the table.

use super::{MAX_CONTENT, codes, text::Literals, varint};
use crate::{
    Error, FieldSet, Node, PathElement,
    compact::{
        Table,
        fingerprint::{self, HashIndex, mix},
        table::{MAX_FIELDS, Part, SHORT_PHRASES, Shape, Step},
    },
};
use tenure_value::{Limits, Object, Value};

/// A level with at least this many steps and bytes is worth a reference.
const MIN_REPEATED: usize = 3;

/// Buffers that are reused from one document to the next.
#[derive(Default)]
pub(crate) struct EncodeBuffers {
    steps: Vec<PendingStep>,
    open: Vec<u8>,
    seen: Literals<'static>,
    levels: Vec<WrittenLevel<'static>>,
    by_hash: HashIndex,
    by_address: HashIndex,
}

/// Encodes the sets of one document.
pub(crate) struct Writer<'a> {
    table: &'a Table,
    out: Vec<u8>,
    /// The steps of the current set, and their encoded arguments.
    steps: Vec<PendingStep>,
    open: Vec<u8>,
    seen: Literals<'a>,
    /// The levels that can be repeated, found by hash, and by address if sets share them.
    levels: Vec<WrittenLevel<'a>>,
    by_hash: HashIndex,
    by_address: HashIndex,
    /// The number of numbered levels.
    numbered: u32,
    content: u64,
}

/// A step that is not written yet.
#[derive(Clone, Copy)]
pub(crate) struct PendingStep {
    pub(super) identity: u16,
    /// Where its arguments end.
    end: u32,
}

impl PendingStep {
    #[inline(always)]
    pub(super) fn of(step: Step, end: usize) -> PendingStep {
        PendingStep { identity: step.identity(), end: end as u32 }
    }
}

/// A level that was written.
struct WrittenLevel<'a> {
    set: &'a FieldSet,
    number: u32,
    hash: u64,
    content: u64,
    /// Whether a reference is shorter.
    worth_repeating: bool,
}

/// The state of the writer when a level started.
struct Mark {
    steps: usize,
    open: usize,
    numbered: u32,
    content: u64,
}

impl<'a> Writer<'a> {
    /// Starts a document.
    pub(crate) fn new(table: &'a Table) -> Writer<'a> {
        Writer::within(table, &mut EncodeBuffers::default())
    }

    /// Starts a document with reused buffers.
    pub(crate) fn within(table: &'a Table, buffers: &mut EncodeBuffers) -> Writer<'a> {
        let EncodeBuffers { mut steps, mut open, seen, levels, by_hash, by_address } =
            std::mem::take(buffers);
        let (out, seen, mut levels) = (Vec::with_capacity(128), seen.emptied(), emptied(levels));
        // Enough for most sets; growing step by step would cost more than encoding.
        steps.reserve(96);
        open.reserve(96);
        levels.reserve(16);
        Writer { table, out, steps, open, seen, levels, by_hash, by_address, numbered: 0, content: 0 }
    }

    /// Returns the document and the buffers.
    pub(crate) fn finish(self, buffers: &mut EncodeBuffers) -> Vec<u8> {
        let Writer { out, mut steps, mut open, seen, levels, mut by_hash, mut by_address, .. } = self;
        steps.clear();
        open.clear();
        by_hash.clear();
        by_address.clear();
        let (seen, levels) = (seen.emptied(), emptied(levels));
        *buffers = EncodeBuffers { steps, open, seen, levels, by_hash, by_address };
        out
    }

    /// Appends a byte.
    pub(super) fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    /// Appends a number.
    pub(super) fn number(&mut self, number: u64) {
        varint::write(number, &mut self.out);
    }

    /// Appends a string.
    pub(super) fn text(&mut self, text: &'a str) {
        self.content += text.len() as u64;
        self.seen.write(text, self.table, &mut self.out);
    }

    /// Appends a set.
    pub(crate) fn set(&mut self, set: &'a FieldSet) -> Result<(), Error> {
        self.collect(set)?;
        self.flush();
        Ok(())
    }

    /// Returns the steps of a set as identities, to count phrases.
    pub(crate) fn steps_of(&mut self, set: &'a FieldSet) -> Result<Vec<u16>, Error> {
        self.collect(set)?;
        self.open.clear();
        Ok(self.steps.drain(..).map(|step| step.identity).collect())
    }

    fn collect(&mut self, set: &'a FieldSet) -> Result<(), Error> {
        if !set.is_empty() {
            self.level(set, 1)?;
            if matches!(self.steps.as_slice(), [only] if only.identity == Step::Repeat.identity()) {
                return Ok(());
            }
            while self.steps.last().is_some_and(|step| step.identity == Step::End.identity()) {
                self.steps.pop();
            }
        }
        self.step(Step::Done);
        Ok(())
    }

    #[inline(always)]
    fn step(&mut self, step: Step) {
        self.steps.push(PendingStep::of(step, self.open.len()));
    }

    /// Collects the steps of a level and returns its hash.
    fn level(&mut self, set: &'a FieldSet, depth: usize) -> Result<u64, Error> {
        if depth > Limits::DEPTH {
            return Err(Error::TooDeep { limit: Limits::DEPTH });
        }
        let shared = set.is_shared().then(|| mix(0, set.nodes().as_ptr() as u64));
        let levels = &self.levels;
        let known = shared.and_then(|address| {
            self.by_address.find(address, |place| levels[place as usize].set.ptr_eq(set))
        });
        if let Some(place) = known {
            let known = &levels[place as usize];
            if known.worth_repeating {
                let (number, hash) = (known.number, known.hash);
                self.content += known.content;
                self.repeat(number);
                return Ok(hash);
            }
        }
        let (steps, open) = (self.steps.len(), self.open.len());
        let mark = Mark { steps, open, numbered: self.numbered, content: self.content };
        let nodes = set.nodes();
        let mut hash = nodes.len() as u64;
        let mut before = None;
        for node in nodes {
            hash = mix(hash, self.node(node, before)?);
            if !node.children.is_empty() {
                hash = mix(hash, self.level(&node.children, depth + 1)?);
            }
            before = Some(&node.element);
        }
        self.close(set, hash, shared, &mark);
        if self.content > MAX_CONTENT {
            return Err(Error::TooLarge { limit: MAX_CONTENT });
        }
        Ok(hash)
    }

    /// Completes a level, or removes its steps if it repeats an earlier one.
    #[inline]
    fn close(&mut self, set: &'a FieldSet, hash: u64, shared: Option<u64>, mark: &Mark) {
        if matches!(set.nodes(), [node] if node.children.is_empty()) {
            return self.step(Step::End);
        }
        let worth_repeating = self.steps.len() - mark.steps + self.open.len() - mark.open >= MIN_REPEATED;
        let levels = &self.levels;
        match self.by_hash.find(hash, |place| levels[place as usize].set == set) {
            Some(place) if worth_repeating => {
                self.steps.truncate(mark.steps);
                self.open.truncate(mark.open);
                // All levels inside are known too, so only their numbers are removed.
                self.numbered = mark.numbered;
                return self.repeat(levels[place as usize].number);
            }
            Some(_) => {}
            None => {
                let place = self.levels.len() as u32;
                self.by_hash.insert(hash, place);
                if let Some(address) = shared {
                    self.by_address.insert(address, place);
                }
                let content = self.content - mark.content;
                self.levels.push(WrittenLevel { set, number: self.numbered, hash, content, worth_repeating });
            }
        }
        self.numbered += 1;
        self.step(Step::End);
    }

    /// Collects the step that repeats an earlier level.
    fn repeat(&mut self, number: u32) {
        varint::write(u64::from(self.numbered - 1 - number), &mut self.open);
        self.step(Step::Repeat);
    }

    /// Collects the step of a node and returns the hash of the node without its children.
    #[inline]
    fn node(&mut self, node: &'a Node, before: Option<&'a PathElement>) -> Result<u64, Error> {
        let shape = Shape::of(node.included, !node.children.is_empty());
        self.content += 16;
        let (step, hash) = match &node.element {
            PathElement::Field(name) => {
                self.content += name.len() as u64;
                self.field(name, shape)
            }
            PathElement::Key(key) => self.key(key, before, shape)?,
            PathElement::Value(value) => (Step::Value(shape), self.value(value, 1)?),
            PathElement::Index(index) => {
                varint::write(varint::fold(*index), &mut self.open);
                (Step::Index(shape), *index as u64)
            }
        };
        self.step(step);
        Ok(mix(hash, step.identity().into()))
    }

    /// Returns the step of a field, and its hash if the step alone does not identify it.
    #[inline]
    fn field(&mut self, name: &'a str, shape: Shape) -> (Step, u64) {
        if let Some(number) = self.table.number_of_own(name).filter(|number| *number < MAX_FIELDS.into()) {
            return (Step::Field(number as u16, shape), 0);
        }
        let hash = fingerprint::text(name);
        match self.table.number_hashed(name, hash) {
            Some(number) if number < MAX_FIELDS.into() => return (Step::Field(number as u16, shape), 0),
            None if name.len() > 1 => self.seen.write_foreign(name, hash, &mut self.open),
            _ => drop(self.seen.write(name, self.table, &mut self.open)),
        }
        (Step::Text(shape), hash)
    }

    fn key(
        &mut self,
        key: &'a Object,
        before: Option<&'a PathElement>,
        shape: Shape,
    ) -> Result<(Step, u64), Error> {
        if let Some(number) = self.pattern_of(key) {
            let mut hash = 0;
            let parts = self.table.pattern(number).map_or(&[][..], |pattern| &pattern.fields);
            for ((name, value), (_, part)) in key.iter().zip(parts) {
                self.content += 32 + name.len() as u64;
                match (part, value) {
                    (Part::Text, Value::String(text)) => {
                        self.content += text.len() as u64;
                        hash = mix(hash, self.seen.write(text, self.table, &mut self.open));
                    }
                    (Part::Whole, Value::Int(whole)) => {
                        varint::write(*whole as u64, &mut self.open);
                        hash = mix(hash, *whole as u64);
                    }
                    _ => {}
                }
            }
            return Ok((Step::Pattern(number, shape), hash));
        }
        let like = matches!(before, Some(PathElement::Key(other)) if same_names(key, other));
        if !like {
            varint::write(key.len() as u64, &mut self.open);
        }
        let mut hash = 1;
        for (name, value) in key {
            self.content += 16 + name.len() as u64;
            if !like {
                self.seen.write(name, self.table, &mut self.open);
            }
            hash = mix(mix(hash, fingerprint::text(name)), self.value(value, 1)?);
        }
        Ok((if like { Step::KeyLike(shape) } else { Step::Key(shape) }, hash))
    }

    /// Finds the first pattern that matches a key.
    fn pattern_of(&self, key: &Object) -> Option<u16> {
        let (first, _) = key.fields().first()?;
        let number = self.table.number_of_own(first).or_else(|| self.table.number(first))?;
        let candidates = self.table.patterns_of(number);
        candidates.iter().copied().find(|number| {
            self.table.pattern(*number).is_some_and(|pattern| {
                pattern.fields.len() == key.len()
                    && key
                        .iter()
                        .zip(&pattern.fields)
                        .all(|((name, value), (wanted, part))| name == wanted && part.matches(value))
            })
        })
    }

    /// Collects the encoding of a value and returns its hash.
    fn value(&mut self, value: &'a Value, depth: usize) -> Result<u64, Error> {
        if depth > Limits::DEPTH {
            return Err(Error::TooDeep { limit: Limits::DEPTH });
        }
        self.content += 16;
        let (code, hash) = match value {
            Value::String(text) => {
                self.content += text.len() as u64;
                return Ok(self.seen.write(text, self.table, &mut self.open));
            }
            Value::Null => (codes::NULL, 0),
            Value::Bool(false) => (codes::FALSE, 0),
            Value::Bool(true) => (codes::TRUE, 0),
            Value::Int(number @ 0..) => (codes::WHOLE, *number as u64),
            Value::UInt(number) => (codes::WHOLE, number.get()),
            Value::Int(number) => (codes::NEGATIVE, !*number as u64),
            Value::Float(number) => (codes::FLOAT, number.get().to_bits()),
            Value::Array(items) => (codes::ARRAY, items.len() as u64),
            Value::Object(fields) => (codes::MAP, fields.len() as u64),
        };
        self.open.push(code);
        let mut hash = mix(hash, code.into());
        match value {
            Value::Int(_) | Value::UInt(_) => {
                let amount = if code == codes::WHOLE { amount(value) } else { !amount(value) };
                varint::write(amount, &mut self.open);
            }
            Value::Float(number) => self.open.extend_from_slice(&number.get().to_bits().to_le_bytes()),
            Value::Array(items) => {
                varint::write(items.len() as u64, &mut self.open);
                for item in items {
                    hash = mix(hash, self.value(item, depth + 1)?);
                }
            }
            Value::Object(fields) => {
                varint::write(fields.len() as u64, &mut self.open);
                for (name, value) in fields {
                    self.content += name.len() as u64;
                    hash = mix(hash, self.seen.write(name, self.table, &mut self.open));
                    hash = mix(hash, self.value(value, depth + 1)?);
                }
            }
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
        Ok(hash)
    }

    /// Writes the collected steps as the longest possible phrases, and others as single steps.
    fn flush(&mut self) {
        let (mut at, mut open) = (0, 0);
        while at < self.steps.len() {
            let length = match self.table.phrases.longest(self.steps[at..].iter().map(|step| step.identity)) {
                Some((number, length)) => {
                    phrase(number, &mut self.out);
                    length
                }
                None => {
                    alone(Step::of(self.steps[at].identity), &mut self.out);
                    1
                }
            };
            at += length;
            let end = self.steps[at - 1].end as usize;
            if open < end {
                self.out.extend_from_slice(&self.open[open..end]);
                open = end;
            }
        }
        self.steps.clear();
        self.open.clear();
    }
}

/// Removes all levels so that others can be borrowed; the memory is kept.
fn emptied<'a>(mut levels: Vec<WrittenLevel<'_>>) -> Vec<WrittenLevel<'a>> {
    if levels.capacity() == 0 {
        return Vec::new();
    }
    levels.clear();
    levels.into_iter().map_while(|_| None).collect()
}

fn amount(value: &Value) -> u64 {
    match value {
        Value::Int(number) => *number as u64,
        Value::UInt(number) => number.get(),
        _ => 0,
    }
}

fn same_names(key: &Object, other: &Object) -> bool {
    key.len() == other.len() && key.iter().zip(other.iter()).all(|((a, _), (b, _))| a == b)
}

/// Appends the code of a phrase.
#[inline]
fn phrase(number: u16, out: &mut Vec<u8>) {
    match number.checked_sub(SHORT_PHRASES as u16) {
        None => out.push(number as u8),
        Some(far) => out.extend_from_slice(&[codes::PHRASE_PAGES + (far >> 8) as u8, far as u8]),
    }
}

/// Appends the code of a single step.
fn alone(step: Step, out: &mut Vec<u8>) {
    let code = match step {
        Step::End => codes::END,
        Step::Repeat => codes::REPEAT,
        Step::Done => codes::DONE,
        Step::Text(shape) => codes::TEXT + shape as u8,
        Step::KeyLike(shape) => codes::KEY_LIKE + shape as u8,
        Step::Key(shape) => codes::KEY + shape as u8,
        Step::Value(shape) => codes::VALUE + shape as u8,
        Step::Index(shape) => codes::INDEX + shape as u8,
        Step::Pattern(_, shape) => codes::PATTERN + shape as u8,
        Step::Field(string, shape) => codes::FIELD + codes::PAGES * shape as u8 + (string >> 8) as u8,
    };
    out.push(code);
    match step {
        Step::Pattern(number, _) => varint::write(number.into(), out),
        Step::Field(string, _) => out.push(string as u8),
        _ => {}
    }
}
