//! Regular expressions of schemas. They are compiled on first use, so that a server with hundreds of definitions only compiles
//! those it needs; definitions are validated before, so an invalid expression simply never matches here.

use regex::Regex;
use std::sync::OnceLock;
use tenure_cel::{PatternError, compile_pattern};
use tenure_value::Text;

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
        let compiled = self.compiled.get_or_init(|| compile_pattern(&self.source).ok());
        compiled.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// Checks that an expression is valid.
    pub fn check(source: &str) -> Result<(), PatternError> {
        compile_pattern(source).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_pattern_is_reported_and_never_matches() {
        assert!(Pattern::check("(").is_err() && Pattern::check("a{1,1001}").is_err());
        assert!(Pattern::check("a{1000}").is_ok());
        assert!(!Pattern::new("(").matches("("));
        assert!(Pattern::new("^x+$").matches("xx") && !Pattern::new("^x+$").matches("xy"));
    }
}
