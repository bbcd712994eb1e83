//! The meaning of scalars: YAML 1.1 as Kubernetes resolves it. `yes` and `on` are booleans, `0777` is octal,
//! `1_000` is a thousand, a date is a string, and a number is converted through JSON, so `1.0` is `1`.

use crate::{Float, Text, Value, json};

/// Words that are not strings.
const WORDS: [(&str, Value); 27] = [
    ("", Value::Null),
    ("~", Value::Null),
    ("null", Value::Null),
    ("Null", Value::Null),
    ("NULL", Value::Null),
    ("y", Value::Bool(true)),
    ("Y", Value::Bool(true)),
    ("yes", Value::Bool(true)),
    ("Yes", Value::Bool(true)),
    ("YES", Value::Bool(true)),
    ("true", Value::Bool(true)),
    ("True", Value::Bool(true)),
    ("TRUE", Value::Bool(true)),
    ("on", Value::Bool(true)),
    ("On", Value::Bool(true)),
    ("ON", Value::Bool(true)),
    ("n", Value::Bool(false)),
    ("N", Value::Bool(false)),
    ("no", Value::Bool(false)),
    ("No", Value::Bool(false)),
    ("NO", Value::Bool(false)),
    ("false", Value::Bool(false)),
    ("False", Value::Bool(false)),
    ("FALSE", Value::Bool(false)),
    ("off", Value::Bool(false)),
    ("Off", Value::Bool(false)),
    ("OFF", Value::Bool(false)),
];

/// Numbers that JSON cannot represent.
const NOT_FINITE: [&str; 12] =
    [".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"];

/// Resolves a plain scalar; the error says why it has no value.
pub(super) fn resolve(text: &str) -> Result<Value, String> {
    if let Some((_, value)) = WORDS.iter().find(|(word, _)| *word == text) {
        return Ok(value.clone());
    }
    if NOT_FINITE.contains(&text) {
        return Err(format!("{text} is not a finite number; documents can only contain finite numbers"));
    }
    Ok(number(text).unwrap_or_else(|| Value::from(text)))
}

/// Whether a string must be quoted to remain a string.
pub(super) fn is_ambiguous(text: &str) -> bool {
    !matches!(resolve(text), Ok(Value::String(_))) || is_sexagesimal(text) || is_date(text)
}

/// The prefix of the core tags.
const CORE: &str = "tag:yaml.org,2002:";

/// Resolves a scalar with a tag.
pub(super) fn resolve_tagged(tag: &str, text: &str) -> Result<Value, String> {
    let Some(kind) = tag.strip_prefix(CORE) else { return Ok(Value::from(text)) };
    match (kind, resolve(text)) {
        ("bool", Ok(value @ Value::Bool(_))) | ("null", Ok(value @ Value::Null)) => Ok(value),
        ("int", Ok(value @ (Value::Int(_) | Value::UInt(_)))) => Ok(value),
        ("float", Ok(value @ (Value::Int(_) | Value::UInt(_) | Value::Float(_)))) => Ok(value),
        ("float", Err(problem)) => Err(problem),
        ("binary", _) => {
            let bytes = decode_base64(text).ok_or("!!binary value contains invalid base64 data")?;
            Ok(Value::from(String::from_utf8_lossy(&bytes).into_owned()))
        }
        ("bool" | "null" | "int" | "float", _) => Err(format!("cannot decode `{text}` as a !!{kind}")),
        _ => Ok(Value::from(text)),
    }
}

/// Returns a key as a field name: numbers and booleans are formatted.
pub(super) fn name(key: Value) -> Result<Text, String> {
    match key {
        Value::String(name) => Ok(name),
        Value::Bool(_) | Value::Int(_) | Value::UInt(_) => Ok(Text::from(key.to_string())),
        Value::Float(number) => Ok(Text::from(float(number.get()))),
        Value::Null => Err("a key must not be null".to_owned()),
        Value::Array(_) | Value::Object(_) => Err(format!("a key must be a scalar, got {}", key.kind())),
    }
}

fn number(text: &str) -> Option<Value> {
    match text.bytes().next()? {
        b'.' => decimal(text).and_then(whole_or_float),
        b'+' | b'-' | b'0'..=b'9' => {
            let plain = text.replace('_', "");
            integer(&plain).or_else(|| decimal(&plain).and_then(whole_or_float))
        }
        _ => None,
    }
}

/// Returns a finite number, as an integer if it is formatted like one.
fn whole_or_float(number: f64) -> Option<Value> {
    Float::new(number).map(json::rewritten)
}

