//! The formats of strings and numbers that are enforced. Other formats are only documentation, as in
//! kube-apiserver.

use super::pattern::Pattern;
use std::{
    net::{IpAddr, Ipv6Addr},
    sync::LazyLock,
    time::Duration,
};
use tenure_meta::{Timestamp, time::Precision};
use tenure_value::Value;

type Check = fn(&str) -> bool;

/// The formats of strings with their checks, grouped by format.
const FORMATS: [(&str, Check); 27] = [
    ("bsonobjectid", |text| text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit())),
    ("byte", |text| BASE64.matches(text)),
    ("cidr", is_cidr),
    ("creditcard", is_credit_card),
    ("date", is_date),
    ("date-time", is_date_time),
    ("datetime", is_date_time),
    ("duration", |text| duration_nanoseconds(text).is_some() || is_said_duration(text)),
    ("email", is_email),
    ("hexcolor", |text| HEX_COLOR.matches(text)),
    ("hostname", is_host_name),
    ("ipv4", is_ipv4),
    ("ipv6", |text| text.parse::<Ipv6Addr>().is_ok()),
    ("isbn", |text| is_isbn10(text) || is_isbn13(text)),
    ("isbn10", is_isbn10),
    ("isbn13", is_isbn13),
    ("mac", |text| MAC.matches(text)),
    ("password", |_| true),
    ("rgbcolor", is_rgb_color),
    ("ssn", |text| SSN.matches(text)),
    ("uri", is_uri),
    ("uuid", |text| UUID.matches(text)),
    ("uuid3", |text| UUID.matches(text) && version_of(text) == Some(b'3')),
    ("uuid4", |text| UUID.matches(text) && version_of(text) == Some(b'4') && has_variant(text)),
    ("uuid5", |text| UUID.matches(text) && version_of(text) == Some(b'5') && has_variant(text)),
    ("k8s-short-name", is_label),
    ("k8s-long-name", |text| text.len() <= 253 && text.split('.').all(is_long_part)),
];

macro_rules! pattern {
    ($name:ident, $source:literal) => {
        static $name: LazyLock<Pattern> = LazyLock::new(|| Pattern::new($source));
    };
}
pattern!(BASE64, "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$");
pattern!(HOST_SIGNS, r"^[a-zA-Z0-9\p{S}\p{L}]*$");
pattern!(HOST_LETTERS, r"^[a-zA-Z\p{L}]*$");
pattern!(EMAIL, r"^[^\s@<>]+@[^\s@<>.]+(\.[^\s@<>.]+)*$");
pattern!(HEX_COLOR, "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$");
pattern!(MAC, "^([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$|^([0-9a-fA-F]{4}[.]){2}[0-9a-fA-F]{4}$");
pattern!(SSN, r"^\d{3}[- ]?\d{2}[- ]?\d{4}$");
pattern!(UUID, "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$");
pattern!(DATE, r"^\d{4}-\d{2}-\d{2}$");

/// Whether a string has a format; `None` if the format is not enforced.
pub fn string_is(format: &str, text: &str) -> Option<bool> {
    FORMATS.iter().find(|row| row.0 == format).map(|row| row.1(text))
}

/// Whether a format of strings is enforced; hyphens do not count.
pub fn is_enforced(format: &str) -> bool {
    let plain = format.replace('-', "");
    FORMATS.iter().any(|row| row.0 == format || row.0.replace('-', "") == plain)
}

