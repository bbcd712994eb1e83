//! Values as Go's package `fmt` prints them. Messages of Kubernetes quote values in this form; nothing parses it.

use crate::{Object, Value};
use std::fmt::{self, Display, Formatter, Write};

/// A value as `%v` prints it: `map[a:1 b:[x <nil>]]`.
///
/// ```
/// use tenure_value::{Value, go_text::Plain};
///
/// let value: Value = r#"{"b": ["x", null], "a": 1}"#.parse().unwrap();
/// assert_eq!(Plain(&value).to_string(), "map[a:1 b:[x <nil>]]");
/// ```
pub struct Plain<'v>(pub &'v Value);

/// A value as `%#v` prints it: `map[string]interface {}{"a":1}`.
///
/// ```
/// use tenure_value::{Value, go_text::Syntax};
///
/// let value: Value = r#"{"b": ["x", null], "a": 1}"#.parse().unwrap();
/// let text = r#"map[string]interface {}{"a":1, "b":[]interface {}{"x", interface {}(nil)}}"#;
/// assert_eq!(Syntax(&value).to_string(), text);
/// ```
pub struct Syntax<'v>(pub &'v Value);

/// A value as `%s` prints it: a string unchanged, a number with the note that it is not a string.
///
/// ```
/// use tenure_value::{Value, go_text::Word};
///
/// assert_eq!(Word(&Value::from("x")).to_string(), "x");
/// assert_eq!(Word(&Value::from(1)).to_string(), "%!s(int64=1)");
/// ```
pub struct Word<'v>(pub &'v Value);

/// A text as `%q` prints it.
///
/// ```
/// assert_eq!(tenure_value::go_text::Quoted("a\tb\u{7f}é").to_string(), r#""a\tb\x7fé""#);
/// ```
pub struct Quoted<'v>(pub &'v str);

/// A list of texts as `%q` prints it: separated by blanks.
///
/// ```
/// assert_eq!(tenure_value::go_text::QuotedList(&["get", "list"]).to_string(), r#"["get" "list"]"#);
/// ```
pub struct QuotedList<'v, T>(pub &'v [T]);

impl<T: AsRef<str>> Display for QuotedList<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        for (at, text) in self.0.iter().enumerate() {
            write!(f, "{}{}", if at == 0 { "" } else { " " }, Quoted(text.as_ref()))?;
        }
        f.write_char(']')
    }
}

/// Returns the type of a value that was read from JSON, as `%T` prints it.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::UInt(_) | Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Returns the kind of a value that was read from JSON, as Go's package `reflect` names it.
pub fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        other => type_name(other),
    }
}

impl Display for Plain<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("<nil>"),
            Value::Bool(flag) => write!(f, "{flag}"),
            Value::Int(number) => write!(f, "{number}"),
            Value::UInt(number) => float(f, number.get() as f64),
            Value::Float(number) => float(f, number.get()),
            Value::String(text) => f.write_str(text),
            Value::Array(items) => list(f, items.items(), |f, item| Plain(item).fmt(f)),
            Value::Object(fields) => map(f, fields, |f, value| Plain(value).fmt(f)),
        }
    }
}

impl Display for Word<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("%!s(<nil>)"),
            Value::String(text) => f.write_str(text),
            Value::Array(items) => list(f, items.items(), inner_word),
            Value::Object(fields) => map(f, fields, inner_word),
            other => write!(f, "%!s({}={})", type_name(other), Plain(other)),
        }
    }
}

impl Display for Syntax<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("interface {}(nil)"),
            Value::String(text) => Quoted(text).fmt(f),
            Value::Array(items) => {
                f.write_str("[]interface {}{")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{}", if at == 0 { "" } else { ", " }, Syntax(item))?;
                }
                f.write_char('}')
            }
            Value::Object(fields) => {
                f.write_str("map[string]interface {}{")?;
                for (at, (name, value)) in fields.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{}:{}", Quoted(name), Syntax(value))?;
                }
                f.write_char('}')
            }
            other => Plain(other).fmt(f),
        }
    }
}

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                '\u{7}' => f.write_str("\\a")?,
                '\u{8}' => f.write_str("\\b")?,
                '\u{c}' => f.write_str("\\f")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\u{b}' => f.write_str("\\v")?,
                printed if is_printed(printed) => f.write_char(printed)?,
                ascii if ascii.is_ascii() => write!(f, "\\x{:02x}", ascii as u32)?,
                short if (short as u32) < 0x1_0000 => write!(f, "\\u{:04x}", short as u32)?,
                long => write!(f, "\\U{:08x}", long as u32)?,
            }
        }
        f.write_char('"')
    }
}

