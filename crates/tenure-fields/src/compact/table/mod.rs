//! A table of strings that are encoded as references, with the key patterns and phrases of the binary
//! encoding. A table is a data file; once released it never changes, since data encoded with it must remain
//! readable.

mod phrases;
mod prepared;
mod step;

pub(crate) use phrases::{MAX_PHRASES, SHORT_PHRASES};
pub(super) use prepared::{CompleteLevel, PhrasePart, Run};
pub(crate) use step::{MAX_FIELDS, MAX_PATTERNS, Shape, Step};

use super::fingerprint::{self, HashIndex};
use crate::Error;
use phrases::Phrases;
use tenure_value::{Text, Value};

/// A versioned table of strings, key patterns and phrases.
#[derive(Clone)]
pub struct Table {
    version: u32,
    introduced: Text,
    strings: Vec<Text>,
    /// The rank of each string in sorted order, from 1.
    ranks: Vec<u32>,
    numbers: HashIndex,
    /// The lowest address of the strings' bytes, and for each offset from there the number plus one of the
    /// string that starts at it: a name that was decoded with the table is recognized by its address.
    origin: usize,
    by_distance: Vec<u16>,
    /// The second numbers of strings that occur twice, with their first numbers.
    again: Vec<(u32, u32)>,
    patterns: Vec<Pattern>,
    /// For each string, the patterns whose first key field it is.
    patterns_of: Vec<Vec<u16>>,
    pub(super) phrases: Phrases,
}

/// The pattern of a key: its fields in order, each with what is known about its value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pattern {
    /// The name and the value of each field.
    pub fields: Vec<(Text, Part)>,
}

/// What a pattern specifies about the value of a key field.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// This string.
    Constant(Text),
    /// A string, encoded separately.
    Text,
    /// A non-negative integer, encoded separately.
    Whole,
}

impl Part {
    pub(super) fn matches(&self, value: &Value) -> bool {
        match (self, value) {
            (Part::Constant(constant), Value::String(text)) => constant == text,
            (Part::Text, Value::String(_)) => true,
            (Part::Whole, Value::Int(number)) => *number >= 0,
            _ => false,
        }
    }
}

impl Pattern {
    fn notation(&self) -> String {
        let part = |(name, part): &(Text, Part)| match part {
            Part::Constant(text) => format!("{name}={text}"),
            Part::Text => format!("{name}:text"),
            Part::Whole => format!("{name}:whole"),
        };
        self.fields.iter().map(part).collect::<Vec<_>>().join(" ")
    }

    fn parse(line: &str) -> Option<Pattern> {
        let field = |part: &str| {
            if let Some(name) = part.strip_suffix(":text") {
                return Some((Text::new(name), Part::Text));
            }
            if let Some(name) = part.strip_suffix(":whole") {
                return Some((Text::new(name), Part::Whole));
            }
            let (name, constant) = part.split_once('=')?;
            Some((Text::new(name), Part::Constant(Text::new(constant))))
        };
        let fields = line.split(' ').map(field).collect::<Option<Vec<_>>>()?;
        fields.windows(2).all(|pair| pair[0].0 < pair[1].0).then_some(Pattern { fields })
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "table {} of {} strings", self.version, self.strings.len())
    }
}

impl Table {
    /// Creates a table of strings without patterns and phrases.
    ///
    /// A string that occurs twice has two numbers: the first is used for names of key fields, the second
    /// elsewhere. Only the example of the original design does this; generated tables contain each string
    /// once.
    pub fn of_strings<T: Into<Text>>(version: u32, strings: impl IntoIterator<Item = T>) -> Table {
        let strings: Vec<Text> = strings.into_iter().map(Into::into).collect();
        let mut numbers = HashIndex::default();
        let mut again = Vec::new();
        for (number, text) in strings.iter().enumerate() {
            let hash = fingerprint::text(text);
            match numbers.find(hash, |other| strings[other as usize] == *text) {
                Some(first) => again.push((first, number as u32)),
                None => numbers.insert(hash, number as u32),
            }
        }
        let (origin, by_distance) = distances(&strings);
        let mut order: Vec<usize> = (0..strings.len()).collect();
        order.sort_by(|a, b| strings[*a].cmp(&strings[*b]));
        let mut ranks = vec![0; strings.len()];
        for (rank, number) in order.into_iter().enumerate() {
            ranks[number] = rank as u32 + 1;
        }
        Table {
            version,
            introduced: Text::default(),
            patterns_of: vec![Vec::new(); strings.len()],
            strings,
            ranks,
            numbers,
            origin,
            by_distance,
            again,
            patterns: Vec::new(),
            phrases: Phrases::default(),
        }
    }