/// Whether a number has a format.
pub fn number_is(format: &str, number: &Value) -> bool {
    match format {
        "int32" => number
            .as_f64()
            .is_some_and(|number| (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number)),
        "int64" => !matches!(number, Value::UInt(_)),
        "float" => number.as_f64().is_some_and(|number| number.abs() <= f64::from(f32::MAX)),
        _ => true,
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    length.len() <= 3 && length.parse::<u8>().is_ok_and(|length| length <= most)
}

fn is_date(text: &str) -> bool {
    DATE.matches(text) && is_date_time(&format!("{text}T00:00:00Z"))
}

fn is_date_time(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    Timestamp::parse(&upper, Precision::Seconds).is_some()
}

fn is_uri(text: &str) -> bool {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let absolute = scheme.is_some_and(|scheme| {
        scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    (absolute || text.starts_with('/')) && !text.bytes().any(|byte| byte <= b' ' || byte == 0x7f)
}

fn is_label(text: &str) -> bool {
    text.len() <= 63 && is_long_part(text)
}

fn is_long_part(text: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
        && [bytes.first(), bytes.last()].iter().all(|byte| byte.is_some_and(alphanumeric))
}

/// A name without a dot, which may have a dash only after its first character, or a domain whose last part
/// consists of letters.
fn is_host_name(text: &str) -> bool {
    let has = |part: &str, least: usize, most: usize| (least..=most).contains(&part.chars().count());
    let is_part = |part: &str| {
        has(part, 1, 63)
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.split('-').all(|signs| HOST_SIGNS.matches(signs))
    };
    let right = match text.rsplit_once('.') {
        None => {
            let mut rest = text.chars();
            let first = rest.next().unwrap_or('-');
            let rest = rest.as_str();
            let rest = rest.strip_prefix('-').unwrap_or(rest);
            first != '-'
                && HOST_SIGNS.matches(first.encode_utf8(&mut [0; 4]))
                && has(rest, 0, 62)
                && HOST_SIGNS.matches(rest)
        }
        Some((parts, last)) => {
            has(last, 2, 63) && HOST_LETTERS.matches(last) && parts.split('.').all(is_part)
        }
    };
    text.len() <= 255 && right
}

/// An address alone, or after a name in angle brackets.
fn is_email(text: &str) -> bool {
    let bracketed = text.strip_suffix('>').and_then(|text| text.split_once('<')).map(|(_, address)| address);
    EMAIL.matches(bracketed.unwrap_or(text))
}

/// Four decimal numbers, with or without leading zeros, or such an address as an IPv6 address.
fn is_ipv4(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && part.trim_start_matches('0').len() <= 3
            && part.parse::<u32>().is_ok_and(|number| number <= 255)
    };
    let plain = text.split('.').count() == 4 && text.split('.').all(is_part);
    plain
        || text.contains('.')
            && text.parse::<Ipv6Addr>().is_ok_and(|address| address.to_ipv4_mapped().is_some())
}

/// Whether a text is a duration in words: `1 day`, `2 weeks`, `P1D`. Only one of its numbers must have a
/// unit.
fn is_said_duration(text: &str) -> bool {
    /// Complete units, and prefixes of units.
    const WORDS: [&str; 11] = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"];
    const BEGINNINGS: [&str; 8] = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    let mut rest = text;
    while let Some(start) = rest.find(|sign: char| sign.is_ascii_digit()) {
        let after = rest[start..].trim_start_matches(|sign: char| sign.is_ascii_digit());
        let unit = after.trim_start();
        let end = unit.find(|sign: char| !sign.is_ascii_alphabetic() && sign != 'µ').unwrap_or(unit.len());
        let (unit, after) = unit.split_at(end);
        let unit = unit.to_lowercase();
        let begins = BEGINNINGS.iter().any(|word| unit.starts_with(word));
        if begins || WORDS.contains(&unit.as_str()) {
            return true;
        }
        rest = after;
    }
    false
}

fn is_rgb_color(text: &str) -> bool {
    let inside = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')'));
    let is_shade = |part: &str| part.trim().parse::<u8>().is_ok();
    inside.is_some_and(|inside| inside.split(',').count() == 3 && inside.split(',').all(is_shade))
}

fn version_of(uuid: &str) -> Option<u8> {
    uuid.bytes().filter(|byte| *byte != b'-').nth(12)
}

fn has_variant(uuid: &str) -> bool {
    let nibble = uuid.bytes().filter(|byte| *byte != b'-').nth(16);
    nibble.is_some_and(|nibble| b"89abAB".contains(&nibble))
}

fn digits(text: &str) -> Vec<u32> {
    text.chars()
        .filter(|sign| !matches!(sign, '-' | ' '))
        .map(|sign| sign.to_digit(10).unwrap_or(10))
        .collect()
}

fn is_credit_card(text: &str) -> bool {
    let digits = digits(text);
    if !(13..=19).contains(&digits.len()) || digits.contains(&10) {
        return false;
    }
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| match (at % 2, digit * 2) {
            (0, _) => *digit,
            (_, double) if double > 9 => double - 9,
            (_, double) => double,
        })
        .sum();
    sum.is_multiple_of(10)
}

