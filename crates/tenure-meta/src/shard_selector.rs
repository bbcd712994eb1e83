//! Shard selectors: which part of a collection a client wants, by ranges of the hash of a field. A list of ranges in the words of
//! Kubernetes, `shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') || shardRange(…)`. Every object is
//! in exactly one of a set of ranges that cover all hashes.

use crate::ApiError;
use std::fmt;
use tenure_value::Value;

/// One past the last hash.
const END: u128 = 1 << 64;

/// A selector of the objects whose hash is in one of several ranges.
///
/// ```
/// use tenure_meta::ShardSelector;
///
/// let half = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')";
/// let selector = ShardSelector::parse(half)?;
/// assert_eq!(selector.to_string(), half);
/// # Ok::<(), tenure_meta::ApiError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardSelector {
    field: ShardField,
    /// The first hash of each range, and the one after its last.
    ranges: Vec<(u64, u128)>,
}

/// The field whose hash counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShardField {
    Uid,
    Namespace,
}

impl ShardField {
    fn name(self) -> &'static str {
        match self {
            ShardField::Uid => "object.metadata.uid",
            ShardField::Namespace => "object.metadata.namespace",
        }
    }
}

impl ShardSelector {
    /// Reads a selector.
    pub fn parse(text: &str) -> Result<ShardSelector, ApiError> {
        Parser::parse(text).map_err(|why| {
            let message = format!("invalid shard selector: {why}");
            ApiError::bad_request(&message).or_in_kubernetes(ApiError::unclassified(message))
        })
    }

    /// Whether an object is selected.
    pub fn matches(&self, object: &Value) -> bool {
        let name = match self.field {
            ShardField::Uid => "uid",
            ShardField::Namespace => "namespace",
        };
        self.has(object.at(["metadata", name]).and_then(Value::as_str).unwrap_or_default())
    }

    /// Whether the objects of a namespace are selected; `None` if that depends on the object.
    pub fn decide(&self, namespace: &str) -> Option<bool> {
        (self.field == ShardField::Namespace).then(|| self.has(namespace))
    }

    fn has(&self, value: &str) -> bool {
        let hash = hash(value);
        self.ranges.iter().any(|(start, end)| *start <= hash && u128::from(hash) < *end)
    }
}

