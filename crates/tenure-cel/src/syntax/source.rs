//! The text of an expression, and how positions in it are printed.

use crate::error::Issue;
use std::fmt;

/// The text of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source(Box<str>);

/// Lines longer than this are not repeated below a message.
const MAX_SNIPPET: usize = 16_384;

impl Source {
    pub(crate) fn new(text: &str) -> Source {
        Source(text.into())
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns the line (from 1) and the column (from 1, in characters) of a byte offset.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.before(offset);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    fn before(&self, offset: usize) -> &str {
        let mut end = offset.min(self.0.len());
        while !self.0.is_char_boundary(end) {
            end -= 1;
        }
        self.0.get(..end).unwrap_or_default()
    }

    pub(crate) fn write_issue(&self, f: &mut fmt::Formatter<'_>, issue: &Issue) -> fmt::Result {
        let (line, column) = self.position(issue.offset);
        write!(f, "ERROR: <input>:{line}:{column}: {}", issue.message)?;
        let text = self.0.split('\n').nth(line - 1).unwrap_or_default();
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
