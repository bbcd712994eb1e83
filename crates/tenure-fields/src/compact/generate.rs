//! Generates a new table: strings from a schema and a list of frequent ones, by their frequency in a corpus;
//! the key patterns of the lists in the schema; and phrases, found by repeatedly joining the most frequent
//! pair of adjacent steps and keeping the joins that save most.

use super::{
    Part, Pattern, Table,
    binary::Writer,
    nested_lists,
    table::{MAX_PATTERNS, MAX_PHRASES, SHORT_PHRASES, Step},
};
use crate::{Error, FieldSet, PathElement};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tenure_schema::{ListTopology, ScalarKind, Schema, Type, TypeRef};
use tenure_value::{Object, Text, Value};

/// The candidates for a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Candidate strings.
    pub strings: BTreeSet<Text>,
    /// Candidate key patterns.
    pub patterns: BTreeSet<Pattern>,
}

/// Enumerations of up to this many values get a pattern for each value.
const MAX_CONSTANTS: usize = 8;

impl Sources {
    /// Collects the field names, enumerated values, API versions and list keys of a schema.
    pub fn of_schema(schema: &Schema) -> Sources {
        let mut sources = Sources::default();
        for (kind, _) in schema.kinds() {
            sources.strings.extend(kind.split_once(' ').map(|(api_version, _)| Text::new(api_version)));
        }
        for ty in schema.types() {
            match ty.get() {
                Type::Struct(fields) => {
                    sources.strings.extend(fields.fields.iter().map(|field| field.name.clone()))
                }
                Type::Scalar(scalar) => {
                    sources.strings.extend(scalar.values.iter().filter_map(Value::as_str).map(Text::new));
                }
                Type::List(list) => {
                    if let (ListTopology::Keyed(keys), Some(item)) = (&list.topology, ty.item()) {
                        let names = keys.iter().map(|key| &key.name).collect::<BTreeSet<_>>();
                        sources.patterns.extend(patterns(&names, item));
                    }
                }
                Type::Map(_) | Type::Untyped => {}
            }
        }
        sources
    }

    /// Adds the lines of a list, without empty lines and comments, which start with `# `.
    pub fn add_list(&mut self, list: &str) {
        let lines = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("# "));
        self.strings.extend(lines.map(Text::new));
    }
}

