//! Field sets to bytes. The steps of a set are collected first, as a level that turns out to be one
//! written before is taken back and repeated; then the longest phrases of the table are cut from them.

use super::{
    MOST_CONTENT, codes,
    step::{MOST_FIELDS, Shape, Step},
    text::Seen,
    varint,
};
use crate::{
    Error, FieldSet, Node, PathElement,
    compact::{
        Table,
        fingerprint::{self, Numbers, mix},
        table::Part,
    },
};
use tenure_value::{Limits, Object, Value};

/// A repeated level is worth its reference from this many steps and bytes on.
const REPEAT_LEAST: usize = 3;

/// Room that the writing of one document leaves for the next.
#[derive(Default)]
pub(crate) struct Room {
    steps: Vec<Collected>,
    open: Vec<u8>,
    seen: Seen<'static>,
    levels: Vec<Written<'static>>,
    by_hash: Numbers,
    by_address: Numbers,
}

/// Writes the sets of one document.
pub(crate) struct Writer<'a> {
    table: &'a Table,
    out: Vec<u8>,
    /// The steps of the set being written, and what they leave open.
    steps: Vec<Collected>,
    open: Vec<u8>,
    seen: Seen<'a>,
    /// The levels that may be repeated, found by hash, and by address where sets share them.
    levels: Vec<Written<'a>>,
    by_hash: Numbers,
    by_address: Numbers,
    /// How many levels were numbered.
    numbered: u32,
    content: u64,
}

/// A step that waits to be written.
#[derive(Clone, Copy)]
pub(crate) struct Collected {
    pub(super) identity: u16,
    /// Where its part of what the steps leave open ends.
    end: u32,
}

impl Collected {
    #[inline(always)]
    pub(super) fn of(step: Step, end: usize) -> Collected {
        Collected { identity: step.identity(), end: end as u32 }
    }
}

/// A level that was written out.
struct Written<'a> {
    set: &'a FieldSet,
    number: u32,
    hash: u64,
    content: u64,
    /// Whether a reference is shorter.
    worth_repeating: bool,
}

/// Where a writer stood when a level began.
struct Mark {
    steps: usize,
    open: usize,
    numbered: u32,
    content: u64,
}

impl<'a> Writer<'a> {
    /// Begins a document.
    pub(crate) fn new(table: &'a Table) -> Writer<'a> {
        Writer::within(table, &mut Room::default())
    }

    /// Begins a document in the room of another.
    pub(crate) fn within(table: &'a Table, room: &mut Room) -> Writer<'a> {
        let Room { mut steps, mut open, seen, levels, by_hash, by_address } = std::mem::take(room);
        let (out, seen, mut levels) = (Vec::with_capacity(128), seen.emptied(), emptied(levels));
        // Most sets need no more than this, and growing step by step would cost more than writing them.
        steps.reserve(96);
        open.reserve(96);
        levels.reserve(16);
        Writer { table, out, steps, open, seen, levels, by_hash, by_address, numbered: 0, content: 0 }
    }

    /// Returns the document, and gives the room back.
    pub(crate) fn finish(self, room: &mut Room) -> Vec<u8> {
        let Writer { out, mut steps, mut open, seen, levels, mut by_hash, mut by_address, .. } = self;
        steps.clear();
        open.clear();
        by_hash.clear();
        by_address.clear();
        let (seen, levels) = (seen.emptied(), emptied(levels));
        *room = Room { steps, open, seen, levels, by_hash, by_address };
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

    /// Collects the steps of a set, as identities, for counting phrases.
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
        self.steps.push(Collected::of(step, self.open.len()));
    }

    /// Collects the steps of a level and returns the level's hash.
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
        if self.content > MOST_CONTENT {
            return Err(Error::TooLarge { limit: MOST_CONTENT });
        }
        Ok(hash)
    }

    /// Closes a level, or takes its steps back where it repeats an earlier one.
    #[inline]
    fn close(&mut self, set: &'a FieldSet, hash: u64, shared: Option<u64>, mark: &Mark) {
        if matches!(set.nodes(), [node] if node.children.is_empty()) {
            return self.step(Step::End);
        }
        let worth_repeating = self.steps.len() - mark.steps + self.open.len() - mark.open >= REPEAT_LEAST;
        let levels = &self.levels;
        match self.by_hash.find(hash, |place| levels[place as usize].set == set) {
            Some(place) if worth_repeating => {
                self.steps.truncate(mark.steps);
                self.open.truncate(mark.open);
                // All levels inside were known too, so only their numbers are to be taken back.
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
                self.levels.push(Written { set, number: self.numbered, hash, content, worth_repeating });
            }
        }
        self.numbered += 1;
        self.step(Step::End);
    }

    /// Collects the step that makes a level one that was written before.
    fn repeat(&mut self, number: u32) {
        varint::write(u64::from(self.numbered - 1 - number), &mut self.open);
        self.step(Step::Repeat);
    }

    /// Collects the step of a node and returns the node's hash without its children.
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

    /// Returns the step of a field, and its hash where the step alone does not tell it.
    #[inline]
    fn field(&mut self, name: &'a str, shape: Shape) -> (Step, u64) {
        if let Some(number) = self.table.number_of_own(name).filter(|number| *number < MOST_FIELDS.into()) {
            return (Step::Field(number as u16, shape), 0);
        }
        let hash = fingerprint::text(name);
        match self.table.number_hashed(name, hash) {
            Some(number) if number < MOST_FIELDS.into() => return (Step::Field(number as u16, shape), 0),
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

    /// Finds the first pattern that a key fits.
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
                        .all(|((name, value), (wanted, part))| name == wanted && part.fits(value))
            })
        })
    }

    /// Collects what a value leaves open and returns its hash.
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

    /// Writes the collected steps: the longest phrases, and by itself what begins none.
    fn flush(&mut self) {
        let (mut at, mut open) = (0, 0);
        while at < self.steps.len() {
            let length = match self.table.phrases.longest(&self.steps[at..]) {
                Some((code, length)) => {
                    self.out.push(code);
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

/// Empties a list that borrows, so that it may borrow from another; collecting keeps its memory.
fn emptied<'a>(mut levels: Vec<Written<'_>>) -> Vec<Written<'a>> {
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

/// Appends the code of one step.
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
