//! The words for what is wrong with a YAML text. Clients of Kubernetes know those of its parser, so the grammar's
//! own are translated where they differ; where a line is named, it is counted as there.

use crate::{Duplicate, Error};

/// What our parser says, and what people know.
const TRANSLATED: [(&str, &str); 8] = [
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

/// The problems of the structure, as against those of a single token.
const STRUCTURE: [&str; 6] = [
    "did not find expected <document start>",
    "did not find expected '-' indicator",
    "did not find expected key",
    "did not find expected node content",
    "did not find expected ',' or ']'",
    "did not find expected ',' or '}'",
];

/// Says in familiar words what the parser says; what was being read is left to the path.
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

/// Returns an error of reading YAML in the form of Kubernetes: `yaml: line 2: did not find expected node content`.
/// The line is left out if it is the first, and is the one before for what concerns the structure.
pub fn error_message(error: &Error) -> String {
    let problem = error.problem();
    let line = match error.position() {
        Some(position) if STRUCTURE.contains(&problem.as_str()) => position.line - 1,
        Some(position) if position.line > 1 => position.line,
        _ => 0,
    };
    if line == 0 { format!("yaml: {problem}") } else { format!("yaml: line {line}: {problem}") }
}

/// Returns the names given twice in the form of Kubernetes: `yaml: unmarshal errors:` and a line for each.
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
