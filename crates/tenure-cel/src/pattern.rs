//! Regular expressions with the syntax of Go's `regexp`, as CEL and the schemas of custom resources use them. Matching takes
//! time linear in the text.

use crate::pattern_syntax::{self, SyntaxError};
use regex::{Regex, RegexBuilder};

/// The maximum size of a compiled expression, in bytes.
const MAX_BYTES: usize = 4 << 20;
/// How many classes of a refused expression are looked at.
const MOST_CLASSES: usize = 64;

/// Why an expression is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// The expression does not parse.
    #[error(transparent)]
    Syntax(SyntaxError),
    /// The compiled expression would take more than this many bytes.
    #[error("error parsing regexp: expression compiles to more than {0} bytes")]
    TooLarge(usize),
}

/// Compiles an expression with the syntax of Go's `regexp`: `\d`, `\w`, `\s` and `\b` mean ASCII.
pub fn compile_pattern(source: &str) -> Result<Regex, PatternError> {
    pattern_syntax::check(source).map_err(PatternError::Syntax)?;
    build(source).map_err(|error| match error {
        regex::Error::CompiledTooBig(most) => PatternError::TooLarge(most),
        // What Go's syntax does not tell is whether a class exists.
        _ => PatternError::Syntax(SyntaxError::unknown_class(unknown_class(source).unwrap_or(source))),
    })
}

fn build(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&with_ascii_classes(source)).size_limit(MAX_BYTES).build()
}

/// Returns the first Unicode class of an expression that does not exist, if it is one of the first.
fn unknown_class(source: &str) -> Option<&str> {
    let classes = source.match_indices(r"\p").chain(source.match_indices(r"\P"));
    classes.take(MOST_CLASSES).map(|(at, _)| &source[at..]).find_map(|from| {
        let length = match from.as_bytes().get(2)? {
            b'{' => from.find('}')? + 1,
            _ => 2 + from[2..].chars().next()?.len_utf8(),
        };
        from.get(..length).filter(|class| build(class).is_err())
    })
}

/// Rewrites the classes that are limited to ASCII, and escapes of signs that have no other meaning.
fn with_ascii_classes(source: &str) -> String {
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
                (Some(sign), _) if is_literal_when_escaped(sign) => out.push(sign),
                (Some(other), _) => out.extend(['\\', other]),
                (None, _) => out.push('\\'),
            },
            '[' if in_class && chars.clone().next() == Some(':') => {
                out.push('[');
                for letter in chars.by_ref() {
                    out.push(letter);
                    if letter == ']' {
                        break;
                    }
                }
            }
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                out.push('[');
                // A closing bracket directly after the opening one is a member of the class.
                for (sign, written) in [('^', "^"), (']', "\\]")] {
                    let mut rest = chars.clone();
                    if rest.next() == Some(sign) {
                        chars = rest;
                        out.push_str(written);
                    }
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

fn is_literal_when_escaped(character: char) -> bool {
    matches!(character, '/' | '"' | '\'' | ':' | '@' | '%' | ',' | '=' | '_' | '!' | ';' | '`' | '<' | '>')
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
            ("^[^]a]+$", "b", true),
            (r"^[^/]+\/[^/]+$", "a/b", true),
            (r"\bend$", "the end", true),
            ("^a&&b$", "a&&b", true),
            ("^[a&&b]+$", "a&b", true),
        ] {
            assert_eq!(compile_pattern(pattern).unwrap().is_match(text), matches, "{pattern} on {text}");
        }
        assert!(compile_pattern("a{1000}").is_ok());
        for wrong in ["(", "(a{1000}){1000}", "a{1,1001}"] {
            assert!(compile_pattern(wrong).is_err(), "{wrong}");
        }
    }
}