    /// Sets the release of Tenure that introduces the table.
    pub fn introduced_by(mut self, release: impl Into<Text>) -> Table {
        self.introduced = release.into();
        self
    }

    /// Adds patterns, whose names must be strings of the table; others are dropped.
    pub fn with_patterns(mut self, patterns: impl IntoIterator<Item = Pattern>) -> Table {
        for pattern in patterns {
            let first = pattern.fields.first().and_then(|(name, _)| self.number(name));
            if let Some(first) = first
                && self.patterns.len() < MAX_PATTERNS.into()
            {
                self.patterns_of[first as usize].push(self.patterns.len() as u16);
                self.patterns.push(pattern);
            }
        }
        self
    }

    /// Adds phrases, in the order of their codes.
    pub(crate) fn with_phrases(mut self, phrases: &[Vec<Step>]) -> Table {
        self.phrases = Phrases::new(phrases, &self);
        self
    }

    /// Returns the version of the table.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the release of Tenure that introduced the table.
    pub fn introduced(&self) -> &str {
        &self.introduced
    }

    /// Returns the strings in the order of their numbers.
    pub fn strings(&self) -> &[Text] {
        &self.strings
    }

    /// Returns the string with a number.
    #[inline]
    pub fn string(&self, number: usize) -> Option<&Text> {
        self.strings.get(number)
    }

    /// Returns the number of a string; the first if it has two.
    pub fn number(&self, text: &str) -> Option<u32> {
        self.number_hashed(text, fingerprint::text(text))
    }

    /// Returns the number of a string that is not the name of a key field.
    pub(super) fn number_elsewhere(&self, text: &str) -> Option<u32> {
        let number = self.number(text)?;
        let again = self.again.iter().find(|(first, _)| *first == number);
        Some(again.map_or(number, |(_, second)| *second))
    }

    /// Returns the number of a string that belongs to the table, recognized by its address.
    #[inline]
    pub(super) fn number_of_own(&self, text: &str) -> Option<u32> {
        let distance = (text.as_ptr() as usize).wrapping_sub(self.origin);
        let number = self.by_distance.get(distance)?.checked_sub(1)?;
        (self.strings[usize::from(number)].len() == text.len()).then_some(number.into())
    }

    #[inline]
    pub(super) fn number_hashed(&self, text: &str, hash: u64) -> Option<u32> {
        self.numbers.find(hash, |number| self.strings[number as usize] == text)
    }

    /// Returns the rank of a string in sorted order, from 1.
    #[inline]
    pub(super) fn rank(&self, number: usize) -> u32 {
        self.ranks.get(number).copied().unwrap_or_default()
    }

    /// Returns a pattern.
    #[inline]
    pub(super) fn pattern(&self, number: u16) -> Option<&Pattern> {
        self.patterns.get(usize::from(number))
    }