/// Parses an integer in any base: `0x1f`, `0o17`, `017`, `0b11`, `17`.
fn integer(text: &str) -> Option<Value> {
    let (sign, unsigned) = match text.strip_prefix(['+', '-']) {
        Some(unsigned) => (text.get(..1)?, unsigned),
        None => ("", text),
    };
    let (base, digits) = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, unsigned.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, unsigned.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, unsigned.get(2..)?),
        [b'0', _, ..] => (8, unsigned.get(1..)?),
        _ => (10, unsigned),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return None;
    }
    let minus = if sign == "-" { "-" } else { "" };
    if let Ok(number) = i64::from_str_radix(&format!("{minus}{digits}"), base) {
        return Some(Value::Int(number));
    }
    match u64::from_str_radix(digits, base) {
        Ok(number) if sign.is_empty() => Some(Value::unsigned(number)),
        // Overflows 64 bits; the caller parses decimal ones as floats.
        _ if base != 10 => {
            let amount = digits.chars().filter_map(|digit| digit.to_digit(base));
            let amount = amount.fold(0.0, |sum, digit| sum * f64::from(base) + f64::from(digit));
            whole_or_float(if minus.is_empty() { amount } else { -amount })
        }
        _ => None,
    }
}

/// Parses a decimal number with an optional fraction and exponent.
fn decimal(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (amount, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((amount, exponent)) => (amount, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && all_digits(exponent));
    if !well_formed {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Whether other YAML parsers read this as a sexagesimal number, such as `1:30`.
fn is_sexagesimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = unsigned.split(':');
    let first = parts.next().unwrap_or_default();
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    first.starts_with(|first: char| first.is_ascii_digit()) && digits(first) && unsigned.contains(':') && {
        let parts: Vec<&str> = parts.collect();
        parts.iter().enumerate().all(|(at, part)| {
            let (part, fraction) = match part.split_once('.') {
                Some((part, fraction)) if at + 1 == parts.len() => (part, fraction),
                Some(_) => return false,
                None => (*part, ""),
            };
            let small = matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
            small && digits(fraction)
        })
    }
}

/// Whether other YAML parsers read this as a date, such as `2006-01-02`, optionally with a time.
fn is_date(text: &str) -> bool {
    let (day, time) = match text.split_once(['T', 't', ' ']) {
        Some((day, time)) => (day, Some(time)),
        None => (text, None),
    };
    let mut parts = day.split('-');
    let four_digits = parts.next().is_some_and(|year| year.len() == 4 && within(year, 0..=9999));
    let month_and_day = parts.next().is_some_and(|month| within(month, 1..=12))
        && parts.next().is_some_and(|day| within(day, 1..=31))
        && parts.next().is_none();
    four_digits && month_and_day && time.is_none_or(|time| is_time(time, text.as_bytes().get(day.len())))
}

/// Whether this is a time such as `15:04:05.999`, with a time zone if the separator is `T`.
fn is_time(text: &str, separator: Option<&u8>) -> bool {
    let clock = if separator == Some(&b' ') {
        text
    } else if let Some(clock) = text.strip_suffix('Z') {
        clock
    } else {
        let Some((clock, zone)) = text.rsplit_once(['+', '-']) else { return false };
        if !zone.split_once(':').is_some_and(|(hour, minute)| within(hour, 0..=24) && within(minute, 0..=60))
        {
            return false;
        }
        clock
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.split(':');
    parts.next().is_some_and(|hour| within(hour, 0..=23))
        && parts.next().is_some_and(|minute| within(minute, 0..=59))
        && parts.next().is_some_and(|second| within(second, 0..=59))
        && parts.next().is_none()
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text consists of digits and its value is in the range.
fn within(digits: &str, range: std::ops::RangeInclusive<u32>) -> bool {
    digits.bytes().all(|byte| byte.is_ascii_digit())
        && digits.parse().is_ok_and(|number| range.contains(&number))
}

/// Formats a float with an exponent below 10⁻⁴ and from a million on.
pub(super) fn float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Decodes standard base64 with padding; line breaks are skipped.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len() / 4 * 3);
    let symbols: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    let groups = symbols.chunks(4).len();
    for (at, group) in symbols.chunks(4).enumerate() {
        let padding = group.iter().rev().take_while(|byte| **byte == b'=').count();
        if group.len() != 4 || padding > 2 || padding > 0 && at + 1 != groups {
            return None;
        }
        let mut bits = 0u32;
        for symbol in group {
            let value = match symbol {
                b'A'..=b'Z' => symbol - b'A',
                b'a'..=b'z' => symbol - b'a' + 26,
                b'0'..=b'9' => symbol - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'=' => 0,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        if group.iter().take(4 - padding).any(|symbol| *symbol == b'=') {
            return None;
        }
        decoded.extend(bits.to_be_bytes().iter().skip(1).take(3 - padding));
    }
    Some(decoded)
}
