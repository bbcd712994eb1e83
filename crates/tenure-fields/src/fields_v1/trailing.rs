//! Text after the key or the value of an element, such as `k:{"name":"a"}x`. Kubernetes ignores it until 1.36.

use super::element;
use tenure_value::{Object, Text, Value};

/// Returns the value of a `fieldsV1` member without such text; `None` if it has none.
pub fn without_trailing_text(value: &Value) -> Option<Value> {
    let fields = value.as_object()?;
    let renamed = fields.iter().map(|(name, below)| (bare(name), without_trailing_text(below)));
    let renamed: Vec<_> = renamed.collect();
    if renamed.iter().all(|(name, below)| name.is_none() && below.is_none()) {
        return None;
    }
    let members = renamed.into_iter().zip(fields.iter());
    let result = members.fold(Object::default(), |result, ((bare, changed), (name, below))| {
        result.with(bare.unwrap_or_else(|| name.clone()), changed.unwrap_or_else(|| below.clone()))
    });
    Some(result.into())
}

/// Returns the name of an element that can be read once the text after it is gone.
fn bare(name: &Text) -> Option<Text> {
    let json = name.strip_prefix("k:").or_else(|| name.strip_prefix("v:"))?;
    if element::read(name).is_ok() {
        return None;
    }
    let end = name.len() - json.len() + json_end(json.as_bytes())?;
    let bare = name.get(..end).filter(|bare| element::read(bare).is_ok())?;
    Some(Text::new(bare))
}

/// Returns the end of the JSON value that a text begins with.
fn json_end(text: &[u8]) -> Option<usize> {
    let start = text.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let (mut depth, mut in_string, mut is_escaped) = (0usize, false, false);
    for (at, byte) in text.iter().enumerate().skip(start) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => continue,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ if depth > 0 => continue,
            _ => return Some(at + literal_length(&text[at..])),
        }
        if depth == 0 && !in_string && matches!(byte, b'"' | b'}' | b']') {
            return Some(at + 1);
        }
    }
    None
}

/// Returns the length of the number or the word of JSON that a text begins with.
fn literal_length(text: &[u8]) -> usize {
    let is_number = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    match ["true", "false", "null"].iter().find(|word| text.starts_with(word.as_bytes())) {
        Some(word) => word.len(),
        None => text.iter().position(|byte| !is_number(byte)).unwrap_or(text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::without_trailing_text;
    use tenure_value::Value;

    #[test]
    fn what_follows_an_element_goes() {
        let cases = [
            (r#"{"f:a":{"k:{\"name\":\"a\"}x":{"f:b":{}}}}"#, r#"{"f:a":{"k:{\"name\":\"a\"}":{"f:b":{}}}}"#),
            (r#"{"k:{\"a\":\"}\\\"\"}{\"b\":1}":{}}"#, r#"{"k:{\"a\":\"}\\\"\"}":{}}"#),
            (r#"{"v:\"x\"y":{}}"#, r#"{"v:\"x\"":{}}"#),
            (r#"{"v:1 2":{}}"#, r#"{"v:1":{}}"#),
            (r#"{"v:-1.5x":{}}"#, r#"{"v:-1.5":{}}"#),
            (r#"{"v:truefalse":{}}"#, r#"{"v:true":{}}"#),
        ];
        for (given, expected) in cases {
            let (given, expected): (Value, Value) = (given.parse().unwrap(), expected.parse().unwrap());
            assert_eq!(without_trailing_text(&given), Some(expected), "{given}");
        }
        for plain in [
            r#"{"f:a":{"k:{\"name\":\"a\"}":{}}}"#,
            r#"{"k:{\"name\"":{}}"#,
            r#"{"k:[]x":{}}"#,
            r#"{"i:0x":{}}"#,
            r#"{"v:":{}}"#,
            r#"{"v:}":{}}"#,
            "[]",
        ] {
            assert_eq!(without_trailing_text(&plain.parse().unwrap()), None, "{plain}");
        }
    }
}
