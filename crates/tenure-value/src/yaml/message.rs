//! Messages for YAML errors. Users know the messages of the parser of Kubernetes, so those of our parser are
//! translated where they differ. Line numbers are counted as there.

use crate::{Duplicate, Error};

/// Messages of our parser, and those of Kubernetes.
const TRANSLATED: [(&str, &str); 9] = [
    ("found unprintable character", "control characters are not allowed"),
    ("expected ',' or ']'", "did not find expected ',' or ']'"),
    ("tab cannot be used as indentation", "found character that cannot start any token"),
    ("found a tab", "found character that cannot start any token"),
    (
        "a block scalar content cannot start with a tab",
        "found a tab character where an indentation space is expected",
    ),
    ("simple key expected", "could not find expected ':'"),
    ("simple key expect ':'", "could not find expected ':'"),
    ("found unknown anchor", "unknown anchor referenced"),
    ("unexpected eof", "did not find expected node content"),
];

/// Errors about the structure, not about a single token.
const STRUCTURE: [&str; 6] = [
    "did not find expected <document start>",
    "did not find expected '-' indicator",
    "did not find expected key",
    "did not find expected node content",
    "did not find expected ',' or ']'",
    "did not find expected ',' or '}'",
];

/// Returns the message that Kubernetes uses for a problem, without its context.
pub(super) fn familiar(problem: &str) -> &str {
    let problem = match problem.split_once(", ") {
        Some((context, problem)) if context.starts_with("while ") => problem,
        _ => problem,
    };
    if problem.starts_with("unexpected character: ") || problem.starts_with("tabs disallowed ") {
        return "found character that cannot start any token";
    }
    TRANSLATED.iter().find(|(ours, _)| *ours == problem).map_or(problem, |(_, known)| known)
}

/// Formats a YAML error as Kubernetes does: `yaml: line 2: did not find expected node content`. The first
/// line is omitted, and errors about the structure report the line before.
pub fn error_message(error: &Error) -> String {
    let problem = error.problem();
    let line = match error.position() {
        Some(position) if STRUCTURE.contains(&problem.as_str()) => position.line - 1,
        Some(position) if position.line > 1 => position.line,
        _ => 0,
    };
    if line == 0 { format!("yaml: {problem}") } else { format!("yaml: line {line}: {problem}") }
}

/// Formats duplicate names as Kubernetes does: `yaml: unmarshal errors:` and a line for each.
pub fn duplicates_message(duplicates: &[Duplicate]) -> String {
    let mut message = "yaml: unmarshal errors:".to_owned();
    for duplicate in duplicates {
        message.push_str(&format!(
            "\n  line {}: key {:?} already set in map",
            duplicate.again.line, duplicate.name
        ));
    }
    message
}