/// Returns the hash of a value: FNV-1a with 64 bits.
fn hash(value: &str) -> u64 {
    value
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

impl fmt::Display for ShardSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (start, end)) in self.ranges.iter().enumerate() {
            let or = if at == 0 { "" } else { " || " };
            write!(f, "{or}shardRange({}, '0x{start:016x}', '0x{end:016x}')", self.field.name())?;
        }
        Ok(())
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn parse(text: &'t str) -> Result<ShardSelector, String> {
        let mut parser = Parser { rest: text };
        parser.space();
        if parser.rest.is_empty() {
            return Err("empty shard selector is not allowed; omit the parameter for unfiltered lists".into());
        }
        let (field, first) = parser.range()?;
        let mut ranges = vec![first];
        while parser.take("||") {
            let (other, range) = parser.range()?;
            if other != field {
                return Err(format!(
                    "all shard ranges must use the same field, got {:?} and {:?}",
                    field.name(),
                    other.name()
                ));
            }
            ranges.push(range);
        }
        match parser.rest {
            "" => Ok(ShardSelector { field, ranges }),
            rest => Err(format!("found {rest:?}, expected || or the end")),
        }
    }

    /// Reads one call of `shardRange`.
    fn range(&mut self) -> Result<(ShardField, (u64, u128)), String> {
        let function = self.word();
        if function != "shardRange" {
            return Err(match function {
                "" => format!("found {:?}, expected shardRange(FIELD, 'START', 'END')", self.rest),
                other => format!("unsupported function {other:?}; only shardRange() and || are allowed"),
            });
        }
        self.expect("(")?;
        let field = match self.word() {
            "object.metadata.uid" => ShardField::Uid,
            "object.metadata.namespace" => ShardField::Namespace,
            other => {
                return Err(format!(
                    "unsupported field path {other:?}; supported: object.metadata.uid, object.metadata.namespace"
                ));
            }
        };
        self.expect(",")?;
        let start = self.bound("hexStart")?;
        self.expect(",")?;
        let end = self.bound("hexEnd")?;
        self.expect(")")?;
        match u64::try_from(start) {
            Ok(first) if start < end => Ok((field, (first, end))),
            _ => Err(format!("shard range start 0x{start:016x} must be less than end 0x{end:016x}")),
        }
    }

    /// Reads a number as Kubernetes wants it: `0x` and sixteen digits, or one past the last of them.
    fn bound(&mut self, name: &str) -> Result<u128, String> {
        let quote = self.rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'));
        let literal = quote.and_then(|quote| self.rest[1..].split_once(quote));
        let Some((text, rest)) = literal else {
            return Err(format!("{name} must be a string literal (e.g. '0xff'), found {:?}", self.rest));
        };
        self.rest = rest;
        self.space();
        let Some(digits) = text.strip_prefix("0x") else {
            return Err(format!("{name} must have '0x' prefix, got {text:?}"));
        };
        if digits.is_empty() {
            return Err(format!("{name}: hex value is required after '0x'"));
        }
        if digits.len() > 17 {
            let count = digits.len();
            return Err(format!("{name}: hex value too long ({count} chars, max 17): {digits:?}"));
        }
        if let Some(wrong) = digits.chars().find(|digit| !matches!(digit, '0'..='9' | 'a'..='f')) {
            return Err(format!("{name}: invalid hex character {:?} in {text:?}", wrong.to_string()));
        }
        let number = u128::from_str_radix(digits, 16).map_err(|error| format!("{name}: {error}"))?;
        match digits.len() {
            16 => Ok(number),
            17 if number == END => Ok(number),
            17 => {
                Err(format!("{name}: 17-digit hex value must be '0x10000000000000000' (2^64), got {text:?}"))
            }
            _ => Err(format!(
                "{name} must be a 0x-prefixed 16-digit hex value, got {text:?} (did you mean \"0x{digits:0>16}\"?)"
            )),
        }
    }

    /// Reads a name with dots.
    fn word(&mut self) -> &'t str {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_');
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.space();
        word
    }

    fn expect(&mut self, what: &str) -> Result<(), String> {
        if self.take(what) { Ok(()) } else { Err(format!("found {:?}, expected {what:?}", self.rest)) }
    }

    fn take(&mut self, what: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(what) else { return false };
        self.rest = rest;
        self.space();
        true
    }

    fn space(&mut self) {
        self.rest = self.rest.trim();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: &str, end: &str) -> String {
        format!("shardRange(object.metadata.uid, '{start}', '{end}')")
    }

    #[test]
    fn hashes_are_those_of_fnv() {
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn every_object_is_in_one_of_the_shards_that_cover_everything() {
        let bounds =
            ["0x0000000000000000", "0x4000000000000000", "0x8000000000000000", "0x10000000000000000"];
        let shards: Vec<_> =
            bounds.windows(2).map(|pair| ShardSelector::parse(&range(pair[0], pair[1])).unwrap()).collect();
        let all = shards.iter().map(ToString::to_string).collect::<Vec<_>>().join("||");
        let all = ShardSelector::parse(&all).unwrap();
        let mut counts = vec![0; shards.len()];
        for number in 0..1000 {
            let object: Value =
                format!(r#"{{"metadata":{{"uid":"{number:08x}-0000-4000-8000-000000000000"}}}}"#)
                    .parse()
                    .unwrap();
            let matching: Vec<usize> = (0..shards.len()).filter(|at| shards[*at].matches(&object)).collect();
            assert_eq!(matching.len(), 1);
            counts[matching[0]] += 1;
            assert!(all.matches(&object));
        }
        assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
    }

    #[test]
    fn namespaces_are_decided_without_the_object() {
        let text = "shardRange(object.metadata.namespace, '0xaf63dc4c8601ec8c', \"0xaf63dc4c8601ec8d\")";
        let selector = ShardSelector::parse(text).unwrap();
        assert_eq!((selector.decide("a"), selector.decide("b")), (Some(true), Some(false)));
        let whole = ShardSelector::parse(&range("0x0000000000000000", "0x10000000000000000")).unwrap();
        assert_eq!(whole.decide("a"), None);
    }

    #[test]
    fn wrong_selectors_say_what_is_wrong() {
        let other = "shardRange(object.metadata.namespace, '0x0000000000000000', '0x0000000000000001')";
        for (text, part) in [
            (" ".to_owned(), "empty shard selector is not allowed"),
            (
                "hash(object.metadata.uid)".into(),
                "unsupported function \"hash\"; only shardRange() and || are allowed",
            ),
            ("'a'".into(), "expected shardRange(FIELD, 'START', 'END')"),
            (
                "shardRange(object.metadata.name, '0x0', '0x1')".into(),
                "unsupported field path \"object.metadata.name\"",
            ),
            ("shardRange(object.metadata.uid)".into(), "expected \",\""),
            (range("0x0", "0x1"), "got \"0x0\" (did you mean \"0x0000000000000000\"?)"),
            (range("0", "1"), "hexStart must have '0x' prefix, got \"0\""),
            (range("0x", "0x"), "hex value is required after '0x'"),
            (range("0xG000000000000000", "0x1"), "invalid hex character \"G\""),
            (range("0x0000000000000000", "0x20000000000000000"), "17-digit hex value must be"),
            (range("0x0000000000000000", "0x100000000000000000"), "too long (18 chars, max 17)"),
            (range("0x0000000000000001", "0x0000000000000001"), "must be less than end 0x0000000000000001"),
            (range("0x0000000000000000", "0x1").replace("'0x1'", "1"), "hexEnd must be a string literal"),
            (format!("{other} && {other}"), "expected || or the end"),
            (
                format!("{other} || {}", range("0x0000000000000000", "0x0000000000000001")),
                "must use the same field",
            ),
        ] {
            let error = ShardSelector::parse(&text).unwrap_err();
            assert!(error.message.contains(part) && error.code() == 400, "{text}: {error:?}");
            assert_eq!(error.into_kubernetes().code(), 500);
        }
    }
}
