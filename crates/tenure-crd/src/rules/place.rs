//! Says where in an expression something is wrong, as tools for the language do: line and column, the line, and a mark
//! below the place.

use kube_cel::cel::parser::Parser;

/// Returns line and column, both from 1, of a numbered part of an expression that parses.
pub(super) fn find(source: &str, part: u64) -> Option<(usize, usize)> {
    // The parser tells where the parts stand only beside what it complains of. A character that no expression has, on
    // a line of its own behind the expression, gives it something to complain of and leaves the parts as they are.
    let strict_errors =
        Parser::new().enable_optional_syntax(true).parse(&format!("{source}\n\u{1}")).err()?;
    let places = strict_errors.errors.first()?.source_info.as_ref()?;
    let before = source.get(..places.offset_for(part)?.0 as usize)?;
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Some((line, column))
}

/// Writes what is wrong at a place of an expression.
pub(super) fn told(source: &str, place: Option<(usize, usize)>, why: &str) -> String {
    let Some((line, column)) = place else { return format!("ERROR: <input>: {why}") };
    let text = source.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let dots = ".".repeat(column.saturating_sub(1));
    format!("ERROR: <input>:{line}:{column}: {why}\n | {text}\n | {dots}^")
}