    /// Returns the patterns.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// Returns the numbers of the patterns that start with a string.
    #[inline]
    pub(super) fn patterns_of(&self, first: u32) -> &[u16] {
        self.patterns_of.get(first as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns the phrases in the notation of the table file.
    pub fn phrases(&self) -> Vec<String> {
        let phrase = |code: usize| {
            let steps = self.phrases.steps(code as u16).unwrap_or_default();
            steps.iter().map(|step| step.notation(self)).collect::<Vec<_>>().join(" ")
        };
        (0..self.phrases.len()).map(phrase).collect()
    }

    /// Returns the table file without its header, which is the input of the content hash.
    fn content(&self) -> String {
        let mut lines = vec![format!("strings {}", self.strings.len())];
        lines.extend(self.strings.iter().map(Text::to_string));
        lines.push(format!("patterns {}", self.patterns.len()));
        lines.extend(self.patterns.iter().map(Pattern::notation));
        lines.push(format!("phrases {}", self.phrases.len()));
        lines.extend(self.phrases());
        lines.join("\n") + "\n"
    }

    /// Returns the hash of the table's content, as in its file and in the list of released tables.
    pub fn hash(&self) -> String {
        format!("{:032x}", fingerprint::content(&self.content()))
    }

    /// Returns the table file.
    pub fn to_file(&self) -> String {
        let Table { version, introduced, .. } = self;
        format!("version {version}\nintroduced {introduced}\nhash {}\n{}", self.hash(), self.content())
    }

    /// Parses a table file; strings are created with `text`.
    pub fn parse<'t>(file: &'t str, text: impl Fn(&'t str) -> Text) -> Result<Table, Error> {
        let mut lines = Lines { lines: file.lines(), at: 0 };
        let version = lines.after("version")?;
        let version = version.parse().map_err(|_| lines.wrong("an integer as version"))?;
        let introduced = lines.after("introduced")?;
        let hash = lines.after("hash")?;
        let strings = lines.section("strings")?;
        let mut table = Table::of_strings(version, strings.into_iter().map(text)).introduced_by(introduced);
        let patterns = lines.section("patterns")?.into_iter().map(Pattern::parse).collect::<Option<Vec<_>>>();
        table = table.with_patterns(patterns.ok_or_else(|| lines.wrong("patterns such as name:text"))?);
        let phrases = lines.section("phrases")?;
        let steps = |phrase: &str| phrase.split(' ').map(|step| Step::parse(step, &table)).collect();
        let phrases = phrases.into_iter().map(steps).collect::<Option<Vec<Vec<Step>>>>();
        let phrases = phrases.filter(|phrases| phrases.len() <= MAX_PHRASES);
        table =
            table.with_phrases(&phrases.ok_or_else(|| lines.wrong("at most 976 phrases of known steps"))?);
        if table.hash() != hash {
            return Err(lines.wrong(&format!("content with the hash {hash}, found {}", table.hash())));
        }
        Ok(table)
    }
}

/// The maximum address range for recognizing strings by address; table files are far smaller.
const MAX_ADDRESS_RANGE: usize = 1 << 18;

/// Returns the offset of each string in memory; empty if they are not close together.
fn distances(strings: &[Text]) -> (usize, Vec<u16>) {
    let address = |text: &Text| text.as_ptr() as usize;
    let origin = strings.iter().map(address).min().unwrap_or_default();
    let width = strings.iter().map(address).max().map_or(0, |last| last - origin + 1);
    // Inline strings move with the table, so their address is not stable.
    if width > MAX_ADDRESS_RANGE
        || strings.len() >= u16::MAX.into()
        || strings.iter().any(|text| !is_outside(text))
    {
        return (0, Vec::new());
    }
    let mut by_distance = vec![0; width];
    for (number, text) in (1..).zip(strings) {
        by_distance[address(text) - origin] = number;
    }
    (origin, by_distance)
}

/// Whether the bytes of a string are outside of the value itself.
fn is_outside(text: &Text) -> bool {
    let value = std::ptr::from_ref(text) as usize;
    !(value..value + size_of::<Text>()).contains(&(text.as_ptr() as usize))
}

/// The lines of a table file, and the number of lines read.
struct Lines<'t> {
    lines: std::str::Lines<'t>,
    at: usize,
}

impl<'t> Lines<'t> {
    fn next(&mut self) -> Option<&'t str> {
        self.at += 1;
        self.lines.next()
    }

    fn after(&mut self, word: &str) -> Result<&'t str, Error> {
        let rest = self.next().and_then(|line| line.strip_prefix(word)?.strip_prefix(' '));
        rest.ok_or_else(|| self.wrong(&format!("{word:?} and its value")))
    }

    fn section(&mut self, word: &str) -> Result<Vec<&'t str>, Error> {
        let count = self.after(word)?;
        let count: usize = count.parse().map_err(|_| self.wrong("the number of lines"))?;
        let mut section = Vec::new();
        for _ in 0..count {
            section.push(self.next().ok_or_else(|| self.wrong("another line of the section"))?);
        }
        Ok(section)
    }

    fn wrong(&self, expected: &str) -> Error {
        Error::Table { line: self.at, problem: format!("expected {expected}") }
    }
}
