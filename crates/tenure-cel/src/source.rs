//! The text of an expression, and positions in it.

/// The text of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source(Box<str>);

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
}
