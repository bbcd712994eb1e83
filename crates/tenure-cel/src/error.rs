//! Errors of parsing, type checking and evaluation.

use crate::source::Source;
use std::{fmt, sync::Arc};

/// Why an expression cannot be compiled or evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not a valid expression, or its types do not match. The message names every position.
    #[error("{0}")]
    Compile(Issues),
    /// A constant part of the expression cannot be evaluated.
    #[error("{0}")]
    Instantiate(String),
    /// The evaluation failed on these values.
    #[error("{0}")]
    Evaluate(String),
    /// The evaluation was stopped because it would cost more than its limit.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostLimit,
    /// The evaluation was stopped because it would use more memory than its limit.
    #[error("operation cancelled: intermediate results exceed {0} bytes")]
    SizeLimit(usize),
}

impl Error {
    /// Returns the error of a failed evaluation.
    pub fn evaluate(message: impl Into<String>) -> Error {
        Error::Evaluate(message.into())
    }

    /// Whether `||`, `&&` and comprehensions may absorb the error. Exceeded limits are final.
    pub fn is_absorbable(&self) -> bool {
        matches!(self, Error::Evaluate(_))
    }
}

/// One problem at one position of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Where the problem is, as a byte offset into the expression.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
}

/// The problems of one expression, printed with their positions:
///
/// ```text
/// ERROR: <input>:1:5: undefined field 'replica'
///  | self.replica > 1
///  | ....^
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issues {
    source: Arc<Source>,
    issues: Vec<Issue>,
}

/// How many problems of one expression are printed.
const MAX_REPORTED: usize = 100;
/// Lines longer than this are not repeated below a message.
const MAX_SNIPPET: usize = 16_384;

impl Issues {
    pub(crate) fn new(source: Arc<Source>, mut issues: Vec<Issue>) -> Issues {
        issues.sort_by_key(|issue| issue.offset);
        Issues { source, issues }
    }

    /// Returns the problems in the order of their positions.
    pub fn iter(&self) -> impl Iterator<Item = &Issue> {
        self.issues.iter()
    }

    fn write_issue(&self, f: &mut fmt::Formatter<'_>, issue: &Issue) -> fmt::Result {
        let (line, column) = self.source.position(issue.offset);
        write!(f, "ERROR: <input>:{line}:{column}: {}", issue.message)?;
        let text = self.source.text().split('\n').nth(line - 1).unwrap_or_default();
        if text.len() > MAX_SNIPPET {
            return Ok(());
        }
        write!(f, "\n | {}\n | ", text.replace('\t', " "))?;
        let mut chars = text.chars();
        for letter in chars.by_ref().take(column - 1) {
            f.write_str(if letter.is_ascii() { "." } else { "\u{ff0e}" })?;
        }
        f.write_str(if chars.next().is_none_or(|letter| letter.is_ascii()) { "^" } else { "\u{ff3e}" })
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, issue) in self.issues.iter().take(MAX_REPORTED).enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            self.write_issue(f, issue)?;
        }
        match self.issues.len().checked_sub(MAX_REPORTED) {
            Some(more) if more > 0 => write!(f, "\n{more} more errors were truncated"),
            _ => Ok(()),
        }
    }
}
