//! Regular expressions of schemas. Matching takes linear time. They are compiled on first use, so that a
//! server with hundreds of definitions only compiles those it needs; definitions are validated before, so an
//! invalid expression simply never matches here.

use regex::{Regex, RegexBuilder};
use std::sync::OnceLock;
use tenure_value::Text;

/// The maximum size of a compiled expression, in bytes.
const MOST_BYTES: usize = 4 << 20;

/// The maximum count of a repetition.
const MOST_REPEATS: u64 = 1000;

/// A regular expression, compiled on first use.
#[derive(Debug)]
pub(crate) struct Pattern {
    source: Text,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub fn new(source: &str) -> Pattern {
        Pattern { source: source.into(), compiled: OnceLock::new() }
    }

    /// Returns the source of the expression.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the expression matches anywhere in the text.
    pub fn matches(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| compile(&self.source).ok());
        compiled.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// Returns the error in an expression.
    pub fn fault(source: &str) -> Option<String> {
        compile(source).err().or_else(|| {
            let count = repeats(source).find(|count| *count > MOST_REPEATS)?;
            Some(format!("invalid repeat count {count}; the most is {MOST_REPEATS}"))
        })
    }
}

/// Compiles an expression with the syntax of Go's `regexp`: `\d`, `\w`, `\s` and `\b` are ASCII.
pub(crate) fn compile(source: &str) -> Result<Regex, String> {
    let readable = ascii_classes(source);
    let built = RegexBuilder::new(&readable).size_limit(MOST_BYTES).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(most) => format!("the compiled expression is larger than {most} bytes"),
        other => {
            let words = other.to_string();
            words.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string()
        }
    })
}

/// Rewrites the classes that Go limits to ASCII, and `\z`.
fn ascii_classes(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut chars = source.chars();
    let mut in_class = false;
    while let Some(letter) = chars.next() {
        match letter {
            '\\' => match (chars.next(), in_class) {
                (Some('d'), false) => out.push_str("[0-9]"),
                (Some('d'), true) => out.push_str("0-9"),
                (Some('w'), false) => out.push_str("[0-9A-Za-z_]"),
                (Some('w'), true) => out.push_str("0-9A-Za-z_"),
                (Some('s'), false) => out.push_str("[\\t\\n\\x0C\\r ]"),
                (Some('s'), true) => out.push_str("\\t\\n\\x0C\\r "),
                (Some('D'), _) => out.push_str("[^0-9]"),
                (Some('W'), _) => out.push_str("[^0-9A-Za-z_]"),
                (Some('S'), _) => out.push_str("[^\\t\\n\\x0C\\r ]"),
                (Some('b'), false) => out.push_str("(?-u:\\b)"),
                // In Go these escapes denote the character itself.
                (
                    Some(sign @ ('/' | '"' | '\'' | ':' | '@' | '%' | ',' | '=' | '_' | '!' | ';' | '`')),
                    _,
                ) => out.push(sign),
                (Some(other), _) => out.extend(['\\', other]),
                (None, _) => out.push('\\'),
            },
            '[' if in_class && chars.clone().next() == Some(':') => {
                out.push('[');
                copy_named(&mut chars, &mut out);
            }
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                out.push('[');
                let mut rest = chars.clone();
                if rest.next() == Some('^') {
                    chars = rest.clone();
                    out.push('^');
                }
                // A closing bracket directly after the opening one is a member of the class.
                let mut rest = chars.clone();
                if rest.next() == Some(']') {
                    chars = rest;
                    out.push_str("\\]");
                }
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => out.extend(['\\', letter]),
            other => out.push(other),
        }
    }
    out
}

/// Returns the counts of all repetitions of a valid expression, such as `{2}` and `{2,3}`.
fn repeats(source: &str) -> impl Iterator<Item = u64> {
    let is_count = |inside: &&str| inside.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    let braces = source.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    braces.filter(is_count).flat_map(|inside| inside.split(',')).filter_map(|count| count.parse().ok())
}

/// Copies `[:alpha:]` unchanged.
fn copy_named(chars: &mut std::str::Chars<'_>, out: &mut String) {
    for letter in chars.by_ref() {
        out.push(letter);
        if letter == ']' {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        for (pattern, text, matches) in [
            ("^x+$", "xx", true),
            ("^x+$", "xy", false),
            ("x", "axb", true),
            (r"^\d+$", "١", false),
            (r"^\w+$", "ä", false),
            (r"^[\d.]+$", "1.2", true),
            (r"^[\w/-]+$", "a/b-c", true),
            (r"^\S+@\S+\.com$", "a@b.com", true),
            ("^[[:alpha:]]+$", "ab", true),
            ("^[a[]+$", "a[", true),
            ("^[]a]+$", "]a", true),
            (r"^[^/]+\/[^/]+$", "a/b", true),
            (r"\bend$", "the end", true),
            ("^a&&b$", "a&&b", true),
            ("^[a&&b]+$", "a&b", true),
        ] {
            assert_eq!(Pattern::new(pattern).matches(text), matches, "{pattern} on {text}");
        }
        assert!(Pattern::fault("(").is_some());
        assert!(Pattern::fault("(a{1000}){1000}").is_some());
        assert!(Pattern::fault("a{1000}").is_none() && Pattern::fault("a{1,1001}").is_some());
        assert!(!Pattern::new("(").matches("("));
    }
}