/// Returns all combinations of patterns of the key fields: a placeholder, or each of their enumerated values.
fn patterns(names: &BTreeSet<&Text>, item: TypeRef<'_>) -> Vec<Pattern> {
    let mut all = vec![Pattern { fields: Vec::new() }];
    for name in names {
        let parts = match item.below(name).map(|ty| ty.get()) {
            Some(Type::Scalar(scalar)) if scalar.kind == ScalarKind::Integer => vec![Part::Whole],
            Some(Type::Scalar(scalar)) if (1..=MAX_CONSTANTS).contains(&scalar.values.len()) => {
                // Blanks separate the fields of a pattern in its file.
                let values = scalar.values.iter().filter_map(Value::as_str);
                let values = values.filter(|value| !value.contains(char::is_whitespace));
                values.map(|value| Part::Constant(Text::new(value))).chain([Part::Text]).collect()
            }
            _ => vec![Part::Text],
        };
        let longer = |pattern: &Pattern| {
            let fields = pattern.fields.clone();
            let with = move |part: &Part| {
                let mut fields = fields.clone();
                fields.push(((*name).clone(), part.clone()));
                Pattern { fields }
            };
            parts.iter().map(with).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Generates a table; each document of the corpus contains the sets of the managers of one object.
pub fn generate(
    version: u32,
    introduced: &str,
    sources: &Sources,
    corpus: &[Vec<FieldSet>],
) -> Result<Table, Error> {
    let mut counts = Counts::default();
    corpus.iter().flatten().for_each(|set| counts.set(set));
    let table = Table::of_strings(version, strings(&sources.strings, &counts)).introduced_by(introduced);
    let table = table.with_patterns(ordered_patterns(&sources.patterns, &counts));
    let mut sequences = Vec::new();
    for document in corpus {
        let mut writer = Writer::new(&table);
        for set in document {
            sequences.push(writer.steps_of(set)?);
        }
    }
    let has_blank = |identity: u16| match Step::of(identity) {
        Step::Field(number, _) => table.string(number.into()).is_some_and(|name| name.contains(' ')),
        _ => false,
    };
    let phrases = phrases(&sequences, has_blank);
    Ok(table.with_phrases(&phrases))
}

/// Frequencies of strings and keys.
#[derive(Default)]
struct Counts<'a> {
    strings: HashMap<&'a str, usize>,
    keys: Vec<&'a Object>,
}

impl<'a> Counts<'a> {
    fn set(&mut self, set: &'a FieldSet) {
        for node in set.nodes() {
            match &node.element {
                PathElement::Field(name) => self.string(name),
                PathElement::Key(key) => {
                    self.keys.push(key);
                    self.object(key);
                }
                PathElement::Value(value) => self.value(value),
                PathElement::Index(_) => {}
            }
            self.set(&node.children);
        }
    }

    fn string(&mut self, text: &'a str) {
        *self.strings.entry(text).or_default() += 1;
    }

    fn object(&mut self, object: &'a Object) {
        for (name, value) in object {
            self.string(name);
            self.value(value);
        }
    }

    fn value(&mut self, value: &'a Value) {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => items.iter().for_each(|item| self.value(item)),
            Value::Object(object) => self.object(object),
            _ => {}
        }
    }
}

/// Whether a string can be a line of a table file. It may contain blanks, though not as a step of a phrase, which they separate.
fn writable(text: &str) -> bool {
    !text.is_empty()
        && text.trim() == text
        && !text.starts_with(['?', '#', '=', '@'])
        && !text.contains(|character: char| {
            character.is_control() || character.is_whitespace() && character != ' '
        })
}

/// Sorts the strings, without those that a reference would not shorten.
fn strings(candidates: &BTreeSet<Text>, counts: &Counts<'_>) -> Vec<Text> {
    let mut all: Vec<&Text> = candidates.iter().filter(|text| writable(text)).collect();
    let count = |text: &Text| counts.strings.get(text.as_str()).copied().unwrap_or_default();
    all.sort_by_key(|text| (std::cmp::Reverse(count(text)), text.len(), (*text).clone()));
    let mut strings = Vec::new();
    for text in all {
        if nested_lists::shortens(strings.len(), text) {
            strings.push(text.clone());
        }
    }
    strings
}

/// Sorts the patterns by the number of keys that match each first; constants are tried before placeholders.
fn ordered_patterns(patterns: &BTreeSet<Pattern>, counts: &Counts<'_>) -> Vec<Pattern> {
    let fits = |pattern: &&Pattern, key: &Object| {
        pattern.fields.len() == key.len()
            && key
                .iter()
                .zip(&pattern.fields)
                .all(|((name, value), (wanted, part))| name == wanted && part.matches(value))
    };
    let mut keys: HashMap<&Object, usize> = HashMap::new();
    counts.keys.iter().for_each(|key| *keys.entry(key).or_default() += 1);
    let mut used: BTreeMap<&Pattern, usize> = patterns.iter().map(|pattern| (pattern, 0)).collect();
    for (key, count) in keys {
        if let Some(pattern) = patterns.iter().find(|pattern| fits(pattern, key)) {
            *used.entry(pattern).or_default() += count;
        }
    }
    let open = |pattern: &Pattern| pattern.fields.iter().filter(|(_, part)| *part == Part::Text).count();
    let mut ordered: Vec<(&Pattern, usize)> = used.into_iter().collect();
    ordered.sort_by_key(|(pattern, count)| {
        (open(pattern) * pattern.fields.len().saturating_sub(1), std::cmp::Reverse(*count))
    });
    ordered.truncate(MAX_PATTERNS.into());
    ordered.into_iter().map(|(pattern, _)| pattern.clone()).collect()
}

/// The maximum number of joins, the minimum frequency of a joined pair, and the maximum length of a phrase.
const MAX_JOINS: usize = 5000;
const MIN_PAIRS: usize = 3;
const MAX_STEPS: usize = 64;

/// Returns the phrases that save most, the most frequent first, since the first have the shortest codes.
fn phrases(sequences: &[Vec<u16>], has_blank: impl Fn(u16) -> bool) -> Vec<Vec<Step>> {
    let mut kept = candidates(sequences);
    kept.retain(|phrase| !phrase.iter().any(|identity| has_blank(*identity)));
    let mut used = usage(&kept, sequences);
    loop {
        kept = by_usage(kept, &used);
        used = usage(&kept, sequences);
        let set: HashMap<&[u16], usize> =
            (0..).zip(&kept).map(|(at, phrase)| (phrase.as_slice(), at)).collect();
        let saving = |at: usize| {
            let code = if at < SHORT_PHRASES { 1 } else { 2 };
            used[at] * cost_without(&kept[at], &set).saturating_sub(code)
        };
        let mut order: Vec<usize> = (0..kept.len()).collect();
        order.sort_by_key(|at| (std::cmp::Reverse(saving(*at)), *at));
        let useless = order.iter().rev().take_while(|at| saving(**at) == 0).count();
        let excess = kept.len().saturating_sub(MAX_PHRASES);
        if useless == 0 && excess == 0 {
            break;
        }
        let leave = useless.max(excess).min((kept.len() / 20).max(1));
        order.truncate(kept.len() - leave);
        kept = order.into_iter().map(|at| kept[at].clone()).collect();
        used = usage(&kept, sequences);
    }
    kept.into_iter().map(|phrase| phrase.into_iter().map(Step::of).collect()).collect()
}

/// Sorts phrases by how often each is used.
fn by_usage(phrases: Vec<Vec<u16>>, used: &[usize]) -> Vec<Vec<u16>> {
    let mut all: Vec<(usize, Vec<u16>)> = used.iter().copied().zip(phrases).collect();
    all.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
    all.into_iter().map(|(_, phrase)| phrase).collect()
}

/// Returns the encoded size of a single step.
fn cost_alone(identity: u16) -> usize {
    match Step::of(identity) {
        Step::Field(..) | Step::Pattern(..) => 2,
        _ => 1,
    }
}

/// Returns the encoded size of a phrase that is not in the table.
fn cost_without(phrase: &[u16], kept: &HashMap<&[u16], usize>) -> usize {
    let (mut at, mut cost) = (0, 0);
    while at < phrase.len() {
        let most = if at == 0 { phrase.len() - 1 } else { phrase.len() - at };
        let longest = (1..=most).rev().find(|length| kept.contains_key(&phrase[at..at + length]));
        cost += if longest.is_some() { 1 } else { cost_alone(phrase[at]) };
        at += longest.unwrap_or(1);
    }
    cost
}

/// Counts how often each phrase is used to encode the sequences.
fn usage(phrases: &[Vec<u16>], sequences: &[Vec<u16>]) -> Vec<usize> {
    let mut next: HashMap<(usize, u16), usize> = HashMap::new();
    let mut ends = vec![None];
    for (at, phrase) in phrases.iter().enumerate() {
        let mut state = 0;
        for identity in phrase {
            state = *next.entry((state, *identity)).or_insert_with(|| {
                ends.push(None);
                ends.len() - 1
            });
        }
        ends[state] = Some(at);
    }
    let mut used = vec![0; phrases.len()];
    for sequence in sequences {
        let mut at = 0;
        while at < sequence.len() {
            let (mut state, mut length, mut found) = (0, 0, None);
            while let Some(after) =
                sequence.get(at + length).and_then(|identity| next.get(&(state, *identity)))
            {
                state = *after;
                length += 1;
                found = ends[state].map(|phrase| (phrase, length)).or(found);
            }
            if let Some((phrase, _)) = found {
                used[phrase] += 1;
            }
            at += found.map_or(1, |(_, length)| length);
        }
    }
    used
}

/// Repeatedly joins the most frequent pair; every step and every join is a candidate.
fn candidates(sequences: &[Vec<u16>]) -> Vec<Vec<u16>> {
    let mut phrases: Vec<Vec<u16>> = Vec::new();
    let mut numbers: HashMap<u16, u32> = HashMap::new();
    let mut joined: Vec<Vec<u32>> = Vec::new();
    for sequence in sequences {
        let number = |identity: &u16| {
            *numbers.entry(*identity).or_insert_with(|| {
                phrases.push(vec![*identity]);
                phrases.len() as u32 - 1
            })
        };
        joined.push(sequence.iter().map(number).collect());
    }
    for _ in 0..MAX_JOINS {
        let Some((a, b)) = most_frequent_pair(&joined, &phrases) else { break };
        let new = phrases.len() as u32;
        phrases.push([phrases[a as usize].as_slice(), &phrases[b as usize]].concat());
        for sequence in joined.iter_mut().filter(|sequence| sequence.contains(&a)) {
            join(sequence, (a, b), new);
        }
    }
    let mut distinct = BTreeSet::new();
    phrases.retain(|phrase| distinct.insert(phrase.clone()));
    phrases
}

fn most_frequent_pair(sequences: &[Vec<u32>], phrases: &[Vec<u16>]) -> Option<(u32, u32)> {
    let mut counts: HashMap<(u32, u32), usize> = HashMap::new();
    for pair in sequences.iter().flat_map(|sequence| sequence.windows(2)) {
        *counts.entry((pair[0], pair[1])).or_default() += 1;
    }
    let length = |at: u32| phrases[at as usize].len();
    counts.retain(|(a, b), count| *count >= MIN_PAIRS && length(*a) + length(*b) <= MAX_STEPS);
    counts.into_iter().max_by_key(|(pair, count)| (*count, std::cmp::Reverse(*pair))).map(|(pair, _)| pair)
}

fn join(sequence: &mut Vec<u32>, (a, b): (u32, u32), new: u32) {
    let mut shorter: Vec<u32> = Vec::with_capacity(sequence.len());
    let mut rest = sequence.as_slice();
    while let [first, after @ ..] = rest {
        let pair = *first == a && after.first() == Some(&b);
        shorter.push(if pair { new } else { *first });
        rest = if pair { &after[1..] } else { after };
    }
    *sequence = shorter;
}