/// Whether a character is printed as it is: letters, marks, digits, punctuation, symbols and the space.
pub fn is_printed(character: char) -> bool {
    if character.is_ascii() {
        return matches!(character, ' '..='~');
    }
    // After a letter a mark is not escaped; every other character that Rust escapes, except for quotes, is not printable.
    String::from_iter(['a', character]).escape_debug().skip(1).eq([character])
}

fn list(
    f: &mut Formatter<'_>,
    items: &[Value],
    show: impl Fn(&mut Formatter<'_>, &Value) -> fmt::Result,
) -> fmt::Result {
    f.write_char('[')?;
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            f.write_char(' ')?;
        }
        show(f, item)?;
    }
    f.write_char(']')
}

fn map(
    f: &mut Formatter<'_>,
    fields: &Object,
    show: impl Fn(&mut Formatter<'_>, &Value) -> fmt::Result,
) -> fmt::Result {
    f.write_str("map[")?;
    for (at, (name, value)) in fields.iter().enumerate() {
        write!(f, "{}{name}:", if at > 0 { " " } else { "" })?;
        show(f, value)?;
    }
    f.write_char(']')
}

/// Prints a part of a value as `%s` does: there, `nil` is not complained about.
fn inner_word(f: &mut Formatter<'_>, value: &Value) -> fmt::Result {
    match value {
        Value::Null => f.write_str("<nil>"),
        value => Word(value).fmt(f),
    }
}

/// Prints a float with the fewest digits that identify it, with an exponent if that is below -4 or above 5.
fn float(f: &mut Formatter<'_>, number: f64) -> fmt::Result {
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if (-4..6).contains(&exponent) => write!(f, "{number}"),
        Ok(exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            write!(f, "{digits}e{sign}{:02}", exponent.abs())
        }
        Err(_) => f.write_str(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse().expect("JSON")
    }

    #[test]
    fn values_are_printed_as_go_prints_them() {
        for (json, plain, syntax, word) in [
            ("null", "<nil>", "interface {}(nil)", "%!s(<nil>)"),
            ("true", "true", "true", "%!s(bool=true)"),
            ("-7", "-7", "-7", "%!s(int64=-7)"),
            ("1.5", "1.5", "1.5", "%!s(float64=1.5)"),
            ("1e30", "1e+30", "1e+30", "%!s(float64=1e+30)"),
            ("1234567.5", "1.2345675e+06", "1.2345675e+06", "%!s(float64=1.2345675e+06)"),
            ("123456.0", "123456", "123456", "%!s(float64=123456)"),
            ("[null]", "[<nil>]", "[]interface {}{interface {}(nil)}", "[<nil>]"),
            ("1e-7", "1e-07", "1e-07", "%!s(float64=1e-07)"),
            (r#""a b""#, "a b", r#""a b""#, "a b"),
            ("[]", "[]", "[]interface {}{}", "[]"),
            ("{}", "map[]", "map[string]interface {}{}", "map[]"),
            (
                r#"{"a":{"b":[1]}}"#,
                "map[a:map[b:[1]]]",
                r#"map[string]interface {}{"a":map[string]interface {}{"b":[]interface {}{1}}}"#,
                "map[a:map[b:[%!s(int64=1)]]]",
            ),
        ] {
            let value = value(json);
            assert_eq!(Plain(&value).to_string(), plain, "{json}");
            assert_eq!(Syntax(&value).to_string(), syntax, "{json}");
            assert_eq!(Word(&value).to_string(), word, "{json}");
        }
    }
}
