//! Property names as expressions write them: characters that identifiers cannot contain and keywords are
//! spelled out between underscores.

use crate::syntax::RESERVED;
use tenure_value::Text;

/// The keywords of the grammar, which cannot be identifiers either.
const KEYWORDS: [&str; 4] = ["true", "false", "null", "in"];

/// Characters and their escapes, longest first.
const ESCAPES: [(&str, &str); 4] =
    [("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__")];

/// Whether a word is reserved.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word) || RESERVED.contains(&word)
}

/// Returns the name of a property in expressions, or `None` if it contains a character that cannot be
/// escaped.
///
/// ```
/// use tenure_cel::escape;
///
/// assert_eq!(escape("a-b.c/d").as_deref(), Some("a__dash__b__dot__c__slash__d"));
/// assert_eq!(escape("namespace").as_deref(), Some("__namespace__"));
/// assert_eq!(escape("a b"), None);
/// ```
pub fn escape(property: &str) -> Option<Text> {
    if property.is_empty() || property.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if is_keyword(property) {
        return Some(format!("__{property}__").into());
    }
    if property.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Some(property.into());
    }
    let mut out = String::with_capacity(property.len() + 8);
    let mut rest = property;
    while let Some(first) = rest.chars().next() {
        if let Some((sign, word)) = ESCAPES.iter().find(|(sign, _)| rest.starts_with(sign)) {
            out.push_str(word);
            rest = rest.get(sign.len()..).unwrap_or_default();
        } else if first.is_ascii_alphanumeric() || first == '_' {
            out.push(first);
            rest = rest.get(1..).unwrap_or_default();
        } else {
            return None;
        }
    }
    Some(out.into())
}

/// Returns the property that a name in an expression refers to, or `None` if the name contains an unknown
/// escape.
pub fn unescape(name: &str) -> Option<Text> {
    if !name.contains("__") {
        return Some(name.into());
    }
    let inner = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    if let Some(word) = inner.filter(|word| is_keyword(word)) {
        return Some(word.into());
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, from)) = rest.find("__").and_then(|at| Some((rest.get(..at)?, rest.get(at..)?))) {
        out.push_str(before);
        let (sign, word) = ESCAPES.iter().find(|(_, word)| from.starts_with(word))?;
        out.push_str(sign);
        rest = from.get(word.len()..).unwrap_or_default();
    }
    out.push_str(rest);
    Some(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_names_unescape_to_the_property() {
        for (property, name) in [
            ("plain", "plain"),
            ("a_b", "a_b"),
            ("a-b", "a__dash__b"),
            ("a.b/c", "a__dot__b__slash__c"),
            ("a__b", "a__underscores__b"),
            ("namespace", "__namespace__"),
            ("while", "__while__"),
        ] {
            assert_eq!(escape(property).as_deref(), Some(name));
            assert_eq!(unescape(name).as_deref(), Some(property));
        }
        for property in ["", "1a", "a b", "ä", "a$"] {
            assert_eq!(escape(property), None, "{property}");
        }
        assert_eq!(unescape("__what__"), None);
    }
}
