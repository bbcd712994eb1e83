//! A second decoder of the binary encoding, written from `docs/internals/compact-fields.md` alone: it shares no code
//! with the first and returns nested lists. It trusts its input.

use crate::{arbitrary, corpus};
use proptest::prelude::*;
use tenure_fields::compact::{binary, nested_lists, tables};
use tenure_value::{Value, json};

const FILES: [&str; 2] =
    [include_str!("../../src/compact/tables/1.txt"), include_str!("../../src/compact/tables/2.txt")];

/// Returns a section of a table file.
fn section(file: &'static str, name: &str) -> Vec<&'static str> {
    let mut lines = file.lines().skip_while(|line| !(line.starts_with(name) && line.split(' ').count() == 2));
    let count: usize =
        lines.next().and_then(|line| line.split(' ').next_back()?.parse().ok()).expect("a count");
    lines.take(count).collect()
}

struct Second<'b> {
    bytes: &'b [u8],
    strings: Vec<&'static str>,
    patterns: Vec<&'static str>,
    phrases: Vec<&'static str>,
    literals: Vec<String>,
    levels: Vec<String>,
    /// The open levels: the text so far, the number of nodes, whether one has children, and the last key.
    open: Vec<(String, usize, bool, Option<Vec<String>>)>,
}

impl<'b> Second<'b> {
    fn new(bytes: &'b [u8]) -> Second<'b> {
        let file = FILES[usize::from(bytes[0] & 0x7F) - 1];
        let [strings, patterns, phrases] = ["strings", "patterns", "phrases"].map(|name| section(file, name));
        Second {
            bytes,
            strings,
            patterns,
            phrases,
            literals: Vec::new(),
            levels: Vec::new(),
            open: Vec::new(),
        }
    }

    fn byte(&mut self) -> usize {
        let (first, rest) = self.bytes.split_first().expect("another byte");
        self.bytes = rest;
        usize::from(*first)
    }

    fn number(&mut self) -> u64 {
        let byte = self.byte() as u64;
        if byte < 128 { byte } else { byte - 128 + (self.number() << 7) }
    }

    fn literal(&mut self, same: usize, rest: usize) -> String {
        let before = self.literals.last().cloned().unwrap_or_default();
        let (taken, left) = self.bytes.split_at(rest);
        self.bytes = left;
        self.keep(before[..same].to_owned() + std::str::from_utf8(taken).expect("UTF-8"))
    }

    fn keep(&mut self, text: String) -> String {
        if text.len() > 1 {
            self.literals.push(text.clone());
        }
        text
    }

    fn string(&mut self) -> String {
        match self.byte() {
            length @ 0..=0x1F => self.literal(0, length),
            character @ 0x20..=0x7E => char::from(character as u8).to_string(),
            0x7F => {
                let length = self.number() as usize + 32;
                self.literal(0, length)
            }
            byte @ 0x80..=0x9F => self.literals[byte - 0x80].clone(),
            byte @ 0xA0..=0xA7 => {
                let number = 32 + 256 * (byte - 0xA0) + self.byte();
                self.literals[number].clone()
            }
            byte @ 0xA8..=0xAF => {
                let number = 256 * (byte - 0xA8) + self.byte();
                self.strings[number].to_owned()
            }
            0xB0 => {
                let number = self.number() as usize;
                self.strings[number].to_owned()
            }
            0xB1 => {
                let number = self.number() as usize + 32;
                self.literals[number].clone()
            }
            0xB2 => {
                let digits: String = (0..16).map(|_| format!("{:02x}", self.byte())).collect();
                let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
                self.keep(parts.join("-"))
            }
            0xB3 => {
                let (same, rest) = (self.number() as usize, self.number() as usize);
                self.literal(same, rest)
            }
            byte => self.literal((byte - 0xC0) / 4 + 1, (byte - 0xC0) % 4 + 1),
        }
    }

    fn value(&mut self) -> String {
        if !matches!(self.bytes.first(), Some(0xB4..=0xBB)) {
            return quoted(&self.string());
        }
        match self.byte() {
            0xB4 => "null".to_owned(),
            0xB5 => "false".to_owned(),
            0xB6 => "true".to_owned(),
            0xB7 => self.number().to_string(),
            0xB8 => (-1 - i128::from(self.number())).to_string(),
            0xB9 => {
                let bytes: Vec<u8> = (0..8).map(|_| self.byte() as u8).collect();
                format!("{:?}", f64::from_le_bytes(bytes.try_into().expect("eight bytes")))
            }
            0xBA => {
                let items: Vec<String> = (0..self.number()).map(|_| self.value()).collect();
                format!("[{}]", items.join(","))
            }
            _ => {
                let fields: Vec<String> =
                    (0..self.number()).map(|_| quoted(&self.string()) + ":" + &self.value()).collect();
                format!("{{{}}}", fields.join(","))
            }
        }
    }

    /// Adds a node; the kind is that of the nested lists.
    fn node(&mut self, kind: usize, shape: usize, element: &str, key: Option<Vec<String>>) {
        let level = self.open.last_mut().expect("an open level");
        let comma = if level.1 > 0 { "," } else { "" };
        level.0 += &format!("{comma}{},{element}", kind + 4 * shape);
        level.1 += 1;
        level.2 |= shape > 0;
        level.3 = key;
        if shape > 0 {
            self.open.push((String::new(), 0, false, None));
        }
    }

    fn key(&mut self, shape: usize, names: Vec<String>, values: Vec<String>) {
        let fields: Vec<String> =
            names.iter().zip(values).map(|(name, value)| quoted(name) + ":" + &value).collect();
        self.node(3, shape, &format!("{{{}}}", fields.join(",")), Some(names));
    }

    fn pattern(&mut self, shape: usize, number: usize) {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for field in self.patterns[number].split(' ') {
            if let Some(name) = field.strip_suffix(":text") {
                names.push(name.to_owned());
                values.push(quoted(&self.string()));
            } else if let Some(name) = field.strip_suffix(":whole") {
                names.push(name.to_owned());
                values.push(self.number().to_string());
            } else if let Some((name, constant)) = field.split_once('=') {
                names.push(name.to_owned());
                values.push(quoted(constant));
            }
        }
        self.key(shape, names, values);
    }

    /// Ends the innermost level; returns the set if it was the outermost.
    fn end(&mut self) -> Option<String> {
        let (text, nodes, children, _) = self.open.pop().expect("an open level");
        if nodes > 1 || children {
            self.levels.push(text.clone());
        }
        self.attach(text)
    }

    fn attach(&mut self, text: String) -> Option<String> {
        let Some(above) = self.open.last_mut() else { return Some(format!("[{text}]")) };
        above.0 += &format!(",[{text}]");
        None
    }

    fn step(&mut self, step: &str) -> Option<String> {
        match step {
            "^" => return self.end(),
            "*" => {
                let back = self.number() as usize;
                self.open.pop();
                return self.attach(self.levels[self.levels.len() - 1 - back].clone());
            }
            "$" => {
                return loop {
                    if let Some(set) = self.end() {
                        break Some(set);
                    }
                };
            }
            _ => {}
        }
        let shape = ".>+".find(&step[..1]).expect("a shape");
        match &step[1..] {
            "?" => {
                let name = quoted(&self.string());
                self.node(0, shape, &name, None);
            }
            "#~" => {
                let names = self.open.last_mut().and_then(|level| level.3.take()).expect("a key before");
                let values = names.iter().map(|_| self.value()).collect();
                self.key(shape, names, values);
            }
            "#?" => {
                let fields = (0..self.number()).map(|_| (self.string(), self.value()));
                let (names, values) = fields.unzip();
                self.key(shape, names, values);
            }
            "=" => {
                let value = self.value();
                self.node(1, shape, &value, None);
            }
            "@" => {
                let folded = i128::from(self.number());
                let index = if folded % 2 == 0 { folded / 2 } else { -(folded + 1) / 2 };
                self.node(2, shape, &index.to_string(), None);
            }
            rest => match rest.strip_prefix('#') {
                Some(number) => self.pattern(shape, number.parse().expect("a number")),
                None => self.node(0, shape, &quoted(rest), None),
            },
        }
        None
    }

    fn set(&mut self) -> String {
        self.open = vec![(String::new(), 0, false, None)];
        loop {
            let code = self.byte();
            let shape = |first: usize| [".", ">", "+"][(code - first) % 3];
            let steps = match code {
                0..=207 => self.phrases[code].to_owned(),
                208..=231 => {
                    let number = 256 * ((code - 208) % 8) + self.byte();
                    format!("{}{}", [".", ">", "+"][(code - 208) / 8], self.strings[number])
                }
                232..=234 => format!("{}?", shape(232)),
                235..=237 => format!("{}#{}", shape(235), self.number()),
                238..=240 => format!("{}#~", shape(238)),
                241..=243 => format!("{}#?", shape(241)),
                244..=246 => format!("{}=", shape(244)),
                247..=249 => format!("{}@", shape(247)),
                250..=252 => ["^", "*", "$"][code - 250].to_owned(),
                _ => {
                    let number = 208 + 256 * (code - 253) + self.byte();
                    self.phrases[number].to_owned()
                }
            };
            for step in steps.split(' ') {
                if let Some(set) = self.step(step) {
                    return set;
                }
            }
        }
    }
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    json::write_text(
        &Value::from(text).as_str().map(str::to_owned).unwrap_or_default(),
        json::Style::Plain,
        &mut out,
    );
    String::from_utf8(out).expect("UTF-8")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_specification_suffices_to_decode_any_set(set in arbitrary::set()) {
        for table in tables::all() {
            let bytes = binary::encode_with(&set, table).unwrap();
            let mut second = Second::new(&bytes);
            prop_assert_eq!(second.byte(), table.version() as usize);
            prop_assert_eq!(second.set(), nested_lists::to_text(&set));
            prop_assert!(second.bytes.is_empty());
        }
    }
}

#[test]
fn the_specification_suffices_to_decode_managers() {
    let mut objects: Vec<_> =
        corpus::objects().into_iter().step_by(50).map(|object| object.records).collect();
    objects.push(corpus::deployment_with_two_owners().expect("the set can be read"));
    let tables = tables::all();
    for (records, table) in
        objects.iter().flat_map(|records| tables.clone().map(move |table| (records, table)))
    {
        let bytes = binary::encode_object_with(records, table).unwrap();
        let mut second = Second::new(&bytes);
        assert_eq!(second.byte(), 0x80 | table.version() as usize);
        assert_eq!(second.number(), records.len() as u64);
        let mut api_version = String::new();
        for record in records {
            let flags = second.byte();
            assert_eq!(second.string(), record.manager.as_str());
            let operation = match flags & 3 {
                3 => second.string(),
                known => ["Apply", "Update", ""][known].to_owned(),
            };
            assert_eq!(operation, record.operation.as_str());
            if flags & 0x40 != 0 {
                api_version = second.string();
            }
            assert_eq!(api_version, record.api_version.as_str());
            match flags >> 2 & 3 {
                0 => {}
                3 => assert_eq!(second.string(), record.time.as_str()),
                _ => drop(second.number()),
            }
            let subresource = match flags >> 4 & 3 {
                3 => second.string(),
                known => ["", "status", "scale"][known].to_owned(),
            };
            assert_eq!(subresource, record.subresource.as_str());
            let mut has_set = true;
            if flags & 0x80 != 0 {
                assert_eq!(second.string(), record.fields_type.as_str());
                has_set = second.byte() == 1;
            }
            let set = has_set.then(|| second.set());
            assert_eq!(set, record.fields.as_ref().map(nested_lists::to_text));
        }
        assert!(second.bytes.is_empty());
    }
}
