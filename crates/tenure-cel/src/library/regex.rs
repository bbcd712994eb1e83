//! Regular expressions with Go's syntax. Matching takes time linear in the text.

use super::{Row, fail, no_such_overload};
use crate::{
    Error,
    cost::{Cost, Meter},
    function::EvalResult,
    value::Val,
};
use regex::{Regex, RegexBuilder};

/// The maximum size of a compiled expression, in bytes.
const MAX_BYTES: usize = 4 << 20;
/// The maximum count of a repetition.
const MAX_REPEAT: u64 = 1000;

pub(super) const FUNCTIONS: &[Row] = &[
    ("string.find(string): string", Cost::Find, |_, args| match args {
        [Val::String(text), Val::String(pattern)] => Ok(find(&runtime(pattern)?, text)),
        _ => no_such_overload(),
    }),
    ("string.findAll(string): list(string)", Cost::Find, |meter, args| match args {
        [Val::String(text), Val::String(pattern)] => find_all(&runtime(pattern)?, text, None, meter),
        _ => no_such_overload(),
    }),
    ("string.findAll(string, int): list(string)", Cost::Find, |meter, args| match args {
        [Val::String(text), Val::String(pattern), limit] => {
            find_all(&runtime(pattern)?, text, Some(limit), meter)
        }
        _ => no_such_overload(),
    }),
];

fn runtime(pattern: &str) -> Result<Regex, Error> {
    compile(pattern).map_err(|error| Error::evaluate(format!("Illegal regex: {error}")))
}

pub(super) fn matches<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    match args {
        [Val::String(text), Val::String(pattern)] => match compile(pattern) {
            Ok(regex) => Ok(Val::Bool(regex.is_match(text))),
            Err(error) => fail(error),
        },
        _ => no_such_overload(),
    }
}

pub(crate) fn find<'v>(regex: &Regex, text: &str) -> Val<'v> {
    Val::String(regex.find(text).map_or("", |found| found.as_str()).into())
}

/// Returns all matches, up to a limit; a negative limit means no limit.
pub(crate) fn find_all<'v>(
    regex: &Regex,
    text: &str,
    limit: Option<&Val<'v>>,
    meter: &mut Meter,
) -> EvalResult<'v> {
    let most = match limit {
        None => usize::MAX,
        Some(Val::Int(limit)) => usize::try_from(*limit).unwrap_or(usize::MAX),
        Some(_) => return no_such_overload(),
    };
    let mut items = Vec::new();
    for found in regex.find_iter(text).take(most) {
        meter.allocate(found.len() + size_of::<Val<'_>>())?;
        items.push(Val::String(found.as_str().into()));
    }
    Ok(Val::list(items))
}

/// Compiles an expression: `\d`, `\w`, `\s` and `\b` mean ASCII, as in Go.
pub(crate) fn compile(source: &str) -> Result<Regex, String> {
    if let Some(count) = repeats(source).find(|count| *count > MAX_REPEAT) {
        return Err(format!("error parsing regexp: invalid repeat count: `{{{count}}}`"));
    }
    let built = RegexBuilder::new(&with_ascii_classes(source)).size_limit(MAX_BYTES).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(most) => {
            format!("error parsing regexp: expression compiles to more than {most} bytes")
        }
        other => {
            let words = other.to_string();
            let last = words.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string();
            format!("error parsing regexp: {last}: `{source}`")
        }
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

/// Returns the counts of all repetitions, such as `{2}` and `{2,3}`.
fn repeats(source: &str) -> impl Iterator<Item = u64> {
    let is_count = |inside: &&str| inside.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    let braces = source.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    braces.filter(is_count).flat_map(|inside| inside.split(',')).filter_map(|count| count.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        for (pattern, text, matches) in [
            ("^x+$", "xx", true),
            ("x", "axb", true),
            (r"^\d+$", "١", false),
            (r"^\w+$", "ä", false),
            (r"^[\d.]+$", "1.2", true),
            ("^[[:alpha:]]+$", "ab", true),
            ("^[a[]+$", "a[", true),
            ("^[]a]+$", "]a", true),
            ("^[^]a]+$", "b", true),
            (r"^[^/]+\/[^/]+$", "a/b", true),
            (r"\bend$", "the end", true),
            ("^[a&&b]+$", "a&b", true),
        ] {
            assert_eq!(compile(pattern).unwrap().is_match(text), matches, "{pattern} on {text}");
        }
        for wrong in ["(", "(a{1000}){1000}", "a{1,1001}"] {
            assert!(compile(wrong).is_err(), "{wrong}");
        }
    }
}
