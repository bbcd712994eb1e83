//! Errors without what the two servers cannot share: identities, times, and objects that Kubernetes quotes in the form of its own
//! language or as a difference of two such forms.

use tenure_value::{Object, Value};

/// Returns an error whose texts have marks instead of such parts.
pub(crate) fn without_quotes(error: &Value) -> Value {
    match error {
        Value::String(text) => Value::from(masked(text)),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), without_quotes(value)));
            Value::Object(Object::from_sorted(fields.collect::<Vec<_>>()))
        }
        Value::Array(items) => Value::array(items.iter().map(without_quotes)),
        other => other.clone(),
    }
}

fn masked(text: &str) -> String {
    let text = text.split_once("\n@@ ").map_or(text.to_string(), |(before, _)| format!("{before}\n…"));
    let text = without_objects(&text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        match assigned(rest) {
            Some((mark, length)) => {
                out.push_str(mark);
                rest = &rest[length..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

/// Returns the mark of a uid or a time that a text begins with, and its length.
fn assigned(text: &str) -> Option<(&'static str, usize)> {
    let is_like = |pattern: &str| {
        text.len() >= pattern.len()
            && pattern.bytes().zip(text.bytes()).all(|(wanted, byte)| match wanted {
                b'x' => byte.is_ascii_hexdigit(),
                b'0' => byte.is_ascii_digit(),
                exact => byte == exact,
            })
    };
    let forms = [("UID", "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"), ("TIME", "0000-00-00T00:00:00Z")];
    forms.into_iter().find(|(_, form)| is_like(form)).map(|(mark, form)| (mark, form.len()))
}

/// Replaces quoted objects: JSON or a map of Go in quotes, and structs of Go, whose fields begin with capitals.
fn without_objects(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((at, found)) = next_object(rest) {
        out.push_str(&rest[..at]);
        out.push_str("{…}");
        rest = &rest[at + found..];
    }
    out + rest
}

/// Finds the next quoted object, and its length.
fn next_object(text: &str) -> Option<(usize, usize)> {
    ["Invalid value: ", "Duplicate value: "]
        .into_iter()
        .flat_map(|word| text.match_indices(word).map(move |(at, word)| at + word.len()))
        .filter_map(|at| Some((at, object_length(&text[at..])?)))
        .min()
}

fn object_length(text: &str) -> Option<usize> {
    if text.starts_with("\"{\\\"") || text.starts_with("\"map[") {
        let mut is_escaped = false;
        for (at, byte) in text.bytes().enumerate().skip(1) {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => return Some(at + 1),
                _ => {}
            }
        }
        return None;
    }
    let is_struct = text.starts_with("{\"") && text.as_bytes().get(2).is_some_and(u8::is_ascii_uppercase);
    if !is_struct {
        return None;
    }
    let ends = text.match_indices('}').map(|(at, _)| at + 1);
    let is_end = |end: &usize| {
        let after = &text[*end..];
        let follows = after
            .strip_prefix(": ")
            .is_some_and(|of| of.starts_with(|letter: char| letter.is_ascii_lowercase()));
        follows || after.is_empty() || after == "]" || after.starts_with(", ") && !after.starts_with(", \"")
    };
    ends.into_iter().find(is_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_shared_is_marked() {
        for (text, shown) in [
            ("a 09b65cd8-a177-4481-b696-397aeed0cf8e b", "a UID b"),
            ("at 2026-11-18T11:40:57Z.", "at TIME."),
            (r#"patch: Invalid value: "{\"a\":\"b\"}": json: x"#, "patch: Invalid value: {…}: json: x"),
            (
                r#"spec: Invalid value: {"A":{"B":1},"C":2}: field is immutable"#,
                "spec: Invalid value: {…}: field is immutable",
            ),
            (r#"x: Duplicate value: {"A":1}"#, "x: Duplicate value: {…}"),
            (r#"x: Invalid value: {"a":1}: y"#, r#"x: Invalid value: {"a":1}: y"#),
            ("Forbidden: no\n@@ -1,2 +3 @@\n", "Forbidden: no\n…"),
        ] {
            assert_eq!(masked(text), shown);
        }
    }
}
