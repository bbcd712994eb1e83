//! Unknown and duplicate fields, in the order in which clients know them. A typed object is decoded in one pass, so that its unknown
//! and duplicate fields are reported as they come in the text; for any other document the duplicates come first.

use bytes::Bytes;
use std::collections::{HashMap, HashSet};
use tenure_value::{Limits, Value, json};

/// The errors in the text of a document.
#[derive(Clone, Debug, Default)]
pub struct TextErrors {
    /// `duplicate field "metadata.name"` and the like.
    pub duplicates: Vec<String>,
    /// The JSON of a typed object.
    pub text: Option<Bytes>,
    /// Whether the text is YAML, whose duplicates are one error.
    pub is_yaml: bool,
}

impl TextErrors {
    /// Returns the text of all errors, with those about unknown fields, as that of one.
    pub fn joined(&self, unknown: Vec<String>) -> String {
        if !self.is_yaml || self.duplicates.is_empty() {
            return self.with(unknown).join(", ");
        }
        let duplicates = format!("yaml: unmarshal errors:\n  {}", self.duplicates.join("\n  "));
        std::iter::once(duplicates).chain(unknown).collect::<Vec<_>>().join(", ")
    }

    /// Returns all errors, with those about unknown fields.
    pub fn with(&self, unknown: Vec<String>) -> Vec<String> {
        match &self.text {
            Some(text) if !(unknown.is_empty() && self.duplicates.is_empty()) => {
                in_order(text, &self.duplicates, &unknown)
            }
            _ => self.duplicates.iter().cloned().chain(unknown).collect(),
        }
    }
}

/// Returns the unknown and duplicate members of the operations of a JSON patch, in the order of the operations.
pub fn operation_errors(patch: &Value, duplicates: &[String]) -> Vec<String> {
    const MEMBERS: [&str; 4] = ["from", "op", "path", "value"];
    let operations = patch.as_array().map(|items| items.items()).unwrap_or_default();
    let mut errors: Vec<(usize, String)> = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        let members = operation.as_object().into_iter().flat_map(|fields| fields.iter());
        let unknown = members.map(|(name, _)| name).filter(|name| !MEMBERS.contains(&name.as_str()));
        errors.extend(unknown.map(|name| (at, format!("json patch unknown field \"[{at}].{name}\""))));
    }
    errors.extend(duplicates.iter().map(|duplicate| {
        let index = duplicate.split_once('[').and_then(|(_, rest)| rest.split_once(']')?.0.parse().ok());
        (index.unwrap_or(0), format!("json patch {duplicate}"))
    }));
    errors.sort_by_key(|(at, _)| *at);
    errors.into_iter().map(|(_, error)| error).collect()
}

/// Sorts errors by their places in the text; the content of an unknown field is skipped.
fn in_order(text: &[u8], duplicates: &[String], unknown: &[String]) -> Vec<String> {
    fn by_path<'e>(errors: &'e [String], what: &str) -> HashMap<u64, &'e String> {
        let path = |error: &'e String| error.strip_prefix(what)?.strip_prefix(" field \"")?.strip_suffix('"');
        errors.iter().filter_map(|error| Some((fnv(FNV_START, path(error)?), error))).collect()
    }
    let mut order = Order {
        duplicates: by_path(duplicates, "duplicate"),
        unknown: by_path(unknown, "unknown"),
        seen: HashMap::new(),
        reported: Vec::new(),
    };
    Walk { text, at: 0 }.value(PathHash::default(), &mut order, Content::Counts);
    let known: HashSet<&String> = order.reported.iter().copied().collect();
    let rest = unknown.iter().filter(|error| !known.contains(error));
    order.reported.iter().copied().chain(rest).cloned().collect()
}

/// The FNV-1a hash of no text.
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// Returns the hash of a text that follows one with a given hash.
fn fnv(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// The hash of a path, which grows with the path: comparing whole paths at every field would cost the length of the path each
/// time. Paths that collide only confuse the order of two errors.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PathHash {
    /// As errors about unknown fields write it.
    plain: u64,
    /// As errors about duplicate fields write it, with escapes.
    escaped: u64,
}

impl Default for PathHash {
    fn default() -> PathHash {
        PathHash { plain: FNV_START, escaped: FNV_START }
    }
}

