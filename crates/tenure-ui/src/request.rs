//! Requests of the page: the parameters of a query, and JSON bodies.

use crate::PageError;
use percent_encoding::percent_decode_str;
use tenure_value::{Limits, Value, json};

/// The parameters of a request.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the query of a URL.
    pub fn parse(text: &str) -> Query {
        let decoded =
            |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        Query(pairs.map(|(name, value)| (decoded(name), decoded(value))).collect())
    }

    /// Returns a parameter; `None` if it is missing or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(given, value)| given == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    /// Returns a parameter that must be given.
    pub fn require(&self, name: &str) -> Result<&str, PageError> {
        self.get(name).ok_or_else(|| PageError::bad_request(format!("the parameter {name} is missing")))
    }
}

/// Reads a JSON body. The caller of the page limits its size.
pub(crate) fn read_json(body: &[u8]) -> Result<Value, PageError> {
    let text: &[u8] = if body.is_empty() { b"{}" } else { body };
    json::parse(text, &Limits { bytes: text.len(), ..Limits::default() }).map_err(PageError::bad_request)
}

/// Returns a text of a document; empty if it is missing.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the texts of a list of a document.
pub(crate) fn texts(value: &Value, name: &str) -> Vec<String> {
    let items = value.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Whether a flag of a document is set.
pub(crate) fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = Query::parse("name=a%20b+c&empty=&path=.data.%22x%2Fy%22&flag");
        assert_eq!(query.get("name"), Some("a b c"));
        assert_eq!(query.get("path"), Some(".data.\"x/y\""));
        assert_eq!((query.get("empty"), query.get("flag"), query.get("none")), (None, None, None));
        assert!(query.require("none").unwrap_err().to_string().contains("none"));
    }
}