fn is_isbn10(text: &str) -> bool {
    let digits: Vec<u32> = text
        .chars()
        .filter(|sign| !matches!(sign, '-' | ' '))
        .enumerate()
        .map(|(at, sign)| match sign {
            'X' | 'x' if at == 9 => 10,
            sign => sign.to_digit(10).unwrap_or(u32::MAX),
        })
        .collect();
    digits.len() == 10
        && !digits.contains(&u32::MAX)
        && digits.iter().zip(1..).map(|(digit, at)| digit * at).sum::<u32>().is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let digits = digits(text);
    digits.len() == 13
        && !digits.contains(&10)
        && digits
            .iter()
            .zip([1, 3].iter().cycle())
            .map(|(digit, weight)| digit * weight)
            .sum::<u32>()
            .is_multiple_of(10)
}

/// Units of durations, in nanoseconds.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
    ("d", 86400e9),
];

/// Parses a duration that is not negative, such as `1h30m` or `1.5s`.
pub fn duration(text: &str) -> Option<Duration> {
    duration_nanoseconds(text)
        .and_then(|nanoseconds| u64::try_from(nanoseconds).ok())
        .map(Duration::from_nanos)
}

/// Parses a duration such as `1h30m` or `-1.5s` to nanoseconds.
pub fn duration_nanoseconds(text: &str) -> Option<i64> {
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.')?;
        let (number, after) = rest.split_at(end);
        let unit = after.find(|sign: char| sign.is_ascii_digit() || sign == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let unit = UNITS.iter().find(|row| row.0 == unit)?.1;
        total += number.parse::<f64>().ok()? * unit;
        rest = after;
    }
    (total <= i64::MAX as f64).then_some((sign * total) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_and_reject_values() {
        for (format, good, bad) in [
            ("bsonobjectid", "507f1f77bcf86cd799439011", "507f"),
            ("byte", "aGk=", "a?"),
            ("byte", "YQ==", ""),
            ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
            ("creditcard", "4111 1111 1111 1111", "4111111111111112"),
            ("date", "2024-02-29", "2023-02-29"),
            ("date-time", "2024-01-02T03:04:05.5+01:00", "2024-01-02"),
            ("duration", "1h30m", "soon"),
            ("duration", "2 weeks", "1 fortnight"),
            ("duration", "P1D", "P1"),
            ("email", "a.b@example.com", "a b"),
            ("email", "A B <a.b@example.com>", "a b <c>"),
            ("hexcolor", "#fff", "#ggg"),
            ("hostname", "a-b.example.com", "a_b..c"),
            ("hostname", "localhost", "abc-def"),
            ("hostname", "a-bc", ""),
            ("hostname", "example.com", "1.2.3.4"),
            ("ipv4", "10.0.0.1", "10.0.0.256"),
            ("ipv4", "010.0.0.1", "10.0.0"),
            ("ipv4", "::ffff:10.0.0.1", "::1"),
            ("ipv6", "::1", "10.0.0.1"),
            ("isbn", "978-3-16-148410-0", "978-3-16-148410-1"),
            ("isbn10", "0-306-40615-2", "0-306-40615-3"),
            ("k8s-long-name", "a.b-c", "A.b"),
            ("k8s-short-name", "a-b", "a.b"),
            ("mac", "00:1B:44:11:3A:B7", "00:1B:44"),
            ("rgbcolor", "rgb(1, 20, 255)", "rgb(1,2)"),
            ("ssn", "123-45-6789", "123-45"),
            ("uri", "https://example.com/a?b=c", "no uri"),
            ("uuid", "c56a4180-65aa-42ec-a945-5fd21dec0538", "c56a4180"),
            ("uuid4", "c56a4180-65aa-42ec-a945-5fd21dec0538", "c56a4180-65aa-32ec-a945-5fd21dec0538"),
        ] {
            assert_eq!(string_is(format, good), Some(true), "{format} {good}");
            assert_eq!(string_is(format, bad), Some(false), "{format} {bad}");
        }
        assert_eq!(string_is("anything", "x"), None);
        assert!(number_is("int32", &Value::Int(1)) && !number_is("int32", &Value::Int(1 << 31)));
    }

    #[test]
    fn durations_parse_to_nanoseconds() {
        for (text, nanoseconds) in
            [("1h30m", 5400 * 1_000_000_000), ("-1.5s", -1_500_000_000), ("0", 0), ("2us", 2000)]
        {
            assert_eq!(duration_nanoseconds(text), Some(nanoseconds), "{text}");
        }
        for text in ["", "1", "s", "1x", "1h3"] {
            assert_eq!(duration_nanoseconds(text), None, "{text}");
        }
    }
}