impl PathHash {
    /// Returns the hash of the path followed by a text.
    fn with(self, text: &str) -> PathHash {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
        let quoted = if is_plain { String::new() } else { format!("{text:?}") };
        let escaped = if is_plain { text } else { &quoted[1..quoted.len() - 1] };
        PathHash { plain: fnv(self.plain, text), escaped: fnv(self.escaped, escaped) }
    }

    /// Returns the path of a field.
    fn field(self, name: &str) -> PathHash {
        if self == PathHash::default() { self.with(name) } else { self.with(".").with(name) }
    }
}

/// Where the errors stand, by their paths.
struct Order<'e> {
    duplicates: HashMap<u64, &'e String>,
    unknown: HashMap<u64, &'e String>,
    /// How often each field was seen.
    seen: HashMap<u64, usize>,
    reported: Vec<&'e String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Counts,
    Skipped,
}

impl Order<'_> {
    /// Records a field; returns whether its content counts.
    fn field(&mut self, path: PathHash) -> Content {
        let (unknown, duplicate) = (self.unknown.get(&path.plain), self.duplicates.get(&path.escaped));
        if unknown.is_none() && duplicate.is_none() {
            return Content::Counts;
        }
        let times = self.seen.entry(path.plain).or_insert(0);
        *times += 1;
        match (unknown, duplicate, *times) {
            (Some(error), _, 1) | (None, Some(error), 2) => self.reported.push(error),
            _ => {}
        }
        if unknown.is_some() { Content::Skipped } else { Content::Counts }
    }
}

/// A walk through the text of a document that was parsed before.
struct Walk<'t> {
    text: &'t [u8],
    at: usize,
}

impl Walk<'_> {
    fn next(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_whitespace() || b",:".contains(byte)) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn value(&mut self, path: PathHash, order: &mut Order<'_>, content: Content) {
        match self.next() {
            Some(b'{') => {
                self.at += 1;
                while self.next() == Some(b'"') {
                    let below = path.field(&self.string());
                    let content = if content == Content::Counts { order.field(below) } else { content };
                    self.value(below, order, content);
                }
                self.at += 1;
            }
            Some(b'[') => {
                self.at += 1;
                let mut index = 0;
                while self.next().is_some_and(|byte| byte != b']') {
                    self.value(path.with(&format!("[{index}]")), order, content);
                    index += 1;
                }
                self.at += 1;
            }
            Some(b'"') => {
                self.string();
            }
            _ => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let end = rest.iter().position(|byte| b",]} \t\r\n".contains(byte)).unwrap_or(rest.len());
                self.at += end.max(1);
            }
        }
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let written = self.text.get(start..self.at).unwrap_or_default();
        let read = json::parse(written, &Limits::default()).unwrap_or_default();
        read.as_str().unwrap_or_default().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_a_typed_object_come_in_the_order_of_its_text() {
        let text = r#"{"spec": {"unknown1": {"a":1,"a":2}, "twice": "x\"]}", "twice": [], "unknownTwice": 1, "unknownTwice": 2,
            "list": [{"n":1.5e3}, {"b": true, "b": null, "c": {}, "b": 1}], "last": 1}}"#;
        let words = |paths: &[&str], what: &str| -> Vec<String> {
            paths.iter().map(|path| format!("{what} field \"{path}\"")).collect()
        };
        let errors = TextErrors {
            duplicates: words(
                &["spec.unknown1.a", "spec.twice", "spec.unknownTwice", "spec.list[1].b"],
                "duplicate",
            ),
            text: Some(text.into()),
            ..TextErrors::default()
        };
        let unknown =
            words(&["spec.last", "spec.list[1].c", "spec.unknown1", "spec.unknownTwice"], "unknown");
        assert_eq!(
            errors.with(unknown.clone()),
            [
                "unknown field \"spec.unknown1\"",
                "duplicate field \"spec.twice\"",
                "unknown field \"spec.unknownTwice\"",
                "duplicate field \"spec.list[1].b\"",
                "unknown field \"spec.list[1].c\"",
                "unknown field \"spec.last\"",
            ]
        );
        let plain = TextErrors { text: None, ..errors };
        assert_eq!(plain.with(unknown).len(), 8);
    }
}
