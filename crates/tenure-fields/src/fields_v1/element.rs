//! Member names: a qualifier, a colon and the element. The values inside keys and set items are JSON within
//! the name.

use crate::{Error, PathElement, exact::exact};
use tenure_value::{
    Limits, Object, Text, Value,
    json::{self, Style},
};

/// The meaning of a member name.
pub(super) enum Member {
    /// The path that ends at this level is in the set.
    Itself,
    /// A path element and what is below it.
    Element(PathElement),
    /// A qualifier of a later version, which is ignored with everything below it.
    Unknown,
}

/// Parses a member name.
pub(super) fn read(name: &str) -> Result<Member, Error> {
    if name == "." {
        return Ok(Member::Itself);
    }
    let bytes = name.as_bytes();
    let (Some(qualifier), Some(b':'), Some(element)) = (bytes.first(), bytes.get(1), name.get(2..)) else {
        return Err(invalid(name, r#"expected "." or a qualifier of one letter, a colon and the element"#));
    };
    Ok(Member::Element(match qualifier {
        b'f' => PathElement::Field(Text::new(element)),
        b'k' => PathElement::Key(key(element).map_err(|problem| invalid(name, &problem))?),
        b'v' => PathElement::Value(value(element).map_err(|problem| invalid(name, &problem))?),
        b'i' => {
            let problem = |_| invalid(name, "expected an integer after i:");
            PathElement::Index(element.parse().map_err(problem)?)
        }
        _ => return Ok(Member::Unknown),
    }))
}

fn key(text: &str) -> Result<Object, String> {
    match value(text)? {
        Value::Object(key) => Ok(key),
        other => Err(format!("expected an object of key fields after k:, found a {}", other.kind())),
    }
}

/// Parses the object of a key whose quotes are still escaped, if it consists of plain strings and integers,
/// as most do. `fields` is a buffer.
pub(super) fn read_escaped_key(text: &str, fields: &mut Vec<(Text, Value)>) -> Option<Object> {
    fields.clear();
    let mut rest = text.strip_prefix('{')?;
    loop {
        let (name, after) = escaped_string(rest)?;
        let after = after.strip_prefix(':')?;
        let (value, after) = match escaped_string(after) {
            Some((text, after)) => (Value::String(Text::new(text)), after),
            None => short_number(after)?,
        };
        if fields.last().is_some_and(|(last, _)| last.as_str() >= name) {
            return None;
        }
        fields.push((Text::new(name), value));
        if after == "}" {
            return Some(Object::from_sorted(fields.drain(..)));
        }
        rest = after.strip_prefix(',')?;
    }
}

/// Splits a plain string between escaped quotes from the rest.
fn escaped_string(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix("\\\"")?;
    let (string, after) = text.split_at(text.bytes().position(|byte| byte == b'\\')?);
    Some((string, after.strip_prefix("\\\"")?))
}

/// Splits an integer of up to nine digits from the rest.
fn short_number(text: &str) -> Option<(Value, &str)> {
    let (digits, after) = text.split_at(text.bytes().position(|byte| !byte.is_ascii_digit())?);
    let leading_zero = digits.len() > 1 && digits.starts_with('0');
    if digits.is_empty() || digits.len() > 9 || leading_zero || !after.starts_with([',', '}']) {
        return None;
    }
    let number = digits.bytes().fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    Some((Value::Int(number), after))
}

fn value(text: &str) -> Result<Value, String> {
    json::parse(text.as_bytes(), &Limits::default())
        .map_err(|error| format!("expected JSON after the colon: {}", error.problem()))
}

/// Appends the text of a key or value element, without its qualifier.
///
/// Strings are escaped for HTML but the names of keys are not, as in kube-apiserver.
pub(super) fn write_inner(element: &PathElement, out: &mut Vec<u8>) {
    match element {
        PathElement::Field(name) => out.extend_from_slice(name.as_bytes()),
        PathElement::Key(keys) => {
            out.push(b'{');
            for (at, (name, value)) in keys.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_string(name, Style::Plain, out);
                out.push(b':');
                write_value(value, out);
            }
            out.push(b'}');
        }
        PathElement::Value(value) => write_value(value, out),
        PathElement::Index(index) => json::write(&Value::Int(*index), out),
    }
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::String(text) => write_string(text, Style::Kubernetes, out),
        other => json::write(exact(other).as_ref().unwrap_or(other), out),
    }
}

fn write_string(text: &str, style: Style, out: &mut Vec<u8>) {
    if !is_plain(text) {
        return json::write_text(text, style, out);
    }
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Whether a string needs no escapes in JSON, in any style.
pub(super) fn is_plain(text: &str) -> bool {
    const PLAIN: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = b' ';
        while byte <= b'~' {
            table[byte as usize] = !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&');
            byte += 1;
        }
        table
    };
    text.bytes().all(|byte| PLAIN[usize::from(byte)])
}

/// Returns the qualifier: the letter before the colon.
pub(super) fn qualifier(element: &PathElement) -> u8 {
    match element {
        PathElement::Field(_) => b'f',
        PathElement::Key(_) => b'k',
        PathElement::Value(_) => b'v',
        PathElement::Index(_) => b'i',
    }
}

fn invalid(name: &str, problem: &str) -> Error {
    Error::Element { name: name.to_owned(), problem: problem.to_owned() }
}
