//! Names of fields as rules write them: signs that are no part of an identifier and words of the language are
//! written out between underscores.

/// Words of the language, and of those around it, that cannot be names.
const RESERVED: [&str; 18] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
];

/// Parts of a name and how they are written.
const SIGNS: [(&str, &str); 4] =
    [("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__")];

/// Returns the name of the field that a rule means.
pub fn unescape(written: &str) -> String {
    if !written.contains("__") {
        return written.into();
    }
    let inner = written.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    if let Some(word) = inner.filter(|word| RESERVED.contains(word)) {
        return word.into();
    }
    let mut out = String::with_capacity(written.len());
    let mut rest = written;
    while !rest.is_empty() {
        match SIGNS.iter().find(|(_, word)| rest.starts_with(word)) {
            Some((sign, word)) => {
                out.push_str(sign);
                rest = rest.get(word.len()..).unwrap_or_default();
            }
            None => {
                out.extend(rest.chars().next());
                rest = rest.get(rest.chars().next().map_or(1, char::len_utf8)..).unwrap_or_default();
            }
        }
    }
    out
}

/// Whether a rule can write a name in this way: every sign that must be written out is.
pub fn is_escaped(written: &str) -> bool {
    let inner = written.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    if inner.is_some_and(|word| RESERVED.contains(&word)) {
        return true;
    }
    let left = SIGNS.iter().fold(written.to_string(), |left, (_, word)| left.replace(word, ""));
    !left.contains("__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_being_written_in_rules() {
        for (name, written) in [
            ("plain", "plain"),
            ("a-b", "a__dash__b"),
            ("a.b/c", "a__dot__b__slash__c"),
            ("a__b", "a__underscores__b"),
            ("namespace", "__namespace__"),
        ] {
            assert_eq!(unescape(written), name);
            assert!(is_escaped(written), "{written}");
        }
        assert!(!is_escaped("__x") && !is_escaped("a__b"));
    }
}
